//! The phases of a task's interval in which no thread ran it: what the worker did instead, or the task that woke it.
//!
//! Input: the interval, and what examines another thread or task. Output: [`Pause`]s with all that is known of them.

use std::cmp::Reverse;
use std::sync::Arc;

use model::{Interval, IntervalId, Segment, Tsc};

use super::during::WAITS;
use crate::claims::runtime::{Pause, pauses_of};
use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::inputs::tasks::clipped;
use crate::tables::libraries::spoken;
use crate::tables::task_wakers::wakes;
use crate::threads::follow::{before, path_at};
use crate::threads::stays::cpu_at;
use crate::walk::activity::Activity;
use crate::walk::await_sites::{AwaitSite, await_sites};
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::HotPaths;

/// How many wake-ups of one interval are looked up in the flow.
const WAKERS: usize = 64;

/// These phases of `interval`, with what its polls were at before them and where their wakers were; none where it is that of its threads.
/// `activity`: what its threads did.
pub(super) fn pauses(
    scene: &Scene<'_>,
    interval: &Interval,
    activity: &Activity,
    decoder: &mut dyn Decode,
) -> Vec<Pause> {
    let mut pauses = pauses_of(interval);
    for index in longest(&pauses, WAKERS) {
        let pause = &mut pauses[index];
        if !pause.is_ready {
            pause.sites = sites(scene, interval, pause.range.start, activity, decoder);
        }
        if let (true, Some(thread), Some(conversion)) = (pause.is_woken, pause.ended_by, scene.conversion) {
            let at = pause.range.stop;
            let cpu = cpu_at(scene.schedule, thread, at, conversion);
            pause.waker = path_at(scene, thread, cpu, at, decoder).map(without_waking);
            pause.by_task = scene.queues.tasks().running(thread.tid, at).is_some();
        }
    }
    pauses
}

/// The futures of the poll of `interval` before `at` that was pending, the last one first: by what its threads did, or where it took
/// place before the interval, by a short stretch of its worker's flow.
fn sites(
    scene: &Scene<'_>,
    interval: &Interval,
    at: Tsc,
    activity: &Activity,
    decoder: &mut dyn Decode,
) -> Vec<AwaitSite> {
    let Some(poll) = scene.queues.tasks().polled_before(interval.id, at) else { return Vec::new() };
    let of = |activity: &Activity| {
        let from = activity.runs.partition_point(|run| run.range.start < poll.range.start);
        let until = activity.runs.partition_point(|run| run.range.start < poll.range.stop);
        await_sites(&activity.code, &activity.runs[from.min(until)..until])
    };
    if poll.range.start >= interval.range.start {
        return of(activity);
    }
    let (Some(thread), Some(conversion)) = (poll.thread, scene.conversion) else { return Vec::new() };
    let cpu = cpu_at(scene.schedule, thread, poll.range.stop, conversion);
    before(scene, thread, cpu, poll.range.stop, decoder).map_or_else(Vec::new, |activity| of(&activity))
}

/// Adds to the longest of `pauses` what the worker did that polled the ready task; what the task did that woke another one, or the thread that
/// did. `examined`: the segments of an interval, and through which functions they passed.
pub(super) fn follow(
    scene: &Scene<'_>,
    pauses: &mut [Pause],
    mut examined: impl FnMut(&Interval) -> Option<(Vec<Segment>, HotPaths)>,
) {
    for index in longest(pauses, WAITS) {
        let pause = &mut pauses[index];
        let Some(thread) = pause.ended_by.filter(|_| pause.is_due_to_a_thread()) else { continue };
        let waker = scene.queues.tasks().running(thread.tid, pause.range.stop);
        let interval = match waker.filter(|_| !pause.is_ready) {
            Some(task) => clipped(task, pause.range),
            None => Interval::new(IntervalId(0), "", pause.range, Some(thread)),
        };
        if let Some((segments, hot)) = examined(&interval) {
            (pause.during, pause.below) = (segments, Some(Arc::new(hot)));
        }
    }
}

/// `path` up to what called the waker.
fn without_waking(mut path: CallPath) -> CallPath {
    while path.user.len() > 1 && path.user.last().is_some_and(|site| wakes(&spoken(&site.function))) {
        path.user.pop();
    }
    path
}

/// The places of the `most` longest, longest first.
fn longest(pauses: &[Pause], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pauses.len()).collect();
    order.sort_by_key(|&index| Reverse(pauses[index].range.ticks()));
    order.truncate(most);
    order
}

#[cfg(test)]
mod tests;
