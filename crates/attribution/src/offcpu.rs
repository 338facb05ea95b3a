//! Time off the CPU as claims: preempted by whom, waiting for what and woken by whom, runnable until switched in.
//!
//! Input: the stays of the interval's thread, the schedule and the sched records. Edges are those of the switch and
//! wake-up records, so these claims are measured.

use std::cmp::Reverse;

use model::{Cause, Certainty, Cpu, Evidence, OffCpu, ThreadId, Tid, TimeConversion, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};

use crate::claim::Claim;
use crate::entries::UNNAMED_SYSCALL;
use crate::kernel;
use crate::precedence::Rank;
use crate::sideband::{EventKind, Sideband, SidebandEvent};
use crate::syscalls::{self, Object};
use crate::timeline::{Stay, Whereabouts, first_later};
use crate::walk::Frame;

/// Names threads.
pub trait Comms: Sync {
    /// The command name of `thread` at `at`, or its number.
    fn comm(&self, thread: ThreadId, at: Tsc) -> String;
}

/// A wake-up found for a wait: who did it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wakeup {
    /// When.
    pub(crate) at: Tsc,
    /// The thread in whose context it happened; unknown where only the woken CPU tells of it.
    pub(crate) waker: Option<ThreadId>,
    /// What that context was serving, where it was an interrupt.
    pub(crate) interrupt: Option<Cause>,
    /// The record.
    pub(crate) evidence: Evidence,
}

/// What the claims need to know.
pub(crate) struct Context<'a> {
    /// The schedule.
    pub(crate) schedule: &'a Schedule,
    /// The clock.
    pub(crate) conversion: TimeConversion,
    /// The sideband around the interval.
    pub(crate) sideband: &'a Sideband,
    /// System calls of the thread's flow, in order of time.
    pub(crate) calls: Vec<&'a Frame>,
    /// Names.
    pub(crate) comms: &'a dyn Comms,
}

/// The system calls among `frames`, in order of time.
pub(crate) fn calls_of(frames: &[Frame]) -> Vec<&Frame> {
    let is_call = |frame: &&Frame| matches!(&frame.cause, Cause::Syscall(_));
    let mut calls: Vec<&Frame> = frames.iter().filter(is_call).collect();
    calls.sort_by_key(|frame| frame.range.start);
    calls
}

/// The claims of one stay off the CPU; empty for any other stay. `occurrence` numbers the stay.
pub(crate) fn claims_of_stay(stay: &Stay, occurrence: u64, context: &Context<'_>) -> Vec<Claim> {
    let Whereabouts::OffCpu(reason) = stay.place else { return Vec::new() };
    let mut claims = match reason {
        LeaveReason::Preempted => vec![preempted(stay, context)],
        LeaveReason::Slept(state) => waited(stay, state, context),
        LeaveReason::Exited | LeaveReason::Unknown => Vec::new(),
    };
    claims.retain(|claim| !claim.range().is_empty());
    for claim in &mut claims {
        claim.occurrence = occurrence;
        claim.evidence.extend(switch_records(stay));
    }
    claims
}

/// The wake-up that ended the wait of `stay`, if a record tells.
pub(crate) fn wakeup(stay: &Stay, sideband: &Sideband) -> Option<Wakeup> {
    let event = sideband.wakings(stay.thread?.tid, stay.range).next()?;
    let by_waker = matches!(event.kind, EventKind::Waking { by_waker: true, .. });
    let interrupt = event.cpu.and_then(|cpu| sideband.interrupt_at(cpu, event.time));
    Some(Wakeup {
        at: event.time,
        waker: event.thread.filter(|thread| by_waker || !thread.is_idle()),
        interrupt: interrupt.filter(|_| by_waker).map(|begun| kernel::cause(&begun.kind)),
        evidence: Evidence::record(event.offset, event.cpu, kernel::describe(&event.kind)),
    })
}

fn preempted(stay: &Stay, context: &Context<'_>) -> Claim {
    let cause = Cause::OffCpu(OffCpu::Preempted);
    let mut claim = Claim::new(stay.range, Rank::OffCpu, cause, Certainty::Measured);
    if let Some(cpu) = stay.left_cpu {
        claim.say(&who_ran(cpu, stay.range, context));
    }
    claim
}

/// "by comp-cfs (tid 122) for 1024.0 us, …": the threads that ran on `cpu` during `range`, longest first.
fn who_ran(cpu: Cpu, range: TscRange, context: &Context<'_>) -> String {
    let (schedule, conversion) = (context.schedule, context.conversion);
    let from = conversion.to_perf_time(range.start);
    let later = first_later(schedule.on_cpu(cpu).len(), |index| {
        schedule.on_cpu(cpu).nth(index).is_some_and(|run| run.start > from)
    });
    let mut ran: Vec<(ThreadId, u64)> = Vec::new();
    for run in schedule.on_cpu(cpu).skip(later.saturating_sub(1)) {
        let on = TscRange::new(conversion.to_tsc(run.start), conversion.to_tsc(run.stop));
        if on.start >= range.stop {
            break;
        }
        let Some(inside) = on.intersection(range) else { continue };
        let ns = conversion.duration_ns(inside);
        match ran.iter_mut().find(|(thread, _)| *thread == run.thread) {
            Some((_, total)) => *total += ns,
            None => ran.push((run.thread, ns)),
        }
    }
    ran.sort_by_key(|&(thread, ns)| (Reverse(ns), thread));
    let names: Vec<String> = ran
        .iter()
        .take(3)
        .map(|&(thread, ns)| {
            let who = named(thread, range.start, context);
            format!("{who} for {}.{} us", ns / 1000, ns / 100 % 10)
        })
        .collect();
    if names.is_empty() { String::new() } else { format!("by {} on CPU {cpu}", names.join(", ")) }
}

fn named(thread: ThreadId, at: Tsc, context: &Context<'_>) -> String {
    format!("{} (tid {})", context.comms.comm(thread, at), thread.tid)
}

fn waited(stay: &Stay, state: Option<char>, context: &Context<'_>) -> Vec<Claim> {
    let call = call_of(stay, context);
    let kind = wait_kind(call.as_ref().map(|call| call.name.as_str()), state);
    let found = wakeup(stay, context.sideband);
    let woken_at = found.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    let wait = TscRange::new(stay.range.start, woken_at);
    let mut claim = Claim::new(wait, Rank::OffCpu, Cause::OffCpu(kind), Certainty::Measured);
    if let Some(call) = &call {
        claim.say(&call.tell());
        claim.evidence.extend(call.record.clone());
    }
    let mut claims = Vec::new();
    if let Some(wakeup) = found {
        let by = woken_by(&wakeup, context);
        claim.say(&by);
        claim.evidence.push(wakeup.evidence.clone());
        let queue = TscRange::new(woken_at, stay.range.stop);
        let cause = Cause::OffCpu(OffCpu::Runnable);
        let mut runnable = Claim::new(queue, Rank::OffCpu, cause, Certainty::Measured);
        runnable.say(&by);
        runnable.evidence.push(wakeup.evidence);
        claims.extend(idle_exit(stay, queue, context));
        claims.push(runnable);
    } else if context.sideband.events().iter().all(|event| !matches!(event.kind, EventKind::Waking { .. })) {
        claim.say("the capture has no wake-up records: waiting and run-queue time together");
    }
    claims.push(claim);
    claims
}

fn woken_by(wakeup: &Wakeup, context: &Context<'_>) -> String {
    match (&wakeup.interrupt, wakeup.waker) {
        (Some(interrupt), _) => format!("woken by {interrupt}"),
        (None, Some(thread)) if thread.is_idle() => "woken from the idle task".into(),
        (None, Some(thread)) => {
            let who = named(thread, wakeup.at, context);
            let call = context.sideband.call_at(thread.tid, wakeup.at).and_then(Call::of_record);
            call.map_or_else(|| format!("woken by {who}"), |call| format!("woken by {who} {}", call.tell()))
        }
        (None, None) => String::new(),
    }
}

/// From the wake-up to the `cpu_idle` record by which the woken CPU says that it is awake.
fn idle_exit(stay: &Stay, queue: TscRange, context: &Context<'_>) -> Option<Claim> {
    let cpu = next_cpu(stay.thread?.tid, queue.start, context)?;
    let (entered, awake) = context.sideband.idle_exit(cpu, queue)?;
    let EventKind::Idle { state: Some(state) } = entered.kind else { return None };
    let range = TscRange::new(queue.start.max(entered.time), awake.time);
    let cause = Cause::CStateExit(state_name(state));
    let mut claim = Claim::new(range, Rank::IdleExit, cause, Certainty::Measured);
    claim.cpu = Some(cpu);
    claim.say(&format!("CPU {cpu} was idle"));
    claim.evidence = [entered, awake]
        .map(|event| Evidence::record(event.offset, event.cpu, kernel::describe(&event.kind)))
        .to_vec();
    Some(claim)
}

/// The CPU on which thread `tid` runs next.
fn next_cpu(tid: Tid, at: Tsc, context: &Context<'_>) -> Option<Cpu> {
    let from = context.conversion.to_perf_time(at);
    let schedule = context.schedule;
    let next = first_later(schedule.of_thread(tid).len(), |index| {
        schedule.of_thread(tid).nth(index).is_some_and(|run| run.start >= from)
    });
    schedule.of_thread(tid).nth(next).map(|run| run.cpu)
}

/// The cpuidle state's index as a name: the deeper states' real names are the driver's and not in the record.
fn state_name(state: u32) -> String {
    if state == 0 { "POLL".into() } else { format!("C{state}") }
}

/// A system call in which a thread was.
struct Call {
    name: String,
    object: Option<Object>,
    record: Option<Evidence>,
}

impl Call {
    fn of_record(event: &SidebandEvent) -> Option<Call> {
        let EventKind::Syscall { number, first_argument } = event.kind else { return None };
        let name = syscalls::name(number);
        let object = first_argument.and_then(|argument| syscalls::object(&name, argument));
        let record = Some(Evidence::record(event.offset, event.cpu, kernel::describe(&event.kind)));
        Some(Call { name, object, record })
    }

    fn tell(&self) -> String {
        match &self.object {
            Some(object) => format!("in {}() on {object}", self.name),
            None => format!("in {}()", self.name),
        }
    }
}

/// The system call the thread was in when it left: by its last `sys_enter`, which tells the object too, else by the
/// flow's frame. Where the two contradict each other, a record is missing and the flow is right.
fn call_of(stay: &Stay, context: &Context<'_>) -> Option<Call> {
    let left_at = stay.left_at.unwrap_or(stay.range.start);
    let by_record = stay.thread.and_then(|thread| context.sideband.call_at(thread.tid, left_at));
    let by_record = by_record.and_then(Call::of_record);
    let later = context.calls.partition_point(|frame| frame.range.start < stay.range.start);
    let open = context.calls[..later].last().filter(|frame| frame.range.stop >= stay.range.start);
    match open.map(|frame| &frame.cause) {
        Some(Cause::Syscall(name)) if name != UNNAMED_SYSCALL => by_record
            .filter(|call| call.name == *name)
            .or_else(|| Some(Call { name: name.clone(), object: None, record: None })),
        _ => by_record,
    }
}

/// What a thread waits for that sleeps in `call` with task state `state`.
fn wait_kind(call: Option<&str>, state: Option<char>) -> OffCpu {
    match call {
        _ if state == Some('D') => OffCpu::BlockIo,
        Some("futex" | "futex_wait" | "futex_waitv" | "futex_requeue") => OffCpu::Lock,
        Some("nanosleep" | "clock_nanosleep") => OffCpu::Sleep,
        Some("poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2") => {
            OffCpu::Poll
        }
        Some(
            "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "accept" | "accept4"
            | "connect",
        ) => OffCpu::Socket,
        Some("fsync" | "fdatasync" | "syncfs" | "sync" | "sync_file_range" | "msync" | "io_getevents") => {
            OffCpu::BlockIo
        }
        _ => OffCpu::Other,
    }
}

fn switch_records(stay: &Stay) -> impl Iterator<Item = Evidence> {
    let out = stay.start_record.map(|offset| Evidence::record(offset, stay.left_cpu, "switched out"));
    let back = stay.stop_record.map(|offset| Evidence::record(offset, None, "switched in"));
    out.into_iter().chain(back)
}

#[cfg(test)]
mod tests;
