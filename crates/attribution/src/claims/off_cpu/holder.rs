//! Who kept the thread that ended a wait for a lock off its CPU: with priorities, an inversion of these shows.
//!
//! Input: the thread that woke the waiting one, the schedule, `sched_switch` records' priorities. Output: words. Only
//! time in which that thread could run counts.

use std::cmp::Reverse;
use std::fmt::Write as _;

use model::{Cpu, ThreadId, Tsc, TscRange};
use perfdata::{LeaveReason, Priority};

use crate::claims::lengths::tell_ns;
use crate::claims::off_cpu::context::Context;

/// A part of the wait below this is not worth a word: a tenth.
const LEAST: u64 = 10;

/// "the waking thread was kept off CPU 0 for 236.0 us by hog (tid 9, real-time priority 10)", where that was a tenth of `wait` or more.
pub(super) fn kept_off(
    holder: ThreadId,
    waiter: Option<ThreadId>,
    wait: TscRange,
    context: &Context<'_>,
) -> Option<String> {
    let mut kept: Vec<(ThreadId, Cpu, u64)> = Vec::new();
    for (cpu, runnable) in runnable_within(holder, wait, context) {
        for (thread, ns) in context.others_within(cpu, runnable, Some(holder)) {
            match kept.iter_mut().find(|(known, at, _)| (known.tid, *at) == (thread.tid, cpu)) {
                Some((.., total)) => *total += ns,
                None => kept.push((thread, cpu, ns)),
            }
        }
    }
    kept.sort_by_key(|&(thread, cpu, ns)| (Reverse(ns), thread, cpu));
    let &(hog, cpu, ns) = kept.first()?;
    if ns < context.conversion.duration_ns(wait) / LEAST {
        return None;
    }
    let who = with_priority(hog, wait.stop, context);
    let mut told = format!("the waking thread was kept off CPU {cpu} for {} by {who}", tell_ns(ns));
    let priority = |thread: ThreadId| priority_of(thread, wait.stop, context);
    if let (Some(waiting), Some(of_hog), Some(held_by)) =
        (waiter.and_then(priority), priority(hog), priority(holder))
        && waiting < of_hog
        && of_hog < held_by
    {
        let inversion = "priority inversion, for the waiting thread has";
        let _ = write!(told, ": {inversion} {waiting}, the waking one {held_by}");
    }
    Some(told)
}

fn with_priority(thread: ThreadId, at: Tsc, context: &Context<'_>) -> String {
    let named = context.named(thread, at);
    let Some(priority) = priority_of(thread, at, context) else { return named };
    match named.strip_suffix(')') {
        Some(open) => format!("{open}, {priority})"),
        None => format!("{named} ({priority})"),
    }
}

/// Where in `wait` `thread` could run and did not, and on which CPU's run queue: after a preemption on that of the CPU
/// that it left; after a wake-up on that of the CPU on which it runs next.
fn runnable_within(thread: ThreadId, wait: TscRange, context: &Context<'_>) -> Vec<(Cpu, TscRange)> {
    let at = |time| context.conversion.to_tsc(time);
    let runs = context.scene.schedule.of_thread(thread.tid);
    let later = runs.partition_point(|run| at(run.start) <= wait.start);
    let within: Vec<_> =
        runs.skip(later.saturating_sub(1)).take_while(|run| at(run.start) < wait.stop).collect();
    let mut queued = Vec::new();
    for (index, run) in within.iter().enumerate() {
        let next = within.get(index + 1);
        let away = TscRange::new(at(run.stop), next.map_or(wait.stop, |next| at(next.start)));
        let (cpu, from) = match run.leave {
            LeaveReason::Preempted => (run.cpu, away.start),
            LeaveReason::Slept(_) => {
                let woken = context.sideband.wakings(thread.tid, away).next();
                let Some((woken, next)) = woken.zip(next) else { continue };
                (next.cpu, woken.time)
            }
            LeaveReason::Exited | LeaveReason::Unknown => continue,
        };
        queued.extend(TscRange::new(from, away.stop).intersection(wait).map(|range| (cpu, range)));
    }
    queued
}

/// The last known priority of a thread, from the runs around a time.
fn priority_of(thread: ThreadId, at: Tsc, context: &Context<'_>) -> Option<Priority> {
    /// How many runs before are searched.
    const SEARCHED: usize = 16;
    let runs = context.scene.schedule.of_thread(thread.tid);
    let later = runs.partition_point(|run| context.conversion.to_tsc(run.start) <= at);
    let from = later.saturating_sub(SEARCHED);
    let before: Vec<_> = runs.skip(from).take(later - from + 1).collect();
    before.iter().rev().find_map(|run| run.priority)
}

#[cfg(test)]
mod tests;
