//! `offcpu.preempted`, and what follows it: a thread that could run and was on no CPU, by whom, and on whose run queue.
//!
//! Input: a stay off the CPU of a thread that could run, the schedule, `sched_migrate_task` records. A thread waits on the
//! run queue of one CPU at a time: what another CPU does at that time, even if it is idle, has nothing to do with it.

use model::{Cause, Certainty, Cpu, Evidence, OffCpu, Role, ThreadId, Ticks, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::lengths::tell_ns;
use crate::claims::noise::MeasuredThreads;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::story;
use crate::claims::precedence::Rank;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::words::describe;
use crate::tables::kernel_entries::kernel_thread_called;
use crate::tables::syscalls;
use crate::threads::stays::Stay;
use crate::threads::waker::Maker;
use crate::threads::wakeup::Wakeup;
use crate::walk::call_path::CallPath;

/// A waker chooses the CPU of the woken thread within so many ticks of its record: about 20 us.
const PLACED: Ticks = Ticks(50_000);

/// The claims of `stay`, whose thread left its CPU by the path `left` while it could run.
pub(super) fn claims(stay: &Stay, left: Option<&CallPath>, context: &Context<'_>) -> Vec<Claim> {
    let is_throttled = left.is_some_and(|left| left.throttled);
    let mut claims = if is_throttled {
        vec![throttled(stay)]
    } else if let Some(cpu) = stay.left_cpu {
        on_queues(stay, cpu, context)
    } else {
        vec![claim_of(OffCpu::Preempted, stay.range)]
    };
    if let Some(first) = claims.first_mut().filter(|_| !is_throttled) {
        first.say(&lazily(stay, left, context));
    }
    if let (Some(first), Some(left)) = (claims.first_mut(), left) {
        first.story.place = story::place_of(left).0;
        first.story.callers = story::callers_of(left);
        first.say(&match left.resched.by_bpf.as_deref() {
            None => String::new(),
            Some("") => "by a sched_ext scheduler".to_owned(),
            Some(name) => format!("by the sched_ext scheduler {name}"),
        });
        first.say(&left.tell_user().map_or_else(String::new, |user| format!("while in {user}")));
    }
    claims
}

/// How a thread was taken off its CPU that was to be rescheduled lazily, by the flow or by the flags of its last records there; else empty.
fn lazily(stay: &Stay, left: Option<&CallPath>, context: &Context<'_>) -> String {
    let asked = stay.left_cpu.zip(stay.thread).zip(stay.left_at).and_then(|((cpu, thread), left_at)| {
        let since = context.sideband.lazy_since(cpu, thread.tid, left_at)?;
        Some(context.microseconds(TscRange::new(since, left_at)))
    });
    let at_tick = left.is_some_and(|left| left.resched.lazily);
    match (at_tick, asked) {
        (true, None) => "preempted lazily at the tick".to_owned(),
        (true, Some(before)) => format!("preempted lazily at the tick, requested {before} before or earlier"),
        (false, Some(before)) => format!("preempted lazily, requested {before} before or earlier"),
        (false, None) => String::new(),
    }
}

fn claim_of(kind: OffCpu, range: TscRange) -> Claim {
    Claim::new(range, Rank::OffCpu, Cause::OffCpu(kind), Certainty::Measured)
}

fn throttled(stay: &Stay) -> Claim {
    let mut claim = claim_of(OffCpu::Runnable, stay.range);
    claim.certainty = Certainty::Decoded;
    claim.say("throttled by its cgroup CPU quota (cpu.max)");
    claim
}

/// On the run queue of `left`, and of the CPUs to which the thread was moved then.
fn on_queues(stay: &Stay, left: Cpu, context: &Context<'_>) -> Vec<Claim> {
    let Some(thread) = stay.thread else { return vec![kept(stay.range, left, stay.thread, context)] };
    let since =
        TscRange::new(stay.left_at.unwrap_or(stay.range.start).min(stay.range.start), stay.range.stop);
    let moves: Vec<_> = context.sideband.migrations(thread.tid, since).collect();
    if moves.is_empty() {
        let next = context.next_cpu(thread.tid, stay.range.start);
        let moved_to = next.filter(|&next| next != left && stay.left_by_flow.is_none());
        return vec![match moved_to {
            Some(next) => moved_unrecorded(stay, left, next, context),
            None => kept(stay.range, left, stay.thread, context),
        }];
    }
    let ends = moves.iter().skip(1).map(|event| event.time).chain([stay.range.stop]);
    let first = TscRange::new(stay.range.start, moves[0].time.max(stay.range.start));
    let mut claims = vec![kept(first, left, stay.thread, context)];
    for (event, end) in moves.iter().zip(ends) {
        let queued = TscRange::new(event.time.max(stay.range.start), end.max(stay.range.start));
        claims.extend(moved(event, queued, thread, context));
    }
    claims.retain(|claim| !claim.range().is_empty());
    claims
}

/// The migrations of `thread` between run queues after `wakeup`, each with its time, the CPU that the thread left, and
/// the claim of the time after it. The kernel first chooses a CPU for a woken thread: that is no migration between queues.
pub(super) fn moves_after(
    wakeup: &Wakeup,
    thread: ThreadId,
    queue: TscRange,
    context: &Context<'_>,
) -> Vec<(Tsc, Cpu, Claim)> {
    let places = |event: &SidebandEvent| {
        let by_waker = event.cpu == wakeup.cpu && event.thread == wakeup.waker;
        by_waker && event.time <= wakeup.recorded_at + PLACED
    };
    let migrations = context.sideband.migrations(thread.tid, queue).filter(|event| !places(event));
    let moves: Vec<&SidebandEvent> = migrations.collect();
    let ends = moves.iter().skip(1).map(|event| event.time).chain([queue.stop]);
    let claims = moves.iter().zip(ends).filter_map(|(event, end)| {
        let EventKind::Migration { from, .. } = event.kind else { return None };
        let after = TscRange::new(event.time, end);
        Some((event.time, from, moved(event, after, thread, context)?))
    });
    claims.collect()
}

/// On the run queue of `cpu`, which the thread has left.
fn kept(range: TscRange, cpu: Cpu, own: Option<ThreadId>, context: &Context<'_>) -> Claim {
    let mut claim = claim_of(OffCpu::Preempted, range);
    let measured = MeasuredThreads::on(cpu, range, own, context.sideband, context.conversion);
    match (context.who_ran(cpu, range, own), context.idle_within(cpu, range)) {
        (Some(who), idle) => {
            let idle = idle.map_or_else(String::new, |ns| format!(", idle for {}", tell_ns(ns)));
            story::ran_instead(&mut claim, Some(cpu), range, own, context);
            claim.say(&format!("by {who}{idle}"));
            let elsewhere = own.and_then(|own| context.idle_elsewhere(own.tid, cpu, range));
            claim.say(&elsewhere.unwrap_or_default());
            if let Some(measured) = measured {
                claim.say(&format!("osnoise measured {}", measured.tell()));
                claim.evidence.extend(measured.evidence);
            }
        }
        (None, Some(ns)) => {
            // The idle task preempts no thread.
            (claim.cause, claim.certainty) = (Cause::OffCpu(OffCpu::Runnable), Certainty::Inferred);
            claim.say(&format!(
                "switched out runnable, but CPU {cpu} was idle for {} of the time and ran no other thread: the \
                 reason is not recorded",
                tell_ns(ns)
            ));
        }
        (None, None) => {
            if let Some(measured) = measured {
                measured.longest().clone_into(&mut claim.story.by);
                claim.story.role = Role::Runner;
                claim.say(&format!("by {} on CPU {cpu}, as osnoise measured", measured.tell()));
                claim.evidence.extend(measured.evidence);
            }
        }
    }
    claim
}

/// On the run queue to which `event` moved the thread, for `queued`.
fn moved(event: &SidebandEvent, queued: TscRange, thread: ThreadId, context: &Context<'_>) -> Option<Claim> {
    let EventKind::Migration { from, to, .. } = event.kind else { return None };
    let mut claim = claim_of(OffCpu::Runnable, queued);
    let (by, mover) = moved_by(event, thread, to, context);
    let named = mover.map_or_else(String::new, |mover| context.named(mover, event.time));
    claim.say(&format!("moved from CPU {from} to CPU {to}{by}{named}"));
    let comm = mover.map_or_else(String::new, |mover| context.scene.comms.comm(mover, event.time));
    let another = if comm == context.scene.comms.comm(thread, event.time) { "another " } else { "" };
    let (by, _) = by.split_once(", ").unwrap_or((&by, ""));
    claim.story.object = format!("moved to CPU {to}{by}{another}{comm}");
    if let Some(ran) = context.who_ran(to, queued, Some(thread)) {
        story::ran_instead(&mut claim, Some(to), queued, Some(thread), context);
        claim.say(&format!("runnable behind {ran}"));
    }
    claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
    Some(claim)
}

/// Who moved `thread` to `to`: words, and the thread whose name follows them.
fn moved_by(
    event: &SidebandEvent,
    thread: ThreadId,
    to: Cpu,
    context: &Context<'_>,
) -> (String, Option<ThreadId>) {
    if let Some(caller) = sets_affinity(event.time, thread, context) {
        return match caller {
            caller if caller.tid == thread.tid => (" by its own sched_setaffinity()".into(), None),
            caller => (" by sched_setaffinity() of ".into(), Some(caller)),
        };
    }
    let maker = Maker::by_records(event, context.sideband, context.scene.functions);
    let balances = matches!(&maker.interrupt, Some(Cause::Softirq(_)));
    let Some(current) = event.thread else { return (String::new(), None) };
    let is_stopper = kernel_thread_called(&context.scene.comms.comm(current, event.time))
        == Some(Cause::KernelThread("migration".into()));
    match event.cpu {
        Some(cpu) if balances => (format!(" by load balancing on CPU {cpu}"), None),
        // Before a CPU becomes idle, and while it is, it looks for threads of others (`newidle_balance`).
        Some(cpu) if cpu == to && !is_stopper && maker.interrupt.is_none() => {
            (format!(" by load balancing on CPU {cpu}, which became idle"), None)
        }
        _ if current.is_idle() => (String::new(), None),
        _ => (" by ".into(), Some(current)),
    }
}

/// The thread that was changing the CPUs on which `thread` may run.
fn sets_affinity(at: Tsc, thread: ThreadId, context: &Context<'_>) -> Option<ThreadId> {
    let mut callers = context.sideband.calls_at(at).filter_map(|event| {
        let EventKind::Syscall { number, arguments } = &event.kind else { return None };
        let caller = event.thread.filter(|_| syscalls::name(*number) == "sched_setaffinity")?;
        // The first argument is a thread's number; 0 is the caller.
        let whom = i32::try_from(*arguments.first()?).ok()?;
        (whom == thread.tid.0 || (whom == 0 && caller.tid == thread.tid)).then_some(caller)
    });
    callers.next()
}

/// The thread left CPU `left` and came back on `next`, and no record shows when it was moved. A CPU on whose run queue a
/// thread waits is not idle: the thread had been moved when `left` became idle.
fn moved_unrecorded(stay: &Stay, left: Cpu, next: Cpu, context: &Context<'_>) -> Claim {
    let idle_from = context.idle_from(left, stay.range);
    let here = TscRange::new(stay.range.start, idle_from.unwrap_or(stay.range.stop));
    let mut claim = claim_of(OffCpu::Preempted, stay.range);
    if let Some(who) = context.who_ran(left, here, stay.thread) {
        story::ran_instead(&mut claim, Some(left), here, stay.thread, context);
        claim.say(&format!("by {who}"));
    } else if idle_from.is_some() {
        // The idle task preempts no thread.
        (claim.cause, claim.certainty) = (Cause::OffCpu(OffCpu::Runnable), Certainty::Inferred);
    }
    claim.say(&format!("moved from CPU {left} to CPU {next}, by whom is not recorded"));
    let there = TscRange::new(idle_from.unwrap_or(stay.range.start), stay.range.stop);
    if let Some(ran) = context.who_ran(next, there, stay.thread) {
        claim.say(&match idle_from {
            Some(_) => format!("runnable behind {ran}"),
            None => format!("when is not recorded; CPU {next} ran {ran}"),
        });
    }
    claim
}

#[cfg(test)]
mod tests;
