//! SHA-256 as `sha256sum` prints it: 64 hexadecimal digits.

use std::fmt::Write as _;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Bytes read at once.
const STEP: usize = 1 << 18;

/// That of `bytes`.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// That of all that `from` gives, and how many bytes these are.
///
/// # Errors
/// What reading says.
pub fn of_reader(from: &mut impl Read) -> io::Result<(String, u64)> {
    let (mut sum, mut length) = (Sha256::new(), 0);
    let mut step = vec![0; STEP];
    loop {
        match from.read(&mut step)? {
            0 => return Ok((hex(&sum.finalize()), length)),
            count => {
                length += count as u64;
                sum.update(&step[..count]);
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
