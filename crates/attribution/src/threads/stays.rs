//! Where an interval's time lies: which thread's time it is, and on which CPU that thread was, or on none.
//!
//! Input: the interval, its hand-off and the schedule. Output: [`Stay`]s in order that cover the interval's range
//! without holes.

use model::{
    Cpu, FileOffset, Interval, Phase, PhaseKind, ThreadId, Ticks, Tid, TimeConversion, Tsc, TscRange,
};
use perfdata::{LeaveReason, Run, Schedule};

use crate::threads::hand_off::HandOff;

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this CPU.
    OnCpu(Cpu),
    /// On none; it left the last one for this reason.
    OffCpu(LeaveReason),
    /// The records do not show it.
    Unknown,
    /// The interval is a task's, and no thread ran the task.
    NotRun,
}

impl Whereabouts {
    /// The CPU, for time on one.
    pub fn cpu(self) -> Option<Cpu> {
        match self {
            Whereabouts::OnCpu(cpu) => Some(cpu),
            Whereabouts::OffCpu(_) | Whereabouts::Unknown | Whereabouts::NotRun => None,
        }
    }
}

/// A residency: a stretch in which the interval's thread was in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When.
    pub range: TscRange,
    /// The thread whose time it is; `None` where the interval names no thread, and where no thread ran its task.
    pub thread: Option<ThreadId>,
    /// Where.
    pub place: Whereabouts,
    /// The CPU the thread left, for time off-CPU.
    pub left_cpu: Option<Cpu>,
    /// When the thread left it: before the stay's start if the interval began later.
    pub left_at: Option<Tsc>,
    /// How much earlier it may have begun: the record of its begin followed the scheduler's decision.
    pub late: Ticks,
    /// The record that began it.
    pub start_record: Option<FileOffset>,
    /// The record that ended it.
    pub stop_record: Option<FileOffset>,
    /// Where no record shows it: the position in the AUX stream of the left CPU at which the flow shows the switch.
    pub left_by_flow: Option<u64>,
}

impl Stay {
    /// A stay of which only the thread's place is known.
    pub fn new(range: TscRange, thread: Option<ThreadId>, place: Whereabouts) -> Stay {
        Stay {
            range,
            thread,
            place,
            left_cpu: None,
            left_at: None,
            late: Ticks(0),
            start_record: None,
            stop_record: None,
            left_by_flow: None,
        }
    }

    /// The trace that may hold it: that of the CPU, where one is known, or the thread's own. `None` for time off-CPU
    /// and where no thread is known.
    pub fn traced_by(&self) -> Option<(Option<Cpu>, ThreadId)> {
        let is_off = matches!(self.place, Whereabouts::OffCpu(_));
        self.thread.filter(|_| !is_off).map(|thread| (self.place.cpu(), thread))
    }
}

/// The stays of `interval`.
///
/// With two threads the time up to the hand-off is the start thread's, and the rest the stop thread's. The hand-off
/// is the interval's `publish` mark; without one, all of it is the stop thread's. ([`crate::examine()`] also uses the
/// records, and may find a wake-up that shows the hand-off.)
///
/// The interval of a task is of the threads that run it, in turn; between their runs the task is [`Whereabouts::NotRun`].
///
/// Without a conversion the schedule has no trace time, and no thread's place is known.
pub fn stays(interval: &Interval, schedule: &Schedule, conversion: Option<TimeConversion>) -> Vec<Stay> {
    stays_with(interval, HandOff::by_mark(interval).as_ref(), schedule, conversion)
}

/// How many stays [`stays`] makes of `interval` at most, found by bisection: each run of its threads that begins in it is one, so
/// is the time before that run, and so is the rest.
pub fn most_stays(interval: &Interval, schedule: &Schedule, conversion: TimeConversion) -> usize {
    let of_thread = |thread: ThreadId, range: TscRange| {
        let (from, to) = (conversion.to_perf_time(range.start), conversion.to_perf_time(range.stop));
        let runs = schedule.of_thread(thread.tid);
        let begun =
            runs.partition_point(|run| run.start <= to) - runs.partition_point(|run| run.start < from);
        2 * begun + 1
    };
    if !interval.phases.is_empty() {
        let of_phase = |phase: &Phase| match (phase.kind, phase.thread) {
            (PhaseKind::Run, Some(thread)) => of_thread(thread, phase.range),
            _ => 1,
        };
        return interval.phases.iter().map(of_phase).sum();
    }
    let start = interval.start_thread.filter(|&start| Some(start) != interval.stop_thread);
    start.into_iter().chain(interval.stop_thread).map(|thread| of_thread(thread, interval.range)).sum()
}

/// The stays of `interval`, handed over at `hand_off`.
pub(crate) fn stays_with(
    interval: &Interval,
    hand_off: Option<&HandOff>,
    schedule: &Schedule,
    conversion: Option<TimeConversion>,
) -> Vec<Stay> {
    let range = interval.range;
    if !interval.phases.is_empty() {
        let of_phase = |phase: &Phase| stays_of_phase(*phase, schedule, conversion);
        let phases = interval.phases.iter().filter(|phase| !phase.range.is_empty());
        return phases.flat_map(of_phase).collect();
    }
    let (start_thread, stop_thread) = (interval.start_thread, interval.stop_thread);
    let Some(conversion) = conversion else { return vec![unknown(range, stop_thread.or(start_thread))] };
    if let (Some(first), Some(second), Some(hand_off)) = (start_thread, stop_thread, hand_off) {
        let before = TscRange::new(range.start, hand_off.at);
        let mut stays = stays_of_thread(first, before, schedule, conversion);
        stays.extend(stays_of_thread(second, TscRange::new(hand_off.at, range.stop), schedule, conversion));
        return stays;
    }
    match stop_thread.or(start_thread) {
        Some(thread) => stays_of_thread(thread, range, schedule, conversion),
        None => vec![unknown(range, None)],
    }
}

fn stays_of_phase(phase: Phase, schedule: &Schedule, conversion: Option<TimeConversion>) -> Vec<Stay> {
    match (phase.kind, phase.thread, conversion) {
        (PhaseKind::Ready | PhaseKind::Await, ..) => vec![Stay::new(phase.range, None, Whereabouts::NotRun)],
        (PhaseKind::Run, Some(thread), Some(conversion)) => {
            stays_of_thread(thread, phase.range, schedule, conversion)
        }
        (PhaseKind::Run, thread, _) => vec![unknown(phase.range, thread)],
    }
}

/// The stay that holds `at`.
pub(crate) fn stay_at(stays: &[Stay], at: Tsc) -> Option<&Stay> {
    let index = stays.partition_point(|stay| stay.range.stop <= at);
    stays.get(index).filter(|stay| stay.range.contains(at))
}

/// Whether the thread whose time begins `range` leaves its CPU for such a reason in it, or at its end.
pub(crate) fn leaves_within(stays: &[Stay], range: TscRange, such: impl Fn(LeaveReason) -> bool) -> bool {
    left_within(stays, range).any(|(_, reason)| such(reason))
}

/// Its sleeps that begin in `range`.
pub(crate) fn sleeps_within(stays: &[Stay], range: TscRange) -> impl Iterator<Item = &Stay> {
    let slept = |(stay, reason)| matches!(reason, LeaveReason::Slept(_)).then_some(stay);
    left_within(stays, range).filter_map(slept)
}

/// The stays off its CPU of the thread whose time begins `range` that begin in it, or at its end.
fn left_within(stays: &[Stay], range: TscRange) -> impl Iterator<Item = (&Stay, LeaveReason)> {
    let thread = stay_at(stays, range.start).and_then(|stay| stay.thread);
    let from = stays.partition_point(|stay| stay.range.start < range.start);
    let within = stays[from..].iter().take_while(move |stay| stay.range.start <= range.stop);
    within.filter_map(move |stay| match stay.place {
        Whereabouts::OffCpu(reason) if stay.thread == thread => Some((stay, reason)),
        Whereabouts::OffCpu(_) | Whereabouts::OnCpu(_) | Whereabouts::Unknown | Whereabouts::NotRun => None,
    })
}

/// The stays of one thread within `range`.
pub(crate) fn stays_of_thread(
    thread: ThreadId,
    range: TscRange,
    schedule: &Schedule,
    conversion: TimeConversion,
) -> Vec<Stay> {
    let mut stays = Vec::new();
    let mut position = range.start;
    let mut left: Option<Left<'_>> = None;
    for run in runs_from(schedule, thread.tid, range.start, conversion) {
        let on = TscRange::new(conversion.to_tsc(run.start), conversion.to_tsc(run.stop));
        if on.start >= range.stop {
            push(&mut stays, absent(TscRange::new(position, range.stop), thread, left, run.start_record));
            return stays;
        }
        if on.stop > position {
            let before = TscRange::new(position, on.start.max(position));
            push(&mut stays, absent(before, thread, left, run.start_record));
            let inside = TscRange::new(before.stop, on.stop.min(range.stop));
            push(
                &mut stays,
                present(inside, thread, run, late_of(inside.start, on.start, run.start_late_ns, conversion)),
            );
            position = inside.stop;
        }
        left = Some(Left { run, at: on.stop, late: conversion.ns_to_ticks(run.stop_late_ns) });
    }
    push(&mut stays, absent(TscRange::new(position, range.stop), thread, left, None));
    stays
}

/// The CPU on which `thread` is at `at`, where the records show it.
pub(crate) fn cpu_at(
    schedule: &Schedule,
    thread: ThreadId,
    at: Tsc,
    conversion: TimeConversion,
) -> Option<Cpu> {
    let moment = TscRange::new(at, at + Ticks(1));
    stays_of_thread(thread, moment, schedule, conversion).first().and_then(|stay| stay.place.cpu())
}

/// The runs of thread `tid` from the last one that begins at or before `at`.
fn runs_from(
    schedule: &Schedule,
    tid: Tid,
    at: Tsc,
    conversion: TimeConversion,
) -> impl Iterator<Item = &Run> {
    let time = conversion.to_perf_time(at);
    let runs = schedule.of_thread(tid);
    let later = runs.partition_point(|run| run.start <= time);
    runs.skip(later.saturating_sub(1))
}

/// Which threads were on `cpu` within `range`, including the idle task, and when.
pub fn runs_on(
    schedule: &Schedule,
    cpu: Cpu,
    range: TscRange,
    conversion: TimeConversion,
) -> impl Iterator<Item = (ThreadId, TscRange)> {
    let from = conversion.to_perf_time(range.start);
    let runs = schedule.on_cpu(cpu);
    let later = runs.partition_point(|run| run.start <= from);
    runs.skip(later.saturating_sub(1))
        .map(move |run| {
            (run.thread, TscRange::new(conversion.to_tsc(run.start), conversion.to_tsc(run.stop)))
        })
        .take_while(move |(_, on)| on.start < range.stop)
        .filter_map(move |(thread, on)| Some((thread, on.intersection(range)?)))
}

/// How much earlier a stay that begins at `start` may have begun: zero where the interval cuts it off.
fn late_of(start: Tsc, switched: Tsc, late_ns: u64, conversion: TimeConversion) -> Ticks {
    if start == switched { conversion.ns_to_ticks(late_ns) } else { Ticks(0) }
}

fn present(range: TscRange, thread: ThreadId, run: &Run, late: Ticks) -> Stay {
    Stay {
        late,
        start_record: run.start_record,
        stop_record: run.stop_record,
        ..Stay::new(range, Some(thread), Whereabouts::OnCpu(run.cpu))
    }
}

/// The run after which a thread is absent.
#[derive(Clone, Copy)]
struct Left<'a> {
    run: &'a Run,
    at: Tsc,
    late: Ticks,
}

fn absent(
    range: TscRange,
    thread: ThreadId,
    left: Option<Left<'_>>,
    stop_record: Option<FileOffset>,
) -> Stay {
    match left {
        Some(Left { run, at, late }) if run.leave != LeaveReason::Unknown => Stay {
            left_cpu: Some(run.cpu),
            left_at: Some(at),
            late: if at == range.start { late } else { Ticks(0) },
            start_record: run.stop_record,
            stop_record,
            ..Stay::new(range, Some(thread), Whereabouts::OffCpu(run.leave))
        },
        _ => unknown(range, Some(thread)),
    }
}

fn unknown(range: TscRange, thread: Option<ThreadId>) -> Stay {
    Stay::new(range, thread, Whereabouts::Unknown)
}

fn push(stays: &mut Vec<Stay>, stay: Stay) {
    if !stay.range.is_empty() {
        stays.push(stay);
    }
}
