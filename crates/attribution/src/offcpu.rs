//! Time off the CPU as claims: preempted by whom, waiting for what and woken by whom, runnable until switched in.
//!
//! Input: the stays of the interval's thread, the schedule, the sched records, and what is known of the end of each
//! wait. Edges are those of the switch and wake-up records.

use std::cmp::Reverse;

use model::{
    Cause, Certainty, Cpu, Evidence, OffCpu, Segment, ThreadId, Ticks, Tid, TimeConversion, Tsc, TscRange,
};
use perfdata::{LeaveReason, Schedule};

use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::files::Files;
use crate::kernel;
use crate::precedence::Rank;
use crate::sideband::{EventKind, Sideband, SidebandEvent};
use crate::timeline::{Stay, Whereabouts, runs_on};
use crate::waits::{Call, Held, Wait, held_by_waker, wait_of};
use crate::waker::Wakeup;
use crate::walk::Frame;

/// How many threads are named that ran meanwhile.
const NAMED: usize = 3;

/// Names threads.
pub trait Comms: Sync {
    /// The command name of `thread` at `at`, or its number.
    fn comm(&self, thread: ThreadId, at: Tsc) -> String;
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
    /// Its page faults of which the flow tells the address, in order of time.
    pub(crate) faults: Vec<&'a Frame>,
    /// Names of threads.
    pub(crate) comms: &'a dyn Comms,
    /// Names of files.
    pub(crate) files: &'a dyn Files,
}

/// How a stay off the CPU began and ended, as far as flows and records tell.
#[derive(Default)]
pub(crate) struct Story {
    /// Where the thread stood when it left.
    pub(crate) left: Option<CallPath>,
    /// Who ended its wait.
    pub(crate) wakeup: Option<Wakeup>,
    /// Where that one stood.
    pub(crate) waker: Option<CallPath>,
    /// What happened during the wait.
    pub(crate) during: Vec<Segment>,
}

impl Context<'_> {
    /// "12.3 us".
    pub(crate) fn microseconds(&self, range: TscRange) -> String {
        tell_ns(self.conversion.duration_ns(range))
    }
}

/// Microseconds to the nearest tenth.
pub(crate) fn tell_ns(ns: u64) -> String {
    let tenths = ns.saturating_add(50) / 100;
    format!("{}.{} us", tenths / 10, tenths % 10)
}

/// Those of `frames` that are wanted, in order of time.
pub(crate) fn frames_that(frames: &[Frame], is_wanted: impl Fn(&Frame) -> bool) -> Vec<&Frame> {
    let mut wanted: Vec<&Frame> = frames.iter().filter(|frame| is_wanted(frame)).collect();
    wanted.sort_by_key(|frame| frame.range.start);
    wanted
}

/// The claims of one stay off the CPU; empty for any other stay. `occurrence` numbers the stay.
pub(crate) fn claims_of_stay(
    stay: &Stay,
    occurrence: u64,
    story: Story,
    context: &Context<'_>,
) -> Vec<Claim> {
    let Whereabouts::OffCpu(reason) = stay.place else { return Vec::new() };
    let mut claims = match reason {
        LeaveReason::Preempted => vec![preempted(stay, &story, context)],
        LeaveReason::Slept(state) => waited(stay, state, story, context),
        LeaveReason::Unknown => vec![in_part(stay)],
        LeaveReason::Exited => Vec::new(),
    };
    claims.retain(|claim| !claim.range().is_empty());
    for claim in &mut claims {
        claim.occurrence = occurrence;
        claim.evidence.extend(switch_records(stay));
        if let Some(aux_offset) = stay.left_by_flow {
            let switch = if reason == LeaveReason::Unknown {
                "from here on another thread may run"
            } else {
                claim.say("by the trace, no record tells the switch");
                "the kernel switches threads"
            };
            claim.certainty = claim.certainty.min(Certainty::Inferred);
            claim.evidence.push(Evidence::packet(aux_offset, stay.left_cpu, switch));
        }
    }
    claims
}

fn preempted(stay: &Stay, story: &Story, context: &Context<'_>) -> Claim {
    let cause = Cause::OffCpu(OffCpu::Preempted);
    let mut claim = Claim::new(stay.range, Rank::OffCpu, cause, Certainty::Measured);
    if story.left.as_ref().is_some_and(|left| left.throttled) {
        (claim.cause, claim.certainty) = (Cause::OffCpu(OffCpu::Runnable), Certainty::Decoded);
        claim.say("throttled: its control group has used up its CPU quota");
    } else if let Some(cpu) = stay.left_cpu {
        match (who_ran(cpu, stay.range, stay.thread, context), idle_within(cpu, stay.range, context)) {
            (Some(who), idle) => {
                let idle = idle.map_or_else(String::new, |ns| format!(", idle for {}", tell_ns(ns)));
                claim.say(&format!("by {who}{idle}"));
            }
            (None, Some(ns)) => {
                // Nobody is preempted by the idle task.
                (claim.cause, claim.certainty) = (Cause::OffCpu(OffCpu::Runnable), Certainty::Inferred);
                claim.say(&format!(
                    "switched out ready to run, but CPU {cpu} was idle for {} of the time and ran nobody else: no \
                     record tells why it did not run",
                    tell_ns(ns)
                ));
            }
            (None, None) => {}
        }
    }
    if let Some(user) = story.left.as_ref().and_then(CallPath::tell_user) {
        claim.say(&format!("while in {user}"));
    }
    claim
}

/// The thread was off the CPU for some of the time, and no record tells for which.
fn in_part(stay: &Stay) -> Claim {
    let mut claim = Claim::new(stay.range, Rank::OffCpu, Cause::Unexplained, Certainty::Unknown);
    claim.say("others may have run on its CPU, and no record tells when");
    claim
}

/// For how many nanoseconds of `range` the idle task ran on `cpu`; `None` for none.
fn idle_within(cpu: Cpu, range: TscRange, context: &Context<'_>) -> Option<u64> {
    let idle = runs_within(cpu, range, context).filter(|(thread, _)| thread.is_idle());
    Some(idle.map(|(_, ns)| ns).sum()).filter(|&ns| ns > 0)
}

/// "comp-cfs (tid 122) for 1024.0 us, … on CPU 1": the threads but `own` that ran on `cpu` during `range`, longest
/// first. The idle task is nobody; where the records lack its switches, it is the thread itself that runs by them.
fn who_ran(cpu: Cpu, range: TscRange, own: Option<ThreadId>, context: &Context<'_>) -> Option<String> {
    let mut ran: Vec<(ThreadId, u64)> = Vec::new();
    let own = own.map(|thread| thread.tid);
    let is_other = |thread: &ThreadId| !thread.is_idle() && Some(thread.tid) != own;
    for (thread, ns) in runs_within(cpu, range, context).filter(|(thread, _)| is_other(thread)) {
        match ran.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, total)) => *total += ns,
            None => ran.push((thread, ns)),
        }
    }
    ran.sort_by_key(|&(thread, ns)| (Reverse(ns), thread));
    let tell = |&(thread, ns): &(ThreadId, u64)| {
        format!("{} for {}", named(thread, range.start, context), tell_ns(ns))
    };
    let mut names: Vec<String> = ran.iter().take(NAMED).map(tell).collect();
    if ran.len() > NAMED {
        let rest: u64 = ran[NAMED..].iter().map(|(_, ns)| ns).sum();
        let others = ran.len() - NAMED;
        let threads = if others == 1 { "thread" } else { "threads" };
        names.push(format!("{others} more {threads} for {}", tell_ns(rest)));
    }
    (!names.is_empty()).then(|| format!("{} on CPU {cpu}", names.join(", ")))
}

/// Who ran on `cpu` within `range`, and for how many nanoseconds of it.
pub(crate) fn runs_within<'a>(
    cpu: Cpu,
    range: TscRange,
    context: &'a Context<'_>,
) -> impl Iterator<Item = (ThreadId, u64)> + 'a {
    let conversion = context.conversion;
    runs_on(context.schedule, cpu, range, conversion)
        .map(move |(thread, on)| (thread, conversion.duration_ns(on)))
}

fn named(thread: ThreadId, at: Tsc, context: &Context<'_>) -> String {
    let (name, number) = (context.comms.comm(thread, at), format!("tid {}", thread.tid));
    if name == number { number } else { format!("{name} ({number})") }
}

fn waited(stay: &Stay, state: Option<char>, story: Story, context: &Context<'_>) -> Vec<Claim> {
    let wait = wait_of(stay, state, story.left.as_ref(), story.wakeup.as_ref(), context);
    let woken_at = story.wakeup.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    let range = TscRange::new(stay.range.start, woken_at);
    let mut claim = Claim::new(range, Rank::OffCpu, Cause::OffCpu(wait.kind), wait.certainty);
    for particular in &wait.particulars {
        claim.say(particular);
    }
    if wait.is_guessed() && state.is_none() && context.schedule.hides_preemptions() {
        claim.certainty = Certainty::Inferred;
        claim.say("it waited or was preempted (kernels before 4.17 do not record which)");
    }
    claim.evidence.extend(wait.evidence.iter().cloned());
    let mut claims = Vec::new();
    if let Some(wakeup) = &story.wakeup {
        claim.say(&ended_by(wakeup, &wait, &story, context));
        claim.evidence.push(wakeup.evidence.clone());
        claims.extend(queued(stay, wakeup, context));
    } else {
        let comes_back = stay.stop_record.is_some() || stay.left_by_flow.is_some();
        let is_waking = |event: &SidebandEvent| matches!(event.kind, EventKind::Waking { .. });
        claim.say(match (comes_back, context.sideband.events().iter().any(is_waking)) {
            (true, _) => "no record of its wake-up: waiting and run-queue time together",
            (false, true) => "not woken before the interval ended",
            // Where nobody's wake-up is recorded, it may have been woken all the same.
            (false, false) => "no record of its wake-up, and not on a CPU before the interval ended",
        });
    }
    claim.during = story.during;
    claims.push(claim);
    claims
}

/// From the wake-up until the thread runs: behind whom, and out of which idle state.
fn queued(stay: &Stay, wakeup: &Wakeup, context: &Context<'_>) -> Vec<Claim> {
    let queue = TscRange::new(wakeup.at, stay.range.stop);
    let cause = Cause::OffCpu(OffCpu::Runnable);
    let mut runnable = Claim::new(queue, Rank::OffCpu, cause, Certainty::Measured);
    runnable.say(&woken_by(wakeup, context));
    runnable.evidence.push(wakeup.evidence.clone());
    let by_flow = stay.left_by_flow.and(stay.left_cpu);
    let next = by_flow.or_else(|| next_cpu(stay.thread?.tid, queue.start, context));
    if let Some(ran) = next.and_then(|cpu| who_ran(cpu, queue, stay.thread, context)) {
        runnable.say(&format!("behind {ran}"));
    }
    let exit = next.and_then(|cpu| idle_exit(cpu, wakeup, queue, context));
    runnable.uncertainty = exit.as_ref().map_or(Ticks(0), |exit| exit.uncertainty);
    let mut claims: Vec<Claim> = exit.into_iter().collect();
    claims.push(runnable);
    claims
}

/// Who ended a wait, whether it held what was waited for, and where it stood.
fn ended_by(wakeup: &Wakeup, wait: &Wait, story: &Story, context: &Context<'_>) -> String {
    let by = woken_by(wakeup, context);
    let place = story.waker.as_ref().and_then(CallPath::tell_user).filter(|_| wakeup.thread().is_some());
    let place = place.map_or_else(String::new, |user| format!(", called by {user}"));
    let call = wakeup.thread().and_then(|thread| waker_call(thread, wakeup.recorded_at, context));
    let held = if wait.kind == OffCpu::Lock {
        held_by_waker(wait.call.as_ref(), story.left.as_ref(), call.as_ref())
    } else {
        Held::No
    };
    let held = match held {
        Held::Surely => "held",
        Held::Perhaps => "perhaps held",
        Held::No => return format!("{by}{place}"),
    };
    let Some(thread) = wakeup.thread() else { return format!("{by}{place}") };
    let call = call.map_or_else(String::new, |call| format!(" {}", call.tell()));
    format!("{held} by {}, who woke it{call}{place}", named(thread, wakeup.recorded_at, context))
}

fn waker_call(thread: ThreadId, at: Tsc, context: &Context<'_>) -> Option<Call> {
    context.sideband.call_at(thread.tid, at).and_then(|event| Call::of_record(event, context.files))
}

fn woken_by(wakeup: &Wakeup, context: &Context<'_>) -> String {
    match (&wakeup.interrupt, wakeup.thread()) {
        (interrupt, Some(thread)) => {
            let who = named(thread, wakeup.recorded_at, context);
            let call = waker_call(thread, wakeup.recorded_at, context);
            let call = call.map_or_else(String::new, |call| format!(" {}", call.tell()));
            let through =
                interrupt.as_ref().map_or_else(String::new, |softirq| format!(", through {softirq}"));
            format!("woken by {who}{call}{through}")
        }
        (Some(interrupt), None) => {
            let place = wakeup.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            format!("woken by {interrupt}{place}")
        }
        (None, None) if wakeup.waker.is_some() => "woken from the idle task".into(),
        (None, None) => String::new(),
    }
}

/// From the wake-up to the first record of the woken CPU: of the interrupt that woke it, or that it is awake. Its first
/// instruction came before, and no record tells when. A CPU may go idle behind the wake-up, before that reaches it. One that
/// did the waking itself, in an interrupt, was awake, though its record says so only behind the interrupt.
fn idle_exit(cpu: Cpu, wakeup: &Wakeup, queue: TscRange, context: &Context<'_>) -> Option<Claim> {
    let (entered, awake) = context.sideband.idle_exit(cpu, queue)?;
    if wakeup.cpu == Some(cpu) && entered.time <= wakeup.recorded_at {
        return None;
    }
    let EventKind::Idle { state: Some(state) } = entered.kind else { return None };
    let asleep = TscRange::new(queue.start.max(entered.time), awake.time);
    let first = context.sideband.first_on(cpu, asleep).unwrap_or(awake);
    let range = TscRange::new(asleep.start, first.time);
    let cause = Cause::CStateExit(state_name(state));
    let mut claim = Claim::new(range, Rank::IdleExit, cause, Certainty::Measured);
    claim.cpu = Some(cpu);
    claim.uncertainty = range.ticks();
    let behind = if asleep.start > queue.start { ", gone idle behind the wake-up" } else { "" };
    claim.say(&format!("CPU {cpu} was idle{behind}"));
    if state > 1 {
        claim.say(&format!(
            "in the idle driver's state {state}: which C-state that is, the capture does not tell"
        ));
    }
    claim.evidence = [entered, first]
        .map(|event| Evidence::record(event.offset, event.cpu, kernel::describe(&event.kind)))
        .to_vec();
    Some(claim)
}

/// The CPU on which thread `tid` runs next.
fn next_cpu(tid: Tid, at: Tsc, context: &Context<'_>) -> Option<Cpu> {
    let from = context.conversion.to_perf_time(at);
    let mut runs = context.schedule.of_thread(tid);
    let next = runs.partition_point(|run| run.start < from);
    runs.nth(next).map(|run| run.cpu)
}

/// The name of the idle driver's state `index`, as far as the index tells it: 0 polls, 1 is `hlt` or `mwait` with hint 0 or
/// 1, C1 or its variant C1E (`drivers/idle/intel_idle.c`, `drivers/acpi/processor_idle.c`,
/// `drivers/cpuidle/cpuidle-haltpoll.c`, `default_idle_call` of `kernel/sched/idle.c`). From 2 on each CPU model has its
/// own table: of POLL, C1, C1E, C6 the third is C6.
fn state_name(index: u32) -> String {
    match index {
        0 => "POLL".into(),
        1 => "C1".into(),
        _ => format!("state-{index}"),
    }
}

fn switch_records(stay: &Stay) -> impl Iterator<Item = Evidence> {
    let out = stay.start_record.map(|offset| Evidence::record(offset, stay.left_cpu, "switched out"));
    let back = stay.stop_record.map(|offset| Evidence::record(offset, None, "switched in"));
    out.into_iter().chain(back)
}

#[cfg(test)]
mod tests;
