//! The absences of an interval's threads from their CPUs. Below the longest waits: what the waker was doing, as the
//! same partition clipped to the wait. For a thread, this is its own time, and so on for its own waits
//! ([`Examination::below`]). For an interrupt, it is the interrupt's work, and before it the device or timer that
//! caused it.

use std::cmp::Reverse;
use std::sync::Arc;

use model::{ThreadId, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;

use super::during::WAITS;
use super::examination::Examination;
use super::interrupts;
use super::queued_writers::queued_writer;
use super::runners;
use super::serving::Serving;
use super::spins::others;
use crate::claims::claim::Claim;
use crate::claims::off_cpu::absence::{Absence, claims_of_stay};
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::futex::awaits_gil;
use crate::claims::off_cpu::goroutine::Goroutine;
use crate::claims::off_cpu::pool::PoolJob;
use crate::claims::off_cpu::wait::{takes_lock, wait_of};
use crate::inputs::scene::Scene;
use crate::tables::goroutines::goes_to_goroutine;
use crate::threads::follow::{path_at, work_at};
use crate::threads::stays::{Stay, Whereabouts};
use crate::threads::wakeup::Wakeup;
use crate::walk::activity::Activity;
use crate::walk::call_path::CallPath;

/// The claims of all stays off CPUs.
pub(super) fn off_cpu_claims(examination: &mut Examination<'_>) -> Vec<Claim> {
    let Examination { scene, stays, sideband, activity, .. } = *examination;
    let Some(context) = Context::new(scene, sideband, &activity.frames) else { return Vec::new() };
    let mut absences: Vec<Absence> = stays.iter().map(|stay| begin(examination, stay)).collect();
    for index in longest_waits(stays, &absences) {
        follow(examination, &stays[index], &mut absences[index], &context);
    }
    let numbered = stays.iter().zip(absences).enumerate();
    let mut claims: Vec<Claim> = numbered
        .flat_map(|(index, (stay, absence))| claims_of_stay(stay, index as u64, absence, &context))
        .collect();
    if examination.during.is_thorough() {
        runners::name_what_ran(&mut claims, |range, thread| examination.ran(range, thread));
    }
    claims
}

/// What is known about a stay off the CPU without following another thread.
fn begin(examination: &mut Examination<'_>, stay: &Stay) -> Absence {
    let Whereabouts::OffCpu(reason) = stay.place else { return Absence::default() };
    let slept = matches!(reason, LeaveReason::Slept(_));
    let wakeup =
        if slept { Wakeup::of(stay, examination.sideband, examination.scene.functions) } else { None };
    let left = left_from(examination, stay);
    let goroutine = left.as_ref().filter(|_| slept).and_then(|left| {
        let resumed = examination.during.is_below_a_wait().then(|| resumed(examination, stay.range.stop));
        Goroutine::of(left, resumed.as_deref())
    });
    Absence { left, goroutine, wakeup, ..Absence::default() }
}

/// How many runs of user code after a sleep may show with what the thread goes on.
const RESUMED: usize = 4096;

/// The functions that the goroutine ran which runs from `at` on, up to the first one of the program itself.
fn resumed<'a>(examination: &Examination<'a>, at: Tsc) -> Vec<&'a str> {
    let Activity { runs, code, .. } = examination.activity;
    let later = &runs[runs.partition_point(|run| run.range.start < at)..];
    let ran = later.iter().take(RESUMED).filter_map(|run| code.nodes.get(&run.node));
    let mut functions = Vec::new();
    for node in ran {
        if goes_to_goroutine(&node.function) {
            functions.clear();
        }
        functions.push(&*node.function);
        if !node.is_library() {
            break;
        }
    }
    functions
}

/// Where the thread was when it left for `stay`: by its flow before, else by the callchain of the switch record, else by that of a sample
/// of `perf record --off-cpu`.
fn left_from(examination: &mut Examination<'_>, stay: &Stay) -> Option<CallPath> {
    let Examination { scene, sideband, activity, .. } = *examination;
    let (thread, left_at) = (stay.thread?, stay.left_at?);
    let by_flow = if left_at < stay.range.start {
        path_at(scene, thread, stay.left_cpu, left_at, examination.decoder)
    } else {
        CallPath::at_end(&activity.paths, left_at).cloned()
    };
    by_flow.filter(|path| !path.is_empty()).or_else(|| {
        let of_switch = stay.start_record.and_then(|record| sideband.callchain(record, left_at));
        let chain = of_switch.filter(|chain| !chain.is_empty()).or_else(|| {
            let middle = left_at + Ticks(stay.range.stop.since(left_at).0 / 2);
            sideband.off_cpu_chain(thread.tid, middle, scene.conversion?)
        })?;
        Some(CallPath::of_callchain(chain, thread.pid, left_at, scene.functions))
    })
}

/// The waits that are followed, by index, longest first.
fn longest_waits(stays: &[Stay], absences: &[Absence]) -> Vec<usize> {
    let mut waits: Vec<usize> = (0..stays.len()).filter(|&index| absences[index].wakeup.is_some()).collect();
    waits.sort_by_key(|&index| Reverse(wait_range(&stays[index], &absences[index]).ticks()));
    waits.truncate(WAITS);
    waits
}

fn wait_range(stay: &Stay, absence: &Absence) -> TscRange {
    let stop = absence.wakeup.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    TscRange::new(stay.range.start, stop)
}

/// Finds what took place during the wait of `stay`, and where its waker was.
fn follow(examination: &mut Examination<'_>, stay: &Stay, absence: &mut Absence, context: &Context<'_>) {
    let range = wait_range(stay, absence);
    let Some(mut wakeup) = absence.wakeup.clone().filter(|_| !range.is_empty()) else { return };
    if examination.during.is_open() {
        wakeup.ask_flow(examination.scene, examination.decoder);
    }
    let mut flow = None;
    absence.holder =
        stay.thread.and_then(|thread| likely_holder(range, thread, absence, &wakeup, context.scene));
    if let Some(holder) = absence.holder {
        if let Some(below) = examination.below(range, holder) {
            (absence.during, absence.below) = (below.segments, Some(Arc::new(below.hot)));
        }
    } else if let Some(thread) = wakeup.thread() {
        if let Some(below) = examination.below(range, thread) {
            (absence.during, flow) = (below.segments, below.path);
            absence.below = Some(Arc::new(below.hot));
            if let Some(serving) = Serving::of(thread, range, wakeup.recorded_at, examination.sideband) {
                let name = |client| examination.scene.comms.comm(client, range.stop);
                serving.mark(&mut absence.during, range, name);
            }
        }
    } else if wakeup.interrupt().is_some() && examination.during.take() {
        let Whereabouts::OffCpu(LeaveReason::Slept(state)) = stay.place else { return };
        let mut wait = wait_of(stay, state, absence.left.as_ref(), Some(&wakeup), context);
        if let Some(goroutine) = &absence.goroutine {
            goroutine.correct(&mut wait);
        }
        absence.during = interrupts::segments(range, &wakeup, &wait, context.sideband);
        if let (Some(cpu), Some(thread)) = (wakeup.cpu, wakeup.waker) {
            interrupts::name_timers(&mut absence.during, || {
                work_at(examination.scene, cpu, thread, wakeup.recorded_at, examination.decoder)
            });
        }
    }
    if examination.during.is_open()
        && let (Some(left), Some(left_at)) = (&absence.left, stay.left_at)
        && let Some(writer) = queued_writer(examination, stay, left)
    {
        let waited = TscRange::new(writer.since, left_at);
        let (named, waited) = (context.named(writer.thread, writer.since), context.microseconds(waited));
        absence.said =
            Some(format!("queued after the writer {named}, which had waited for it for {waited} then"));
        absence.queued_after = Some(examination.scene.comms.comm(writer.thread, writer.since));
    }
    absence.waker = wakeup.path(flow, examination.scene.functions);
    absence.job = PoolJob::of(stay, &wakeup, absence.waker.as_ref(), examination.sideband);
    absence.wakeup = Some(wakeup);
}

/// The thread that may have held the lock for which this one waited in `range`, where a timer ended the wait and so no thread did. Of `CPython`'s
/// interpreter lock: a thread asks the holder for it each switch interval and goes on waiting. The holder is the one thread of the
/// process that ran for most of that time; one that runs code of a library may do without the lock, so that two cannot be distinguished.
/// Of a lock whose waiters sleep between their attempts, which may be let go long before the sleep is over: the one that ran longest around
/// the last attempt, if no other ran half as long.
fn likely_holder(
    range: TscRange,
    thread: ThreadId,
    absence: &Absence,
    wakeup: &Wakeup,
    scene: &Scene<'_>,
) -> Option<ThreadId> {
    let left = absence.left.as_ref().filter(|_| wakeup.came_by_timer())?;
    if takes_lock(left) {
        let near = range.ticks().0 / 10;
        let near = TscRange::new(Tsc(range.start.0.saturating_sub(near)), range.start + Ticks(near));
        let mut ran: Vec<_> = others(scene, thread, near).into_iter().collect();
        ran.sort_by_key(|&(thread, ticks)| (Reverse(ticks), thread));
        let second = ran.get(1).map_or(0, |(_, ticks)| ticks.0);
        return ran.first().filter(|(_, ticks)| ticks.0 / 2 >= second).map(|&(holder, _)| holder);
    }
    let mut most =
        others(scene, thread, range).into_iter().filter(|(_, ticks)| ticks.0 > range.ticks().0 / 2);
    let (holder, _) = most.next().filter(|_| awaits_gil(left))?;
    most.next().is_none().then_some(holder)
}

#[cfg(test)]
mod tests;
