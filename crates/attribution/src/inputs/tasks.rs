//! Which task each thread ran when: the tasks are the intervals whose source says in which phases they were.
//!
//! A worker runs one task at a time, so that the task in whose poll something took place is known by thread and time.

use std::collections::HashMap;

use model::{Interval, IntervalId, Phase, PhaseKind, Tid, Tsc, TscRange};

/// The tasks of a source, and when each thread ran which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    tasks: Vec<Interval>,
    /// Of each thread its runs of tasks, in order of time, with the place of the task in `tasks`.
    runs: HashMap<Tid, Vec<(TscRange, usize)>>,
}

impl Tasks {
    /// Those among `intervals`.
    pub(crate) fn new(intervals: &[Interval]) -> Tasks {
        let tasks: Vec<Interval> =
            intervals.iter().filter(|interval| !interval.phases.is_empty()).cloned().collect();
        let mut runs: HashMap<Tid, Vec<(TscRange, usize)>> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            for phase in task.phases.iter().filter(|phase| phase.kind == PhaseKind::Run) {
                if let Some(thread) = phase.thread {
                    runs.entry(thread.tid).or_default().push((phase.range, index));
                }
            }
        }
        for runs in runs.values_mut() {
            runs.sort_unstable_by_key(|&(range, index)| (range.start, range.stop, index));
        }
        Tasks { tasks, runs }
    }

    /// The task that thread `tid` ran at `at`, or up to then: the innermost where a task polls another one itself.
    pub(crate) fn running(&self, tid: Tid, at: Tsc) -> Option<&Interval> {
        let runs = self.runs.get(&tid)?;
        let begun = runs.partition_point(|(range, _)| range.start <= at);
        let (_, index) = runs[..begun].iter().rev().take(NESTED).find(|(range, _)| at <= range.stop)?;
        self.tasks.get(*index)
    }

    /// The runs of tasks on thread `tid` within `range`, in order of time.
    pub(crate) fn within(&self, tid: Tid, range: TscRange) -> impl Iterator<Item = (TscRange, &Interval)> {
        let runs = self.runs.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = runs.partition_point(|(run, _)| run.start < range.start).saturating_sub(NESTED);
        runs[from..].iter().take_while(move |(run, _)| run.start < range.stop).filter_map(
            move |&(run, index)| {
                let within = run.intersection(range).filter(|within| !within.is_empty())?;
                Some((within, self.tasks.get(index)?))
            },
        )
    }
}

impl Tasks {
    /// Adds to `found` the tasks that workers polled while `task` was ready, and those that woke it, with those that have a part in their
    /// time, `depth` steps deep.
    pub(crate) fn involve(&self, task: &Interval, depth: usize, found: &mut Vec<(Tsc, IntervalId)>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for pair in task.phases.windows(2) {
            let (phase, Some(thread)) = (pair[0], pair[1].thread) else { continue };
            match (phase.kind, pair[1].kind) {
                (PhaseKind::Ready, _) => {
                    let polled = self.within(thread.tid, phase.range);
                    found.extend(polled.map(|(_, other)| (other.range.stop, other.id)));
                }
                (PhaseKind::Await, PhaseKind::Ready) => {
                    let Some(waker) = self.running(thread.tid, phase.range.stop) else { continue };
                    found.push((waker.range.stop, waker.id));
                    self.involve(&clipped(waker, phase.range), depth, found);
                }
                _ => {}
            }
        }
    }
}

/// How many runs back one may still go on: tasks that poll others are few.
const NESTED: usize = 4;

/// The part of `task` within `range`, as an interval of its own.
pub(crate) fn clipped(task: &Interval, range: TscRange) -> Interval {
    let phases = task.phases.iter().filter_map(|phase| {
        let range = phase.range.intersection(range).filter(|range| !range.is_empty())?;
        Some(Phase { range, ..*phase })
    });
    let range = task.range.intersection(range).unwrap_or(TscRange::new(range.start, range.start));
    Interval { phases: phases.collect(), ..Interval::new(task.id, task.label.clone(), range, None) }
}

/// `order 17`: what a task is called.
pub(crate) fn name_of(task: &Interval) -> String {
    match &task.key {
        Some(key) => format!("{} {key}", task.label),
        None => format!("{} {}", task.label, task.id),
    }
}
