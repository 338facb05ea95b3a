//! What the recorder hears and does while perf runs: by it the account says why an interval was skipped.

use super::pairs::Paired;

/// Stretches of the time-stamp counter, both ends inside.
#[derive(Debug, Default)]
pub(super) struct Stretches(Vec<(u64, u64)>);

impl Stretches {
    /// Another one.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        self.0.push((from, to));
    }

    /// Makes the last one reach to `at`, or begins one there.
    pub(super) fn extend(&mut self, at: u64, goes_on: bool) {
        match self.0.last_mut().filter(|_| goes_on) {
            Some((from, to)) => (*from, *to) = ((*from).min(at), (*to).max(at)),
            None => self.0.push((at, at)),
        }
    }

    /// Those of `later`, too.
    pub(super) fn append(&mut self, later: Stretches) {
        self.0.extend(later.0);
    }

    /// What ends later than `at` may still be needed.
    pub(super) fn forget_until(&mut self, at: u64) {
        self.0.retain(|&(_, end)| end > at);
    }

    /// Whether one of them meets the stretch.
    pub(super) fn meet(&self, (from, to): (u64, u64)) -> bool {
        self.0.iter().any(|&(start, end)| start <= to && from <= end)
    }
}

/// What the recorder heard and did since the ring before.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Lines that came through the doorbell.
    pub(super) rung: u64,
    /// Of these, those that the program's writing thread wrote.
    pub(super) late: u64,
    /// Rings that were written.
    pub(super) snapshots: u64,
    /// The begins of those that rang and have a percentile as limit.
    pub(super) slow: Vec<u64>,
    /// Pairs of events that were slow.
    pub(super) paired: Vec<Paired>,
    /// All pairs.
    pub(super) pairs: u64,
    /// How often events were lost before they were read.
    pub(super) losses: u64,
    /// How many they were.
    pub(super) lost: u64,
    /// When intervals ended that rang while the snapshots of the minute were used up.
    pub(super) limited: Stretches,
    /// While perf wrote.
    pub(super) writing: Stretches,
}
