//! Time off the CPU as claims: preempted by whom, waiting for what and woken by whom, runnable until switched in.
//!
//! Input: the stays of the interval's thread, the schedule and the sched records. Edges are those of the switch and
//! wake-up records, so these claims are measured.

use model::{Cause, Certainty, Cpu, Evidence, OffCpu, ThreadId, TimeConversion, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};

use crate::claim::Claim;
use crate::precedence::Rank;
use crate::sideband::{EventKind, Side, SidebandEvent};
use crate::syscalls;
use crate::timeline::{Stay, Whereabouts};
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
    /// The thread in whose context it happened.
    pub(crate) waker: Option<ThreadId>,
    /// What that context was serving, where it was an interrupt.
    pub(crate) interrupt: Option<String>,
}

/// What the claims need to know.
pub(crate) struct Context<'a> {
    /// The schedule.
    pub(crate) schedule: &'a Schedule,
    /// The clock.
    pub(crate) conversion: TimeConversion,
    /// The sideband around the interval.
    pub(crate) events: &'a [SidebandEvent],
    /// Kernel frames of the thread's flow: which system call it slept in.
    pub(crate) frames: &'a [Frame],
    /// Names.
    pub(crate) comms: &'a dyn Comms,
}

/// The claims of one stay off the CPU; empty for any other stay. `occurrence` numbers the stay.
pub(crate) fn claims_of_stay(stay: &Stay, occurrence: u64, context: &Context<'_>) -> Vec<Claim> {
    let Whereabouts::OffCpu(reason) = stay.place else { return Vec::new() };
    let mut claims = match reason {
        LeaveReason::Preempted => vec![preempted(stay, context)],
        LeaveReason::Slept(state) => waited(stay, state, context),
        LeaveReason::Exited | LeaveReason::Unknown => Vec::new(),
    };
    for claim in &mut claims {
        claim.occurrence = occurrence;
        claim.evidence.extend(switch_records(stay));
    }
    claims
}

/// The wake-up that ended the wait of `stay`, if a record tells.
pub(crate) fn wakeup(stay: &Stay, events: &[SidebandEvent]) -> Option<(Wakeup, Evidence)> {
    let tid = stay.thread?.tid;
    let index = events.iter().position(|event| {
        event.kind == (EventKind::Waking { target: tid })
            && event.time >= stay.range.start
            && event.time < stay.range.stop
    })?;
    let event = &events[index];
    let interrupt = event.cpu.and_then(|cpu| interrupt_open_at(cpu, event.time, &events[..index]));
    let wakeup = Wakeup { at: event.time, waker: event.thread, interrupt };
    Some((wakeup, Evidence::record(event.offset, event.cpu, format!("sched_waking of {tid}"))))
}

/// The interrupt or softirq that `cpu` was serving at `at`: begun before and not ended.
fn interrupt_open_at(cpu: Cpu, at: Tsc, earlier: &[SidebandEvent]) -> Option<String> {
    let mut ended = Vec::new();
    for event in earlier.iter().rev().filter(|event| event.cpu == Some(cpu) && event.time <= at) {
        let name = match &event.kind {
            EventKind::Irq { number, .. } => format!("irq {number}"),
            EventKind::Softirq { vector } => format!("softirq {}", crate::entries::softirq_name(*vector)),
            EventKind::Vector { name } => name.clone(),
            _ => continue,
        };
        match event.side {
            Side::End => ended.push(name),
            Side::Begin => match ended.iter().position(|other| *other == name) {
                Some(index) => {
                    ended.swap_remove(index);
                }
                None => return Some(name),
            },
        }
    }
    None
}

fn preempted(stay: &Stay, context: &Context<'_>) -> Claim {
    let cause = Cause::OffCpu(OffCpu::Preempted);
    let mut claim = Claim::new(stay.range, Rank::OffCpu, cause, Certainty::Measured);
    claim.detail = stay.left_cpu.map_or_else(String::new, |cpu| who_ran(cpu, stay.range, context));
    claim
}

/// "by comp-cfs (tid 122) 1.024 ms, …": the threads that ran on `cpu` during `range`, longest first.
fn who_ran(cpu: Cpu, range: TscRange, context: &Context<'_>) -> String {
    let mut ran: Vec<(ThreadId, u64)> = Vec::new();
    for run in context.schedule.on_cpu(cpu) {
        let on = TscRange::new(context.conversion.to_tsc(run.start), context.conversion.to_tsc(run.stop));
        let Some(inside) = on.intersection(range) else { continue };
        let ns = context.conversion.duration_ns(inside);
        match ran.iter_mut().find(|(thread, _)| *thread == run.thread) {
            Some((_, total)) => *total += ns,
            None => ran.push((run.thread, ns)),
        }
    }
    ran.sort_by_key(|&(thread, ns)| (std::cmp::Reverse(ns), thread));
    let names: Vec<String> = ran
        .iter()
        .take(3)
        .map(|&(thread, ns)| {
            let microseconds = format!("{}.{} us", ns / 1000, ns / 100 % 10);
            format!("{} (tid {}) for {microseconds}", context.comms.comm(thread, range.start), thread.tid)
        })
        .collect();
    if names.is_empty() { String::new() } else { format!("by {} on CPU {cpu}", names.join(", ")) }
}

fn waited(stay: &Stay, state: Option<char>, context: &Context<'_>) -> Vec<Claim> {
    let call = syscall_at(stay, context);
    let kind = wait_kind(call.as_deref(), state);
    let found = wakeup(stay, context.events);
    let woken_at = found.as_ref().map_or(stay.range.stop, |(wakeup, _)| wakeup.at);
    let wait = TscRange::new(stay.range.start, woken_at);
    let mut claim = Claim::new(wait, Rank::OffCpu, Cause::OffCpu(kind), Certainty::Measured);
    claim.detail = call.map_or_else(String::new, |name| format!("in {name}()"));
    let mut claims = Vec::new();
    if let Some((wakeup, evidence)) = found {
        let by = woken_by(&wakeup, context);
        claim.detail =
            [claim.detail, by].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        claim.evidence.push(evidence.clone());
        let queue = TscRange::new(woken_at, stay.range.stop);
        let mut runnable =
            Claim::new(queue, Rank::OffCpu, Cause::OffCpu(OffCpu::Runnable), Certainty::Measured);
        runnable.evidence.push(evidence);
        claims.extend(idle_exit(stay, queue, context));
        claims.push(runnable);
    }
    claims.push(claim);
    claims.retain(|claim| !claim.range.is_empty());
    claims
}

fn woken_by(wakeup: &Wakeup, context: &Context<'_>) -> String {
    match (&wakeup.interrupt, wakeup.waker) {
        (Some(interrupt), _) => format!("woken by {interrupt}"),
        (None, Some(thread)) if thread.is_idle() => "woken from the idle task".into(),
        (None, Some(thread)) => {
            format!("woken by {} (tid {})", context.comms.comm(thread, wakeup.at), thread.tid)
        }
        (None, None) => String::new(),
    }
}

/// From the wake-up to the `cpu_idle` record by which the woken CPU says that it is awake.
fn idle_exit(stay: &Stay, queue: TscRange, context: &Context<'_>) -> Option<Claim> {
    let tid = stay.thread?.tid;
    let next =
        context.schedule.of_thread(tid).find(|run| context.conversion.to_tsc(run.start) >= queue.start)?;
    let awake = context.events.iter().position(|event| {
        event.cpu == Some(next.cpu)
            && event.kind == (EventKind::Idle { state: None })
            && queue.contains(event.time)
    })?;
    let entered = context.events[..awake].iter().rev().find(|event| {
        event.cpu == Some(next.cpu) && matches!(event.kind, EventKind::Idle { state: Some(_) })
    })?;
    let EventKind::Idle { state: Some(state) } = entered.kind else { return None };
    let range = TscRange::new(queue.start.max(entered.time), context.events[awake].time);
    let mut claim =
        Claim::new(range, Rank::IdleExit, Cause::CStateExit(state_name(state)), Certainty::Measured);
    claim.cpu = Some(next.cpu);
    claim.detail = format!("CPU {} was idle", next.cpu);
    claim.evidence = vec![
        Evidence::record(entered.offset, entered.cpu, format!("cpu_idle state={state}")),
        Evidence::record(context.events[awake].offset, entered.cpu, "cpu_idle: awake"),
    ];
    Some(claim)
}

/// The cpuidle state's index as a name: the deeper states' real names are the driver's and not in the record.
fn state_name(state: u32) -> String {
    if state == 0 { "POLL".into() } else { format!("C{state}") }
}

/// The system call the thread was in when it left: by the flow's frame, else by its last `sys_enter`.
fn syscall_at(stay: &Stay, context: &Context<'_>) -> Option<String> {
    let from_flow = context.frames.iter().find_map(|frame| match &frame.cause {
        Cause::Syscall(name)
            if frame.range.start < stay.range.start && frame.range.stop >= stay.range.start =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    from_flow.filter(|name| name != crate::entries::UNNAMED_SYSCALL).or_else(|| {
        let last = context.events.iter().rev().find(|event| {
            event.time <= stay.range.start
                && event.thread.map(|t| t.tid) == stay.thread.map(|t| t.tid)
                && matches!(event.kind, EventKind::Syscall { .. })
        })?;
        match (&last.kind, last.side) {
            (EventKind::Syscall { number, .. }, Side::Begin) => Some(syscalls::name(*number)),
            _ => None,
        }
    })
}

/// What a thread waits for that sleeps in `call` with task state `state`.
fn wait_kind(call: Option<&str>, state: Option<char>) -> OffCpu {
    match call {
        Some("futex" | "futex_wait" | "futex_waitv") => OffCpu::Lock,
        Some("nanosleep" | "clock_nanosleep") => OffCpu::Sleep,
        Some("poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2") => {
            OffCpu::Poll
        }
        Some(
            "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "accept" | "accept4"
            | "connect",
        ) => OffCpu::Socket,
        _ if state == Some('D') => OffCpu::BlockIo,
        _ => OffCpu::Other,
    }
}

fn switch_records(stay: &Stay) -> impl Iterator<Item = Evidence> {
    let out = stay.start_record.map(|offset| Evidence::record(offset, stay.left_cpu, "switched out"));
    let back = stay.stop_record.map(|offset| Evidence::record(offset, None, "switched in"));
    out.into_iter().chain(back)
}
