//! A wait whose own time was up: the system call says so in its result, or a timer woke the thread.
//!
//! Input: the wait's system call, the record of that call's end, the wake-up. Source: futex(2): `ETIMEDOUT`; poll(2), select(2) and
//! `epoll_wait(2)`: no descriptor; `futex_wait_setup` and `schedule_hrtimeout_range` in the kernel: nothing else of them is woken by a
//! timer.

use model::{Certainty, Evidence};
use perfdata::LeaveReason;

use crate::claims::off_cpu::context::Context;
use crate::claims::system_call::Call;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::words::describe;
use crate::tables::syscalls;
use crate::threads::stays::Stay;
use crate::threads::wakeup::Wakeup;

/// How it is known that the time was up.
pub(super) struct TimedOut {
    /// Measured where the call's result says so, inferred where only a timer woke the thread.
    pub(super) certainty: Certainty,
    /// The record of the call's end.
    pub(super) evidence: Option<Evidence>,
}

/// Whether `stay`, a wait in `call` that `wakeup` ended, ended because the call's time was up.
pub(super) fn timed_out(
    stay: &Stay,
    call: &Call,
    wakeup: Option<&Wakeup>,
    context: &Context<'_>,
) -> Option<TimedOut> {
    let Some((end, result)) = end_of(call, stay, context) else {
        let by_timer = wakeup.is_some_and(Wakeup::came_by_timer);
        return by_timer.then_some(TimedOut { certainty: Certainty::Inferred, evidence: None });
    };
    let says_so = syscalls::timed_out(&call.name, result) && is_last_sleep(stay, end, context);
    says_so.then(|| TimedOut {
        certainty: Certainty::Measured,
        evidence: Some(Evidence::record(end.offset, end.cpu, describe(&end.kind))),
    })
}

/// The record of the end of `call`, in which the thread waited for `stay`, and its result.
fn end_of<'a>(call: &Call, stay: &Stay, context: &Context<'a>) -> Option<(&'a SidebandEvent, u64)> {
    let next = context.sideband.next_call(stay.thread?.tid, stay.left_at.unwrap_or(stay.range.start))?;
    match &next.kind {
        EventKind::Syscall { number, arguments }
            if next.side == Side::End && syscalls::name(*number) == call.name =>
        {
            Some((next, *arguments.first()?))
        }
        _ => None,
    }
}

/// Whether the thread did not sleep again between `stay` and `end`: a call that is woken for nothing goes on to sleep, and only its last
/// sleep ends because its time is up.
fn is_last_sleep(stay: &Stay, end: &SidebandEvent, context: &Context<'_>) -> bool {
    let Some(thread) = stay.thread else { return false };
    let woken = context.conversion.to_perf_time(stay.range.stop);
    let ended = context.conversion.to_perf_time(end.time);
    let runs = || context.scene.schedule.of_thread(thread.tid);
    let first = runs().partition_point(|run| run.start.0 + ROUNDING_NS < woken.0);
    let mut between = runs().skip(first).take_while(|run| run.stop <= ended);
    !between.any(|run| matches!(run.leave, LeaveReason::Slept(_)))
}

/// A conversion between the clocks is off by so much, at most.
const ROUNDING_NS: u64 = 2;
