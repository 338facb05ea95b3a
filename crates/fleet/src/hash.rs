//! Hashes: of captures, of parts, of stories.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Of a file that is no capture so many bytes count.
const MOST: u64 = 1 << 30;
/// Bytes read at once.
const STEP: usize = 1 << 18;

/// SHA-256 of `bytes`, 64 hexadecimal digits.
pub(crate) fn hex_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The story of a chain: 16 hexadecimal digits.
pub(crate) fn story(chain: &str) -> String {
    hex(&Sha256::digest(chain.as_bytes())[..8])
}

/// The ID of the capture at `path`: SHA-256 of the perf.data, of a directory that of its `data`, as `sha256sum` prints it.
///
/// # Errors
/// What the operating system says.
pub(crate) fn capture(path: &Path) -> io::Result<String> {
    let data = path.join("data");
    let mut file = File::open(if path.is_dir() { &data } else { path })?;
    digest(&mut file)
}

/// The ID of a file that cannot be read as a capture: SHA-256 of its first GiB; of what is no file, that of `uri`.
pub(crate) fn of_unreadable(path: &Path, uri: &str) -> String {
    // A pipe would wait for its writer, a device may have no end.
    let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let read = || digest(&mut File::open(path)?.take(MOST));
    let found = if is_file { read().ok() } else { None };
    found.unwrap_or_else(|| hex_of(uri.as_bytes()))
}

fn digest(from: &mut impl Read) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut step = vec![0; STEP];
    loop {
        match from.read(&mut step)? {
            0 => return Ok(hex(&sum.finalize())),
            count => sum.update(&step[..count]),
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
