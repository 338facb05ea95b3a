//! Why a perf.data cannot be used at all. Damage that leaves something usable is a diagnostic instead.

use std::io;
use std::path::PathBuf;

/// A perf.data that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused the file.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A directory without the file `data`.
    #[error(
        "{path}: a perf.data directory holds a file named `data`, this one does not; was the copy complete?"
    )]
    NoDataFile {
        /// The directory.
        path: PathBuf,
    },
    /// The file ends before its header does.
    #[error(
        "{path}: {length} bytes, but a perf.data header alone has {needed}: the recording or the copy was cut off"
    )]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// The length of the header in bytes.
        needed: u64,
    },
    /// The first eight bytes are not perf's.
    #[error("{path}: not a perf.data file (it begins with {found:02x?}, not with PERFILE2)")]
    NotPerfData {
        /// The file.
        path: PathBuf,
        /// Its first eight bytes.
        found: [u8; 8],
    },
    /// Recorded on a big-endian machine.
    #[error("{path}: recorded on a big-endian machine; Intel PT captures are little-endian, so this is none")]
    BigEndian {
        /// The file.
        path: PathBuf,
    },
    /// The format of Linux before 3.2.
    #[error("{path}: a perf.data of version 1 (Linux before 3.2), older than Intel PT")]
    Version1 {
        /// The file.
        path: PathBuf,
    },
}
