//! Which intervals each thread ended, and when: the queue in which an interval may have waited for its thread. And
//! which tasks it ran.

use std::collections::HashMap;

use model::{Interval, IntervalId, Label, Tid, Tsc};

use crate::inputs::tasks::Tasks;

/// How many intervals an interval may be reported as queued behind.
const MOST: usize = 64;

/// How far tasks are followed that have a part in others' time: what is examined below a wait goes as deep.
const INVOLVED_DEPTH: usize = 3;

/// When each thread ended which interval, and ran which task.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    tasks: Tasks,
    ends: HashMap<(Label, Tid), Vec<(Tsc, IntervalId)>>,
}

impl Queues {
    /// For all intervals of a source.
    pub fn new(intervals: &[Interval]) -> Queues {
        let mut queues = Queues { tasks: Tasks::new(intervals), ..Queues::default() };
        for interval in intervals.iter().filter(|interval| is_handed_over(interval)) {
            if let Some(thread) = interval.stop_thread {
                let ends = queues.ends.entry((interval.label.clone(), thread.tid)).or_default();
                ends.push((interval.range.stop, interval.id));
            }
        }
        for ends in queues.ends.values_mut() {
            ends.sort_unstable();
        }
        queues
    }

    /// The other intervals that the stop thread of `interval` ended during it, in time order.
    pub fn before(&self, interval: &Interval) -> Vec<(Tsc, IntervalId)> {
        let Some(thread) = interval.stop_thread.filter(|_| is_handed_over(interval)) else {
            return Vec::new();
        };
        let Some(ends) = self.ends.get(&(interval.label.clone(), thread.tid)) else { return Vec::new() };
        let from = ends.partition_point(|&(at, _)| at <= interval.range.start);
        let within = ends[from..].iter().take_while(|&&(at, _)| at < interval.range.stop);
        let mut before: Vec<_> = within.filter(|&&(_, id)| id != interval.id).copied().collect();
        before.drain(..before.len().saturating_sub(MOST));
        before
    }

    /// The tasks that have a part in the time of `interval`, a task's: that its workers polled first, or that woke it; and those that have
    /// a part in theirs.
    pub fn beside(&self, interval: &Interval) -> Vec<(Tsc, IntervalId)> {
        let mut found = Vec::new();
        self.tasks.involve(interval, INVOLVED_DEPTH, &mut found);
        found
    }

    /// The tasks.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

/// Whether one thread ends what another one began. A task is handed over with each of its phases.
fn is_handed_over(interval: &Interval) -> bool {
    if !interval.phases.is_empty() {
        return false;
    }
    let same = |start: model::ThreadId| interval.stop_thread.is_some_and(|stop| stop.tid == start.tid);
    !interval.start_thread.is_some_and(same)
}
