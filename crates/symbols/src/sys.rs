//! The crate's only `unsafe`: mapping files.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file for reading.
///
/// # Errors
/// Whatever `mmap` says.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only. Nobody may shorten the file while it is mapped (SIGBUS): true of
    // binaries, symbol files and kcore copies, which are replaced by renaming, and the same that perf relies on.
    unsafe { Mmap::map(file) }
}
