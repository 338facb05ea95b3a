//! Which file something was: an address, by the MMAP records.
//!
//! perf records executable mappings, and those of data too where it was asked for addresses (`perf record -d`). It does not
//! record when a mapping goes.

mod mapped;

use std::sync::{Arc, OnceLock};

use model::{PerfTime, Pid};

use crate::PerfData;
use mapped::MappedFiles;

/// Beginnings of what a mapping is named by that has no file: memory of another kind.
const NO_FILES: [&str; 7] = ["[", "//anon", "/anon_hugepage", "/dev/zero", "/SYSV", "anon_inode:", "/i915"];

/// Whether a recorded path names memory that no file backs.
pub fn is_memory(path: &str) -> bool {
    NO_FILES.iter().any(|start| path.starts_with(start))
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file as the recording names it.
    pub path: Arc<str>,
    /// Bytes from its beginning.
    pub offset: u64,
}

impl std::fmt::Display for FilePlace {
    /// `/usr/lib/libc.so.6+0x1234`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{:#x}", self.path, self.offset)
    }
}

/// What the records tell of files; each part is read at its first use.
#[derive(Debug, Default)]
pub(crate) struct Files {
    mapped: OnceLock<MappedFiles>,
}

impl PerfData {
    /// The file that process `pid` had mapped at `address` at `time`, and where in it that is.
    pub fn mapped_file(&self, pid: Pid, address: u64, time: PerfTime) -> Option<FilePlace> {
        self.files.mapped.get_or_init(|| MappedFiles::of(self)).at(pid, address, time)
    }
}
