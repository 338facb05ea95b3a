//! Writes a smaller perf.data: the same header and features, some of the records byte for byte, some of the PT bytes.
//!
//! Input: a capture, and a [`SlicePlan`]. Output: the bytes of a file that perf and this crate read as they read the
//! original. Records keep their bytes and their order; PT bytes keep their positions in the AUX stream. What the slice's
//! maker adds for its reader is in a feature section that perf skips ([`SliceNote`]).

mod choice;
mod container;
pub(crate) mod note;
mod plan;
mod rename;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::perf_data::PerfData;

pub use note::SliceNote;
pub use plan::{AuxPart, CpuTimes, Renames, SlicePlan};

/// Writing stands above reading: [`PerfData`]'s own file does not know it.
impl PerfData {
    /// The bytes of a perf.data that holds what `plan` says.
    ///
    /// Always kept are the records that name threads, change address spaces or the kernel's code, or describe the
    /// recording; around each time the switches that show which thread was on a CPU before and after it. Left out are perf's
    /// round marks (a reader sorts all) and what COMPRESSED records are, whose contents stand in their place.
    pub fn slice(&self, plan: &SlicePlan) -> Vec<u8> {
        let records = choice::records(self, plan);
        container::write(self, plan, &records)
    }

    /// All paths that records and the section of build ids name.
    pub fn recorded_paths(&self) -> BTreeSet<Vec<u8>> {
        rename::recorded_paths(self)
    }

    /// All names by which files were opened, as the probe `vfs_getname` recorded them.
    pub fn opened_names(&self) -> BTreeSet<Vec<u8>> {
        rename::opened_names(self)
    }
}
