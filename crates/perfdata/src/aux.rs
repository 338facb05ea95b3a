//! AUX buffers: where the PT bytes of each CPU or thread lie. They are located here, never read.

use std::fmt;

use model::{Cpu, FileOffset, PerfTime, ThreadId, Tid};

/// The PT bytes after one AUXTRACE record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuxBuffer {
    /// The CPU they come from; `None` where a thread was followed instead.
    pub cpu: Option<Cpu>,
    /// The thread they come from; `None` where a CPU was recorded.
    pub tid: Option<Tid>,
    /// Number of the ring buffer.
    pub idx: u32,
    /// Position of the first byte in the ring's stream of bytes since the recording began.
    pub aux_offset: u64,
    /// The counter's reading when it was copied, as the recorder writes it.
    pub reference: u64,
    /// The first byte in the file.
    pub file_offset: FileOffset,
    /// The AUXTRACE record that announces it.
    pub record_offset: FileOffset,
    /// Length in bytes, as far as the file has them.
    pub size: u64,
}

/// PT bytes that were taken together with a sample (`--aux-sample`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuxSample {
    /// When the sample was taken.
    pub time: Option<PerfTime>,
    /// The CPU they come from.
    pub cpu: Option<Cpu>,
    /// The thread that was interrupted.
    pub thread: Option<ThreadId>,
    /// The id of the sampling event.
    pub id: Option<u64>,
    /// The sample's record.
    pub record_offset: FileOffset,
    /// The first byte in the file.
    pub file_offset: FileOffset,
    /// Length in bytes.
    pub size: u64,
}

/// Flags of an AUX record (`PERF_AUX_FLAG_*`).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct AuxFlags(pub u64);

impl AuxFlags {
    /// The ring was full: bytes are missing after this record's.
    pub const TRUNCATED: AuxFlags = AuxFlags(1);
    /// A snapshot: the record says the newest position, older bytes were overwritten.
    pub const OVERWRITE: AuxFlags = AuxFlags(2);
    /// Tracing paused (in a VM, or by another user of PT): there are holes in it.
    pub const PARTIAL: AuxFlags = AuxFlags(4);
    /// A sample collided with another one.
    pub const COLLISION: AuxFlags = AuxFlags(8);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: AuxFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether PT bytes are missing: any flag but `OVERWRITE`, which is how snapshots are.
    pub fn means_loss(self) -> bool {
        self.0 & (AuxFlags::TRUNCATED.0 | AuxFlags::PARTIAL.0 | AuxFlags::COLLISION.0) != 0
    }
}

impl fmt::Debug for AuxFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AuxFlags {
    /// The letters that `perf script -D` prints: T truncated, O overwrite, P partial, C collision.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in [
            (AuxFlags::TRUNCATED, "T"),
            (AuxFlags::OVERWRITE, "O"),
            (AuxFlags::PARTIAL, "P"),
            (AuxFlags::COLLISION, "C"),
        ] {
            if self.contains(flag) {
                f.write_str(letter)?;
            }
        }
        write!(f, "[{:#x}]", self.0)
    }
}
