//! Time off the CPU as claims: preempted by which thread, waiting for what and woken by what, runnable until switched
//! in.
//!
//! Input: the stays of the interval's thread, the schedule, the sched records, and what is known about the end of
//! each wait. Boundaries are those of the switch and wake-up records.

use std::sync::Arc;

use model::{Cause, Certainty, Cpu, Evidence, OffCpu, Segment, ThreadId, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;

use crate::claims::claim::Claim;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::futex::{Held, held_by_waker};
use crate::claims::off_cpu::goroutine::{Goroutine, RUNTIME};
use crate::claims::off_cpu::pool::PoolJob;
use crate::claims::off_cpu::wait::{Wait, wait_of};
use crate::claims::off_cpu::{holder, preemption, story};
use crate::claims::precedence::Rank;
use crate::claims::system_call::Call;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::words::describe;
use crate::tables::kernel_entries::UNNAMED_SOFTIRQ;
use crate::tables::syscalls::Object;
use crate::threads::interrupt_chain::Chain;
use crate::threads::stays::{Stay, Whereabouts};
use crate::threads::wakeup::Wakeup;
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::HotPaths;

/// How a stay off the CPU began and ended, as far as flows and records show.
#[derive(Default)]
pub(crate) struct Absence {
    /// Where the thread was when it left.
    pub(crate) left: Option<CallPath>,
    /// What it slept for, of a thread of Go's runtime.
    pub(crate) goroutine: Option<Goroutine>,
    /// The waker that ended its wait.
    pub(crate) wakeup: Option<Wakeup>,
    /// Where the waker was.
    pub(crate) waker: Option<CallPath>,
    /// What the flows of other threads show of the wait, in words.
    pub(crate) said: Option<String>,
    /// The writer after which it is queued, of a reader of a read-write lock, by name.
    pub(crate) queued_after: Option<String>,
    /// The job of its process's thread pool whose end ended the wait.
    pub(crate) job: Option<PoolJob>,
    /// The thread that may have held what it waited for, where that did not end the wait.
    pub(crate) holder: Option<ThreadId>,
    /// What took place during the wait.
    pub(crate) during: Vec<Segment>,
    /// Through which functions the waker's time passed, for each of these.
    pub(crate) below: Option<Arc<HotPaths>>,
}

/// The claims of one stay off the CPU; empty for any other stay. `occurrence` numbers the stay.
pub(crate) fn claims_of_stay(
    stay: &Stay,
    occurrence: u64,
    absence: Absence,
    context: &Context<'_>,
) -> Vec<Claim> {
    let Whereabouts::OffCpu(reason) = stay.place else { return Vec::new() };
    let mut claims = match reason {
        LeaveReason::Preempted => preemption::claims(stay, absence.left.as_ref(), context),
        LeaveReason::Slept(state) => waited(stay, state, absence, context),
        LeaveReason::Unknown => vec![in_part(stay)],
        LeaveReason::Exited => Vec::new(),
    };
    claims.retain(|claim| !claim.range().is_empty());
    let elsewhere = (!context.scene.sees_all_cpus).then(|| {
        if returns_home(stay, context) { "" } else { "unless it ran on a CPU that is not recorded" }
    });
    for claim in &mut claims {
        claim.occurrence = occurrence;
        if let Some(elsewhere) = elsewhere {
            claim.certainty = claim.certainty.min(Certainty::Inferred);
            claim.say(elsewhere);
        }
        claim.evidence.extend(switch_records(stay));
        if let Some(aux_offset) = stay.left_by_flow {
            let switch = if reason == LeaveReason::Unknown {
                "from here on another thread may run"
            } else {
                claim.say("by the trace: the switch is not recorded");
                "the kernel switches threads"
            };
            claim.certainty = claim.certainty.min(Certainty::Inferred);
            claim.evidence.push(Evidence::packet(aux_offset, stay.left_cpu, switch));
        }
    }
    claims
}

/// Whether the thread comes back to the CPU that it left.
fn returns_home(stay: &Stay, context: &Context<'_>) -> bool {
    let next = stay.thread.and_then(|thread| context.next_cpu(thread.tid, stay.range.start));
    stay.left_cpu.is_some() && next == stay.left_cpu
}

/// The thread was off the CPU for part of the time, and no record shows which part.
fn in_part(stay: &Stay) -> Claim {
    let mut claim = Claim::new(stay.range, Rank::OffCpu, Cause::Unexplained, Certainty::Unknown);
    claim.say("other threads may have run on its CPU; their times are not recorded");
    claim
}

fn waited(stay: &Stay, state: Option<char>, absence: Absence, context: &Context<'_>) -> Vec<Claim> {
    let mut wait = wait_of(stay, state, absence.left.as_ref(), absence.wakeup.as_ref(), context);
    if let Some(goroutine) = &absence.goroutine {
        goroutine.correct(&mut wait);
    }
    let woken_at = absence.wakeup.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    let range = TscRange::new(stay.range.start, woken_at);
    let is_idle = absence.goroutine == Some(Goroutine::None);
    let cause = if is_idle { Cause::Idle(RUNTIME.into()) } else { Cause::OffCpu(wait.kind) };
    let mut claim = Claim::new(range, Rank::OffCpu, cause, wait.certainty);
    for particular in &wait.particulars {
        claim.say(particular);
    }
    if wait.is_guessed() && state.is_none() && context.scene.schedule.hides_preemptions() {
        claim.certainty = Certainty::Inferred;
        claim.say("it waited or was preempted (kernels before 4.17 do not record which)");
    }
    claim.say(absence.said.as_deref().unwrap_or_default());
    if let Some(job) = &absence.job {
        claim.say(&job.tell(|range| context.microseconds(range)));
    }
    claim.evidence.extend(wait.evidence.iter().cloned());
    let call = absence.wakeup.as_ref().and_then(|wakeup| waker_call(wakeup, context));
    let held = if wait.kind == OffCpu::Lock && absence.wakeup.is_some() {
        held_by_waker(wait.call.as_ref(), absence.left.as_ref(), call.as_ref())
    } else {
        Held::No
    };
    let variable = variable_of(&wait, stay, context);
    if let Some(variable) = &variable {
        claim.say(&format!("the futex lies in {variable}"));
    }
    claim.story = story::of_wait(&wait, &absence, (held, variable), context);
    let by = absence.holder.or_else(|| absence.wakeup.as_ref()?.thread());
    story::tell_apart(&mut claim.story, (stay.thread, by), woken_at, context);
    let mut claims = Vec::new();
    if let Some(wakeup) = &absence.wakeup {
        claim.say(&ended_by(wakeup, held, call.as_ref(), &absence, context));
        if let Some(waker) = wakeup.thread().filter(|_| wait.kind == OffCpu::Lock)
            && let Some(kept_off) = holder::kept_off(waker, stay.thread, range, context)
        {
            claim.say(&kept_off);
        }
        if let Some(holder) = absence.holder {
            claim.certainty = claim.certainty.min(Certainty::Inferred);
            claim.say(&format!(
                "{}, which ran during this time, may have held it",
                context.named(holder, range.start)
            ));
        }
        claim.evidence.push(wakeup.evidence.clone());
        claims.extend(queued(stay, wakeup, context));
    } else {
        let comes_back = stay.stop_record.is_some() || stay.left_by_flow.is_some();
        let is_waking = |event: &SidebandEvent| matches!(event.kind, EventKind::Waking { .. });
        claim.say(match (comes_back, context.sideband.events().iter().any(is_waking)) {
            (true, _) => "no record of its wake-up: includes the run-queue time",
            (false, true) => "not woken before the interval ended",
            // Where no wake-up at all is recorded, the thread may have been woken without a record.
            (false, false) => "no record of its wake-up, and not on a CPU before the interval ended",
        });
    }
    claim.callers = absence.left.as_ref().map(story::own_functions).unwrap_or_default();
    (claim.during, claim.below) = (absence.during, absence.below);
    claims.push(claim);
    claims
}

/// The variable that holds the futex which it waits on.
fn variable_of(wait: &Wait, stay: &Stay, context: &Context<'_>) -> Option<String> {
    let Some(Object::Futex(address)) = wait.call.as_ref()?.object else { return None };
    let variable = context.scene.functions.variable_at(stay.thread?.pid, address, stay.range.start)?;
    Some(variable.called())
}

/// From the wake-up until the thread runs: runnable behind which thread, and out of which idle state.
fn queued(stay: &Stay, wakeup: &Wakeup, context: &Context<'_>) -> Vec<Claim> {
    let queue = TscRange::new(wakeup.at, stay.range.stop);
    let Some(thread) = stay.thread else { return Vec::new() };
    let moves = preemption::moves_after(wakeup, thread, queue, context);
    let by_flow = stay.left_by_flow.and(stay.left_cpu);
    let next = by_flow.or_else(|| context.next_cpu(thread.tid, queue.start));
    let (first, on) = match moves.first() {
        Some((at, from, _)) => (TscRange::new(queue.start, *at), Some(*from)),
        None => (queue, next),
    };
    let cause = Cause::OffCpu(OffCpu::Runnable);
    let mut runnable = Claim::new(first, Rank::OffCpu, cause, Certainty::Measured);
    runnable.say(&woken_by(wakeup, context));
    runnable.evidence.push(wakeup.evidence.clone());
    if let Some(ran) = on.and_then(|cpu| context.who_ran(cpu, first, stay.thread)) {
        story::ran_instead(&mut runnable, on, first, stay.thread, context);
        runnable.say(&format!("runnable behind {ran}"));
        let idle = on.and_then(|cpu| context.idle_elsewhere(thread.tid, cpu, first));
        runnable.say(&idle.unwrap_or_default());
    }
    let since = TscRange::new(moves.last().map_or(queue.start, |(at, ..)| *at), queue.stop);
    let exit = next.and_then(|cpu| idle_exit(cpu, wakeup, since, context));
    runnable.uncertainty = exit.as_ref().map_or(Ticks(0), |exit| exit.uncertainty);
    let mut claims: Vec<Claim> = exit.into_iter().collect();
    claims.push(runnable);
    claims.extend(moves.into_iter().map(|(.., moved)| moved));
    claims
}

/// The thread that ended a wait, whether it held what was waited for, and where it was.
fn ended_by(
    wakeup: &Wakeup,
    held: Held,
    call: Option<&Call>,
    absence: &Absence,
    context: &Context<'_>,
) -> String {
    let place = absence.waker.as_ref().and_then(CallPath::tell_user).filter(|_| wakeup.thread().is_some());
    let place = place.map_or_else(String::new, |user| format!(", called by {user}"));
    let (holder, thread) = match (held, wakeup.thread()) {
        (Held::Surely, Some(thread)) => ("lock holder", thread),
        (Held::Perhaps, Some(thread)) => ("possible lock holder", thread),
        _ => return format!("{}{place}", woken_by(wakeup, context)),
    };
    let call = call.map_or_else(String::new, |call| format!(" {}", call.tell()));
    format!("{holder} {}, which woke it{call}{place}", context.named(thread, wakeup.recorded_at))
}

/// The system call in which the waking thread was.
fn waker_call(wakeup: &Wakeup, context: &Context<'_>) -> Option<Call> {
    let event = context.sideband.call_at(wakeup.thread()?.tid, wakeup.recorded_at)?;
    Call::of_record(event, context.scene.files)
}

fn woken_by(wakeup: &Wakeup, context: &Context<'_>) -> String {
    match (wakeup.interrupt(), wakeup.thread()) {
        (interrupt, Some(thread)) => {
            let who = context.named(thread, wakeup.recorded_at);
            let call = waker_call(wakeup, context);
            let call = call.map_or_else(String::new, |call| format!(" {}", call.tell()));
            let through = interrupt.map_or_else(String::new, |softirq| format!(", through {softirq}"));
            format!("woken by {who}{call}{through}")
        }
        (Some(interrupt), None) => {
            let place = wakeup.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            let what = match interrupt {
                Cause::KernelUnknown => "an interrupt".to_owned(),
                Cause::Softirq(name) if name == UNNAMED_SOFTIRQ => "a softirq".to_owned(),
                named => named.to_string(),
            };
            // Whoever was current there has nothing to do with it.
            let current = wakeup.waker.filter(|thread| !thread.is_idle());
            let current = current.map(|thread| context.named(thread, wakeup.recorded_at));
            let current = current.map_or_else(String::new, |who| format!(" in the context of {who}"));
            let root = began(wakeup, context).filter(|root| root != interrupt);
            let root = root.map_or_else(String::new, |root| format!(", in a chain that {root} began"));
            format!("woken by {what}{place}{current}{root}")
        }
        (None, None) if wakeup.waker.is_some() => "woken from the idle task".into(),
        (None, None) => String::new(),
    }
}

/// What began the chain of interrupts that led to `wakeup`.
fn began(wakeup: &Wakeup, context: &Context<'_>) -> Option<Cause> {
    let at = wakeup.recorded_at;
    let chain = Chain::before(wakeup.cpu?, at, TscRange::new(Tsc(0), at), context.sideband)?;
    Some(chain.root)
}

/// From the wake-up to the first record of the woken CPU: that of the interrupt that woke it, or that it is awake.
/// Its first instruction came before, at an unrecorded time. A CPU may enter idle after the wake-up, before the
/// wake-up reaches it. A CPU that did the waking itself, in an interrupt, was awake, though its record follows the
/// interrupt.
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
    let after = if asleep.start > queue.start { ", entered idle after the wake-up" } else { "" };
    claim.say(&format!("CPU {cpu} was idle{after}"));
    if state > 1 {
        claim.say(&format!("in the idle driver's state {state}: its C-state is not recorded"));
    }
    claim.evidence = [entered, first]
        .map(|event| Evidence::record(event.offset, event.cpu, describe(&event.kind)))
        .to_vec();
    Some(claim)
}

/// The name of the idle driver's state `index`, as far as the index determines it: 0 polls, 1 is `hlt` or `mwait`
/// with hint 0 or 1, C1 or its variant C1E (`drivers/idle/intel_idle.c`, `drivers/acpi/processor_idle.c`,
/// `drivers/cpuidle/cpuidle-haltpoll.c`, `default_idle_call` of `kernel/sched/idle.c`). From 2 on each CPU model has
/// its own table: of POLL, C1, C1E, C6 the third is C6.
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
