//! The disk that a capture is written to: its free space and how fast it takes data.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the disk is tried.
const LONGEST: Duration = Duration::from_millis(300);
/// What is written at most.
const MOST_BYTES: u64 = 256 << 20;
/// A piece of it, as large as perf writes at once.
const PIECE: usize = 4 << 20;

/// What is known of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Storage {
    /// Bytes that are free to this user.
    pub(crate) free_bytes: Option<u64>,
    /// Bytes that it takes in a second; `None` where it was not tried.
    pub(crate) bytes_per_second: Option<u64>,
}

impl Storage {
    /// The free space in `folder`; where it `is_tried`, also its rate: a file without a name is written for 0.3 s and is gone after
    /// that. A folder that cannot be written has no rate.
    pub(crate) fn of(folder: &Path, is_tried: bool) -> Storage {
        let space = rustix::fs::statvfs(folder).ok();
        let free_bytes = space.map(|space| space.f_bavail.saturating_mul(space.f_frsize));
        let may_write = is_tried && free_bytes.is_some_and(|free| free > 2 * MOST_BYTES);
        Storage { free_bytes, bytes_per_second: may_write.then(|| rate(folder).ok()).flatten() }
    }
}

/// Bytes that the disk below `folder` takes in a second.
fn rate(folder: &Path) -> std::io::Result<u64> {
    let mut file: File = tempfile::tempfile_in(folder)?;
    // Not all the same: some file systems compress.
    let piece: Vec<u8> =
        (0u32..).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).take(PIECE).collect();
    let begun = Instant::now();
    let mut written: u64 = 0;
    while written < MOST_BYTES && begun.elapsed() < LONGEST {
        file.write_all(&piece)?;
        file.sync_data()?;
        written += PIECE as u64;
    }
    let micros = begun.elapsed().as_micros().max(1);
    Ok(u64::try_from(u128::from(written) * 1_000_000 / micros).unwrap_or(u64::MAX))
}
