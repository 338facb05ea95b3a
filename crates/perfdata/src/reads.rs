//! Notes of which times records were read: what a slice must hold so that the same questions get the same answers. And how
//! much was read.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use model::PerfTime;

/// The notes; off until somebody wants them.
#[derive(Debug, Default)]
pub(crate) struct ReadNotes {
    is_on: AtomicBool,
    times: Mutex<Vec<Range<PerfTime>>>,
    steps: AtomicU64,
}

impl ReadNotes {
    /// From now on every range is noted.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Notes `range`, where that is wanted.
    pub(crate) fn note(&self, range: &Range<PerfTime>) {
        if self.is_on.load(Ordering::Relaxed) && range.start < range.end {
            self.times.lock().unwrap_or_else(PoisonError::into_inner).push(range.clone());
        }
    }

    /// One search for the records of a range, which found so many.
    pub(crate) fn count(&self, records: usize) {
        self.steps.fetch_add(1 + records as u64, Ordering::Relaxed);
    }

    /// How many searches there were, and records that they found, together.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Ends it: the noted ranges in order, those that touch merged.
    pub(crate) fn take(&self) -> Vec<Range<PerfTime>> {
        self.is_on.store(false, Ordering::Relaxed);
        joined(std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// `ranges` in order; those that overlap or touch are one.
pub(crate) fn joined<T: Ord + Copy>(mut ranges: Vec<Range<T>>) -> Vec<Range<T>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<T>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
