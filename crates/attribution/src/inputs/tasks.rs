//! Which task each thread ran when: the tasks are the intervals whose source says in which phases they were.
//!
//! A worker runs one task at a time, so that the task in whose poll something took place is known by thread and time.

use std::collections::{BTreeSet, HashMap};

use model::{Details, Interval, IntervalId, Phase, PhaseKind, ThreadId, Tid, Tsc, TscRange};

use crate::inputs::comms::{Comms, named};

/// The tasks of a source, and when each thread ran which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    all: Vec<Interval>,
    /// Of each thread its runs of tasks, in order of time, with the place of the task in `all`.
    runs: HashMap<Tid, Vec<(TscRange, usize)>>,
    /// The threads that ran any.
    workers: BTreeSet<ThreadId>,
    /// The place of each task in `all`.
    places: HashMap<IntervalId, usize>,
}

impl Tasks {
    /// Those among `intervals`.
    pub(crate) fn new(intervals: &[Interval]) -> Tasks {
        let tasks: Vec<Interval> =
            intervals.iter().filter(|interval| !interval.phases.is_empty()).cloned().collect();
        let mut runs: HashMap<Tid, Vec<(TscRange, usize)>> = HashMap::new();
        let mut workers = BTreeSet::new();
        for (index, task) in tasks.iter().enumerate() {
            for phase in task.phases.iter().filter(|phase| phase.kind == PhaseKind::Run) {
                if let Some(thread) = phase.thread {
                    runs.entry(thread.tid).or_default().push((phase.range, index));
                    workers.insert(thread);
                }
            }
        }
        for runs in runs.values_mut() {
            runs.sort_unstable_by_key(|&(range, index)| (range.start, range.stop, index));
        }
        let places = tasks.iter().enumerate().map(|(place, task)| (task.id, place)).collect();
        Tasks { all: tasks, runs, workers, places }
    }

    /// The task that thread `tid` ran at `at`, or up to then: the innermost where a task polls another one itself.
    pub(crate) fn running(&self, tid: Tid, at: Tsc) -> Option<&Interval> {
        let runs = self.runs.get(&tid)?;
        let begun = runs.partition_point(|(range, _)| range.start <= at);
        let (_, index) = runs[..begun].iter().rev().take(NESTED).find(|(range, _)| at <= range.stop)?;
        self.all.get(*index)
    }

    /// `till-1`: what a headline calls `thread` at `at`, with its number where a worker has the same name.
    pub(crate) fn worker_name(&self, comms: &dyn Comms, thread: ThreadId, at: Tsc) -> String {
        let name = comms.comm(thread, at);
        let others = self.workers.iter().filter(|&&other| other != thread);
        if others.take(MOST_NAMES).any(|&other| comms.comm(other, at) == name) {
            named(comms, thread, at)
        } else {
            name
        }
    }

    /// The runs of tasks on thread `tid` within `range`, in order of time.
    pub(crate) fn within(&self, tid: Tid, range: TscRange) -> impl Iterator<Item = (TscRange, &Interval)> {
        let runs = self.runs.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = runs.partition_point(|(run, _)| run.start < range.start).saturating_sub(NESTED);
        runs[from..].iter().take_while(move |(run, _)| run.start < range.stop).filter_map(
            move |&(run, index)| {
                let within = run.intersection(range).filter(|within| !within.is_empty())?;
                Some((within, self.all.get(index)?))
            },
        )
    }
}

impl Tasks {
    /// The run of task `id` whose poll was pending before the phase that holds `at`, whole: of an interval that is a part of the task's, too.
    pub(crate) fn polled_before(&self, id: IntervalId, at: Tsc) -> Option<Phase> {
        let task = self.all.get(*self.places.get(&id)?)?;
        let next = task.phases.partition_point(|phase| phase.range.start <= at).checked_sub(1)?;
        let run = task.phases[..next].last()?;
        (run.kind == PhaseKind::Run).then_some(*run)
    }

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

/// How many workers' names are compared.
const MOST_NAMES: usize = 256;

/// How many runs back one may still go on: tasks that poll others are few.
const NESTED: usize = 4;

/// The part of `task` within `range`, as an interval of its own.
pub(crate) fn clipped(task: &Interval, range: TscRange) -> Interval {
    let phases = task.phases.iter().filter_map(|phase| {
        let range = phase.range.intersection(range).filter(|range| !range.is_empty())?;
        Some(Phase { range, ..*phase })
    });
    let range = task.range.intersection(range).unwrap_or(TscRange::new(range.start, range.start));
    let details = Details { phases: phases.collect(), ..Details::default() };
    Interval::new(task.id, task.label.clone(), range, None).with(details)
}

/// `order 17`: what a task is called.
pub(crate) fn name_of(task: &Interval) -> String {
    match &task.key {
        Some(key) => format!("{} {key}", task.label),
        None => format!("{} {}", task.label, task.id),
    }
}
