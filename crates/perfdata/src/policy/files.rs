//! Which file something was: an address by the MMAP records, a descriptor by those of system calls.
//!
//! perf records executable mappings, and those of data too where addresses were requested (`perf record -d`). It does not
//! record when a mapping goes.

mod mapped;
mod number;
mod opened;
mod saved;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::{PerfTime, Pid, TimeConversion};

use crate::ordered_records::OrderedRecords;
use crate::policy::machine::OpenDescriptor;
use mapped::MappedFiles;
use opened::{Answer, OpenedFiles};
use saved::SavedNames;

pub(crate) use opened::{NAME_FIELD, told_name};

/// How many parents are searched for what a process inherits.
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

/// What the records hold about files; each part is read at its first use.
#[derive(Debug, Default)]
pub(crate) struct Files {
    mapped: OnceLock<MappedFiles>,
    opened: OnceLock<OpenedFiles>,
    saved: OnceLock<SavedNames>,
    /// The saved ones that gave a name: what a slice needs of them.
    used: Mutex<BTreeSet<(Pid, u32)>>,
}

impl Files {
    /// The file that process `pid` had mapped at `address` at `time`, and where in it that is.
    pub(crate) fn mapped(
        &self,
        records: &OrderedRecords,
        pid: Pid,
        address: u64,
        time: PerfTime,
    ) -> Option<FilePlace> {
        self.mapped.get_or_init(|| MappedFiles::of(records)).at(pid, address, time)
    }

    /// The name by which process `pid` opened what its `descriptor` stood for at `time`, and the records that show it.
    pub(crate) fn opened(
        &self,
        records: &OrderedRecords,
        pid: Pid,
        descriptor: u32,
        time: PerfTime,
    ) -> Answer {
        self.opened.get_or_init(|| OpenedFiles::of(records)).at(pid, descriptor, time)
    }

    /// What of `descriptors`, which the recording saved, the `descriptor` of process `pid` stood for at `time`.
    pub(crate) fn saved(
        &self,
        records: &OrderedRecords,
        (descriptors, conversion): (&[OpenDescriptor], TimeConversion),
        (pid, descriptor): (Pid, u32),
        time: PerfTime,
    ) -> Option<Arc<str>> {
        let saved = self.saved.get_or_init(|| SavedNames::of(records, descriptors, conversion));
        let name = saved.at(pid, descriptor, time)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert((pid, descriptor));
        Some(name)
    }

    /// The descriptors of which a saved name was given so far.
    pub(crate) fn used(&self) -> BTreeSet<(Pid, u32)> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
