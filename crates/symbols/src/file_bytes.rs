//! The bytes of a file: mapped where it is plain, owned where it had to be unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use crate::sys;

/// The most that is read of a file that does not report its size; `/proc/kallsyms` has 10 to 20 MiB.
const LARGEST_UNSIZED: u64 = 256 << 20;

/// The bytes of a file. A damaged or hostile file can hold anything; nothing is known but its length.
#[derive(Debug)]
pub(crate) enum FileBytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps the regular file at `path`.
    ///
    /// # Errors
    /// Whatever opening it says; `InvalidInput` where it is no regular file (a directory, a FIFO).
    pub(crate) fn open(path: &Path) -> io::Result<FileBytes> {
        // Before opening: a FIFO would block, a device could act.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            // Files under /proc say that they are empty, and cannot be mapped.
            let mut bytes = Vec::new();
            if is_list_of_kernel(path) {
                file.take(LARGEST_UNSIZED).read_to_end(&mut bytes)?;
            }
            return Ok(FileBytes::Owned(bytes));
        }
        sys::map_file(&file).map(FileBytes::Mapped)
    }

    /// The bytes, in memory of their own.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            FileBytes::Mapped(bytes) => bytes.to_vec(),
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

/// Whether this is one of the files under /proc that end: reading others waits for their next line (`kmsg`), or takes it away from
/// who should get it.
fn is_list_of_kernel(path: &Path) -> bool {
    let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_owned()));
    name.is_some_and(|name| name == "kallsyms" || name == "modules")
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(bytes) => bytes,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}
