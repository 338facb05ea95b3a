//! Code in memory: who mapped what where, and how the decoder reads its bytes.
//!
//! [`CodeBytes`] lets `pt` read code without knowing files, and `symbols` serve bytes without knowing PT.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::place::{Pid, Tid};
use crate::time::Tsc;

/// The build ID of an ELF file: 20 bytes mostly, never empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// A build ID, or `None` where the bytes are empty or all zero (perf's way to say that there is none).
    pub fn new(bytes: &[u8]) -> Option<BuildId> {
        bytes.iter().any(|&byte| byte != 0).then(|| BuildId(bytes.into()))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One executable `mmap` in a process, or of the kernel ([`Pid::KERNEL`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Who mapped it.
    pub pid: Pid,
    /// Actual addresses (AVMA) it covers.
    pub range: Range<u64>,
    /// Position in the file of the first of these bytes.
    pub file_offset: u64,
    /// The file as the recording named it: a path, or `[vdso]`, `[kernel.kallsyms]_text`, `//anon`, a module's name.
    pub path: String,
    /// The file's identity where the recording says it.
    pub build_id: Option<BuildId>,
    /// Which file it was on the recorded machine, where the recording says it.
    pub inode: Option<InodeId>,
}

/// A file on a machine, as `PERF_RECORD_MMAP2` names it: it was this very file, though not necessarily with these contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeId {
    /// Major and minor number of the file system's device.
    pub device: (u32, u32),
    /// The inode's number.
    pub inode: u64,
    /// How often the inode's number was given to a file, as the file system counts (`FS_IOC_GETVERSION`); zero where it
    /// does not.
    pub generation: u64,
}

/// A change of what the address spaces hold.
// Exhaustive: an event that `symbols` does not replay would leave wrong code in an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// A mapping appeared (and hides what it overlaps).
    Map(Mapping),
    /// `child` began with a copy of `parent`'s mappings. A new thread (same process) changes nothing and is not reported.
    Fork {
        /// The old process.
        parent: Pid,
        /// The new process.
        child: Pid,
    },
    /// The process replaced its program: all its mappings went.
    Exec {
        /// The process.
        pid: Pid,
    },
    /// The last thread of the process ended.
    Exit {
        /// The process.
        pid: Pid,
        /// The thread whose end it was.
        tid: Tid,
    },
    /// The kernel gained or lost a function at run time (BPF programs, trampolines, ftrace).
    KernelSymbol {
        /// Its addresses.
        range: Range<u64>,
        /// Its name.
        name: String,
        /// `true` where it went away.
        removed: bool,
    },
    /// The kernel rewrote its own code (static keys, tracepoints, alternatives).
    TextPoke {
        /// Address of the first byte.
        address: u64,
        /// What stood there before.
        old_bytes: Vec<u8>,
        /// What stands there from now on.
        new_bytes: Vec<u8>,
    },
}

/// A piece of a file that backs a range of code addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSection {
    /// Actual addresses (AVMA) it covers.
    pub range: Range<u64>,
    /// The file on this machine.
    pub file: Arc<PathBuf>,
    /// Position in that file of the first of these bytes.
    pub file_offset: u64,
}

/// A time span in which a process' code sections stay the same.
#[derive(Clone, Debug)]
pub struct CodeEpoch {
    /// Equal ids mean equal `sections`: what a decoder may cache by.
    pub id: u64,
    /// First reading at which the sections may differ.
    pub until: Tsc,
    /// File-backed pieces: ordered, without overlap, kernel included. Ranges that [`CodeBytes::read`] must serve
    /// (poked code, JIT code, code without a file of its own) are left out: holes.
    pub sections: Arc<[CodeSection]>,
}

/// Reads code as it was at a given time.
pub trait CodeBytes: Sync {
    /// The sections of `pid`'s address space valid at `at`.
    fn epoch(&self, pid: Pid, at: Tsc) -> CodeEpoch;

    /// Copies code bytes at `address` into `into` as they were at `at`; returns how many could be read, less than
    /// asked at the end of what is known, 0 where nothing is. Serves all addresses, those of sections included.
    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize;
}
