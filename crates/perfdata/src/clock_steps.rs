//! Where the clock of the records steps back.
//!
//! A CPU (or a thread that is recorded alone) writes its records in the order of time into a ring of its own, and the
//! file holds each ring's records in that order. Two of them that follow each other in the file and run backwards by
//! more than interrupts can explain were stamped by a clock that was set back, or lie there in disorder.

use model::{Cpu, FileOffset, PerfTime};

use crate::ordered_records::IndexEntry;
use crate::ordered_records::OrderedRecords;

/// A record may be written while an interrupt's records overtake it; no interrupt takes a millisecond.
const LONGEST_OVERTAKEN: u64 = 1_000_000;
/// Candidates kept: one at each change of the ring, at the most, in a file of a terabyte.
const MOST: usize = 1 << 20;

/// A step back of the records' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// The CPU whose records step back.
    pub cpu: Option<Cpu>,
    /// The first record after the step.
    pub record: FileOffset,
    /// The time of the record before it.
    pub from: PerfTime,
    /// Its own time.
    pub to: PerfTime,
}

/// Adjacent records in the file that run backwards: a step, or the border between two rings.
#[derive(Debug, Default)]
pub(crate) struct Backwards {
    last: Option<IndexEntry>,
    pairs: Vec<(IndexEntry, IndexEntry)>,
}

impl Backwards {
    /// The next record of the file that has a time of its own; zero is none.
    pub(crate) fn see(&mut self, entry: IndexEntry) {
        if entry.time == 0 {
            return;
        }
        if let Some(last) = self.last.replace(entry)
            && entry.time.saturating_add(LONGEST_OVERTAKEN) < last.time
            && self.pairs.len() < MOST
        {
            self.pairs.push((last, entry));
        }
    }
}

/// The steps among `backwards`, in the order of the file. `by_thread`: each thread has a ring of its own.
pub(crate) fn steps(records: &OrderedRecords, backwards: &Backwards, by_thread: bool) -> Vec<ClockStep> {
    let pairs = backwards.pairs.iter();
    pairs
        // A ring that is written again says nothing of its clock.
        .filter(|(_, behind)| records.repeats.binary_search(&behind.offset).is_err())
        .filter_map(|(before, behind)| {
            let (a, b) = (records.at(before.offset)?, records.at(behind.offset)?);
            let same_ring = a.cpu == b.cpu && (!by_thread || a.thread == b.thread);
            let (from, to) = (PerfTime(before.time), PerfTime(behind.time));
            same_ring.then_some(ClockStep { cpu: b.cpu, record: behind.offset, from, to })
        })
        .collect()
}

#[cfg(test)]
mod tests;
