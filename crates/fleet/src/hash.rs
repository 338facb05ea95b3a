//! What captures and stories are known by.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use analysis::sha256;

/// Of a file that is no capture so many bytes count.
const MOST: u64 = 1 << 30;

/// The story of a chain: the first 16 digits of its SHA-256.
pub(crate) fn story(chain: &str) -> String {
    sha256::of_bytes(chain.as_bytes())[..16].to_owned()
}

/// The ID of the capture at `path`: SHA-256 of the perf.data, of a directory that of its `data`.
///
/// # Errors
/// What the operating system says.
pub(crate) fn capture(path: &Path) -> io::Result<String> {
    let data = path.join("data");
    let mut file = File::open(if path.is_dir() { &data } else { path })?;
    Ok(sha256::of_reader(&mut file)?.0)
}

/// The ID of a file that cannot be read as a capture: SHA-256 of its first GiB; of what is no file, that of `uri`.
pub(crate) fn of_unreadable(path: &Path, uri: &str) -> String {
    // A pipe would wait for its writer, a device may have no end.
    let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let read = || sha256::of_reader(&mut File::open(path)?.take(MOST));
    let found = if is_file { read().ok() } else { None };
    found.map_or_else(|| sha256::of_bytes(uri.as_bytes()), |(sum, _)| sum)
}
