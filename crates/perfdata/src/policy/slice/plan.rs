//! What a slice keeps, and which names it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::{FileOffset, PerfTime, Tid};

/// What a slice keeps.
#[derive(Clone, Debug, Default)]
pub struct SlicePlan {
    /// The PT bytes.
    pub aux: Vec<AuxPart>,
    /// The times of which every record is kept; `None` keeps all records, for captures without a common clock.
    pub times: Option<Vec<CpuTimes>>,
    /// Single records, wherever they stand.
    pub records: BTreeSet<FileOffset>,
    /// Threads whose last switch before each time, and first one after it, are kept, besides those that ran then.
    pub threads: BTreeSet<Tid>,
    /// Names to replace; `None` keeps them.
    pub renames: Option<Renames>,
    /// What to add for the slice's reader.
    pub note: Vec<u8>,
    /// Whether the slice becomes the file `data` of a perf.data directory.
    pub in_directory: bool,
}

/// A stretch of time, on all CPUs or on one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The CPU; `None` for all.
    pub cpu: Option<model::Cpu>,
    /// From the first time on, before the last one.
    pub range: Range<PerfTime>,
}

/// Some of the PT bytes of an AUX buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuxPart {
    /// Index into [`PerfData::aux_buffers`](crate::PerfData::aux_buffers).
    pub buffer: usize,
    /// Bytes of that buffer.
    pub range: Range<u64>,
}

/// The names to write instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    /// The machine's name.
    pub hostname: String,
    /// perf's command line.
    pub command_line: Vec<String>,
    /// By recorded path, or name of an opened file.
    pub paths: BTreeMap<Vec<u8>, Vec<u8>>,
}
