//! The budget for examinations below the waits of an interval.
//!
//! Bounded in depth, in waits per interval (the longest) and in total, so that an interval of a thousand waits costs
//! no more than a few intervals. The recursion ends: each step examines a shorter time.

/// How many wake-ups the path of wakers is followed back.
const DEPTH: usize = 3;

/// How many waits of one interval are followed.
pub(super) const WAITS: usize = 8;

/// How many partitions lie below one interval, at all depths.
const PARTITIONS: usize = 24;

/// The same for a baseline.
const PARTITIONS_OF_BASELINE: usize = 2;

/// See the module.
pub(crate) struct During {
    thorough: bool,
    closed: bool,
    depth: usize,
    below: usize,
    partitions: usize,
}

impl During {
    /// The whole budget of an outlier.
    pub(crate) fn of_outlier() -> During {
        During { thorough: true, closed: false, depth: DEPTH, below: 0, partitions: PARTITIONS }
    }

    /// The budget of a baseline: what its wakers ran is compared with what an outlier's ran, and their own waits are not.
    pub(crate) fn of_baseline() -> During {
        During { thorough: false, closed: false, depth: 1, below: 0, partitions: PARTITIONS_OF_BASELINE }
    }

    /// Whether what ran in a thread's place is looked at: of an outlier's time.
    pub(super) fn is_thorough(&self) -> bool {
        self.thorough
    }

    /// Whether nothing is followed for a while, however much of the budget is left.
    pub(super) fn follow_nothing(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Whether waits may be followed at this depth.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0 && !self.closed
    }

    /// Whether what is examined lies below a wait: it is another thread's time.
    pub(super) fn is_below_a_wait(&self) -> bool {
        self.below > 0
    }

    /// Whether one more partition may be made; counts it.
    pub(super) fn take(&mut self) -> bool {
        let left = self.is_open() && self.partitions > 0;
        self.partitions -= usize::from(left);
        left
    }

    /// One step deeper below the interval.
    pub(super) fn descend(&mut self) {
        self.depth -= 1;
        self.below += 1;
    }

    /// One step back.
    pub(super) fn ascend(&mut self) {
        self.depth += 1;
        self.below -= 1;
    }
}
