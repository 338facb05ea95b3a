//! Narrows a population before anything is counted: by time, CPU, thread, name and label.
//!
//! Several values of one filter are alternatives; different filters must all hold.

use model::{Cpu, Interval, Pid, ThreadId, Tid, Tsc};

/// What only the capture knows of an interval or a thread.
pub trait ThreadFacts {
    /// The CPUs on which the interval's threads ran while it lasted.
    fn cpus(&self, interval: &Interval) -> Vec<Cpu>;
    /// The name of a thread at a time.
    fn comm(&self, thread: ThreadId, at: Tsc) -> Option<String>;
}

/// A range of time in TSC readings, open where an end is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpan {
    /// Not before.
    pub from: Option<Tsc>,
    /// Not after.
    pub to: Option<Tsc>,
}

/// Which intervals belong to the population; an empty list lets all pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Overlap with one of these.
    pub times: Vec<TimeSpan>,
    /// One of the interval's threads ran on one of these during it.
    pub cpus: Vec<Cpu>,
    /// The start or the stop thread is of one of these processes.
    pub pids: Vec<Pid>,
    /// The start or the stop thread is one of these.
    pub tids: Vec<Tid>,
    /// The start or the stop thread has one of these names.
    pub comms: Vec<String>,
    /// The label is one of these.
    pub labels: Vec<String>,
}

impl TimeSpan {
    /// Whether the interval has at least one instant in common with it, ends included.
    pub fn overlaps(self, interval: &Interval) -> bool {
        self.from.is_none_or(|from| interval.range.stop >= from)
            && self.to.is_none_or(|to| interval.range.start <= to)
    }
}

impl Filters {
    /// Indices of the intervals that pass, in order.
    pub fn members(&self, intervals: &[Interval], facts: &dyn ThreadFacts) -> Vec<usize> {
        let passes = |&index: &usize| self.passes(&intervals[index], facts);
        (0..intervals.len()).filter(passes).collect()
    }

    /// Whether an interval passes; the filters that cost least come first.
    fn passes(&self, interval: &Interval, facts: &dyn ThreadFacts) -> bool {
        let threads = || [interval.start_thread, interval.stop_thread].into_iter().flatten();
        let any = |passes: &dyn Fn(ThreadId) -> bool| threads().any(passes);
        (self.labels.is_empty() || self.labels.iter().any(|label| interval.label == **label))
            && (self.times.is_empty() || self.times.iter().any(|span| span.overlaps(interval)))
            && (self.pids.is_empty() || any(&|thread| self.pids.contains(&thread.pid)))
            && (self.tids.is_empty() || any(&|thread| self.tids.contains(&thread.tid)))
            && (self.comms.is_empty() || any(&|thread| self.has_comm(thread, interval.range.start, facts)))
            && (self.cpus.is_empty() || facts.cpus(interval).iter().any(|cpu| self.cpus.contains(cpu)))
    }

    fn has_comm(&self, thread: ThreadId, at: Tsc, facts: &dyn ThreadFacts) -> bool {
        facts.comm(thread, at).is_some_and(|comm| self.comms.contains(&comm))
    }
}

#[cfg(test)]
mod tests;
