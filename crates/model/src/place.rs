//! Where something is: a processor, a thread, a byte of the file.

use std::fmt;

/// A logical processor, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u32);

/// A process id as the recording's root namespace shows it; -1 stands for the kernel (perf's convention in MMAP records).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub i32);

/// A thread id; 0 is the idle task of its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

/// A thread and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId {
    /// The process (thread group).
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
}

impl Pid {
    /// The owner of kernel mappings.
    pub const KERNEL: Pid = Pid(-1);
    /// Of a thread whose process its source does not name: the capture's records may.
    pub const UNKNOWN: Pid = Pid(-2);
}

impl ThreadId {
    /// The thread `tid` of process `pid`.
    pub fn new(pid: i32, tid: i32) -> ThreadId {
        ThreadId { pid: Pid(pid), tid: Tid(tid) }
    }

    /// Whether this is a CPU's idle task.
    pub fn is_idle(self) -> bool {
        self.tid.0 == 0
    }
}

/// A position in the perf.data file, in bytes from its start: what `perf script -D` prints in its first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOffset(pub u64);

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pid, self.tid)
    }
}

impl fmt::Display for FileOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
