//! Which file something was: an address by the MMAP records, a descriptor by those of system calls.
//!
//! perf records executable mappings, and those of data too where it was asked for addresses (`perf record -d`). It does not
//! record when a mapping goes.

mod mapped;
mod opened;

use std::sync::{Arc, OnceLock};

use model::{PerfTime, Pid};

use crate::PerfData;
use mapped::MappedFiles;
use opened::OpenedFiles;

pub(crate) use opened::{NAME_FIELD, told_name};

/// How many parents are asked for what a process has from them.
const GENERATIONS: usize = 64;

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
    opened: OnceLock<OpenedFiles>,
}

impl PerfData {
    /// The file that process `pid` had mapped at `address` at `time`, and where in it that is.
    pub fn mapped_file(&self, pid: Pid, address: u64, time: PerfTime) -> Option<FilePlace> {
        self.files.mapped.get_or_init(|| MappedFiles::of(self)).at(pid, address, time)
    }

    /// The name by which process `pid` opened what its `descriptor` stood for at `time`: as the process gave it, relative
    /// maybe.
    pub fn opened_file(&self, pid: Pid, descriptor: u32, time: PerfTime) -> Option<Arc<str>> {
        let answer = self.files.opened.get_or_init(|| OpenedFiles::of(self)).at(pid, descriptor, time);
        // A slice that holds the records that the answer rests on gives the same one.
        answer.times.iter().for_each(|&time| self.reads.note(&(time..PerfTime(time.0.saturating_add(1)))));
        answer.name
    }
}
