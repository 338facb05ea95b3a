//! Follows the interval's threads through the flows of their stays on CPUs, each by itself.
//!
//! Input: stays in order, and a decoder. Output: what the threads did, and which stays were requested from the
//! decoder: where their flow is untraced, no packet covers them.

use model::{Cpu, ThreadId, Ticks, Tsc, TscRange};
use pt::FlowSink;

use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::threads::pauses::paused_within;
use crate::threads::stays::Stay;
use crate::walk::activity::{Activity, Frame};
use crate::walk::call_path::CallPath;
use crate::walk::walker::Walker;

/// A stay whose flow was requested.
pub(crate) struct FollowedStay {
    /// The stay.
    pub(crate) stay: Stay,
    /// Whether the decoder has a trace of it; that trace may hold no packet of the stay.
    pub(crate) traced: bool,
}

/// What is asked of the flows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// A thread that was busy with other intervals until then: what it ran before is not counted.
    pub(crate) busy: Option<(ThreadId, Tsc)>,
    /// Which kernel functions ran.
    pub(crate) kernel_calls: bool,
}

/// Walks the flows of all stays on CPUs, and lists these stays.
pub(crate) fn follow(
    scene: &Scene<'_>,
    stays: &[Stay],
    wanted: Wanted,
    decoder: &mut dyn Decode,
) -> (Activity, Vec<FollowedStay>) {
    let mut whole = Activity::default();
    let mut followed = Vec::new();
    for of_one in stays.chunk_by(|a, b| a.thread == b.thread) {
        let Some(thread) = of_one[0].thread else { continue };
        let mut walker = Walker::new(scene.functions, scene.stall_threshold);
        if !scene.kernel_traced {
            walker.traces_user_code_only();
        }
        if wanted.kernel_calls {
            walker.follows_kernel_calls();
        }
        if let Some((_, until)) = wanted.busy.filter(|(who, _)| who.tid == thread.tid) {
            walker.counts_from(until);
        }
        let activity = follow_thread(scene, walker, (thread, of_one), decoder, &mut followed);
        append(&mut whole, activity);
    }
    (whole, followed)
}

/// How much flow before a moment shows where a thread is then: a system call from its entry to the scheduler.
const ON_THE_WAY: Ticks = Ticks(200_000);

/// Where `thread` was on `cpu` at `at`, by a short stretch of its flow before.
pub(crate) fn path_at(
    scene: &Scene<'_>,
    thread: ThreadId,
    cpu: Option<Cpu>,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Option<CallPath> {
    before(scene, thread, cpu, at, decoder)?.paths.pop()
}

/// What `thread` did on `cpu` in a short stretch of its flow before `at`; `None` without a trace.
pub(crate) fn before(
    scene: &Scene<'_>,
    thread: ThreadId,
    cpu: Option<Cpu>,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Option<Activity> {
    within(scene, (thread, cpu), &[TscRange::new(at.before(ON_THE_WAY), at)], decoder)
}

/// What `thread` did on `cpu` in short stretches of its flow, one after the other; `None` where one has no trace.
fn within(
    scene: &Scene<'_>,
    (thread, cpu): (ThreadId, Option<Cpu>),
    stretches: &[TscRange],
    decoder: &mut dyn Decode,
) -> Option<Activity> {
    let mut walker = Walker::new(scene.functions, scene.stall_threshold);
    let mut traced = true;
    for &range in stretches {
        walker.switch_in(cpu, range.start);
        let mut sink = OfThread { walker: &mut walker, thread, until: range.stop };
        traced &= decoder.decode(cpu, thread, range, &mut sink);
        walker.switch_out(range.stop);
    }
    let end = stretches.last()?.stop;
    traced.then(|| walker.finish(end))
}

/// The same, with the callers that only a short stretch of its flow after `at` shows: those to which it returns, while it runs.
pub(crate) fn path_with_callers(
    scene: &Scene<'_>,
    thread: ThreadId,
    cpu: Cpu,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Option<CallPath> {
    let stretches = [TscRange::new(at.before(ON_THE_WAY), at), TscRange::new(at, at + ON_THE_WAY)];
    within(scene, (thread, Some(cpu)), &stretches, decoder)?.paths.into_iter().next()
}

/// What `cpu`, where `thread` is, was doing in the kernel up to `at`, by a short stretch of its flow before.
pub(crate) fn work_at(
    scene: &Scene<'_>,
    cpu: Cpu,
    thread: ThreadId,
    at: Tsc,
    decoder: &mut dyn Decode,
) -> Vec<Frame> {
    before(scene, thread, Some(cpu), at, decoder).map_or_else(Vec::new, |activity| activity.frames)
}

fn follow_thread(
    scene: &Scene<'_>,
    mut walker: Walker<'_>,
    (thread, stays): (ThreadId, &[Stay]),
    decoder: &mut dyn Decode,
    followed: &mut Vec<FollowedStay>,
) -> Activity {
    let mut end = Tsc(0);
    let mut was_off = false;
    for stay in stays {
        let Some((cpu, _)) = stay.traced_by() else {
            was_off = true;
            continue;
        };
        walker.switch_in(cpu, stay.range.start);
        let paused = paused_within(scene, stay.range, cpu, Some(thread));
        walker.pauses(paused.into_iter().map(|paused| paused.range).collect());
        if std::mem::take(&mut was_off) {
            walker.scheduled(stay.range.start);
        }
        let mut sink = OfThread { walker: &mut walker, thread, until: stay.range.stop };
        let traced = decoder.decode(cpu, thread, stay.range, &mut sink);
        walker.switch_out(stay.range.stop);
        end = stay.range.stop;
        if cpu.is_some() || traced {
            followed.push(FollowedStay { stay: stay.clone(), traced });
        }
    }
    walker.finish(end)
}

/// Adds what the next thread did; its occurrences are separate.
fn append(whole: &mut Activity, next: Activity) {
    let known = whole.frames.iter().map(|frame| frame.occurrence).max().unwrap_or(0);
    whole.frames.extend(next.frames.into_iter().map(|mut frame| {
        frame.occurrence += known;
        frame
    }));
    whole.kernel.add(next.kernel, known);
    whole.runs.extend(next.runs);
    whole.code.add(next.code);
    whole.stalls.extend(next.stalls);
    whole.strings.extend(next.strings);
    whole.silences.extend(next.silences);
    whole.paths.extend(next.paths);
    whole.switches.extend(next.switches);
    whole.spins.extend(next.spins);
}

/// Passes on what one thread did; what others did on the same CPU is not part of the interval.
struct OfThread<'w, 'a> {
    walker: &'w mut Walker<'a>,
    thread: ThreadId,
    /// The end of the stay: a window may hold the first item after it, which is not the stay's.
    until: Tsc,
}

impl FlowSink for OfThread<'_, '_> {
    fn item(&mut self, item: &pt::FlowItem) -> std::ops::ControlFlow<()> {
        let is_own = item.thread().is_none_or(|thread| thread.tid == self.thread.tid);
        if is_own && item.time().likely < self.until {
            self.walker.item(item);
        }
        std::ops::ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
