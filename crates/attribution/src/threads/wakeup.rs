//! The waker: the thread or the interrupt in whose context the wake-up was recorded.
//!
//! Input: the `sched_waking` record (or `sched_wakeup`, which may be in the woken CPU's context) and what its CPU was
//! doing then. A softirq that a thread runs at the end of its own system call is attributed to that thread.

use model::{Cause, Cpu, Evidence, ThreadId, Ticks, Tsc, TscRange};

use crate::inputs::functions::Functions;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::{cause, describe};
use crate::threads::stays::Stay;
use crate::walk::call_path::CallPath;

/// Interrupts further apart than this are unrelated: about 20 us.
const APART: Ticks = Ticks(50_000);

/// How many records before a softirq are searched for what raised it.
const SEARCHED: usize = 64;

/// The wake-up that ended a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wakeup {
    /// The time; where the interval began after it, that begin.
    pub(crate) at: Tsc,
    /// The time of the record: what its waker was doing then.
    pub(crate) recorded_at: Tsc,
    /// The CPU; the waking CPU where the record is in the waker's context.
    pub(crate) cpu: Option<Cpu>,
    /// The thread in whose context it was recorded; unknown where only the woken CPU recorded it.
    pub(crate) waker: Option<ThreadId>,
    /// What that context was serving, where it was an interrupt.
    pub(crate) interrupt: Option<Cause>,
    /// Whether the interrupt is a softirq that the thread's own system call raised and ran.
    pub(crate) own_softirq: bool,
    /// Where the waker was, by the record's callchain.
    pub(crate) chain: Vec<u64>,
    /// The record.
    pub(crate) evidence: Evidence,
}

impl Wakeup {
    /// The wake-up that ended the wait of `stay`, if one was recorded. It may precede the interval: then all of the
    /// stay follows it.
    pub(crate) fn of(stay: &Stay, sideband: &Sideband) -> Option<Wakeup> {
        let away = TscRange::new(left_at(stay), stay.range.stop);
        let first = sideband.wakings(stay.thread?.tid, away).next();
        let event = waking_before(first, stay, sideband).or(first)?;
        let by_waker = matches!(event.kind, EventKind::Waking { by_waker: true, .. });
        let interrupt = event.cpu.and_then(|cpu| sideband.interrupt_at(cpu, event.time)).filter(|_| by_waker);
        Some(Wakeup {
            at: event.time.max(stay.range.start),
            recorded_at: event.time,
            cpu: event.cpu.filter(|_| by_waker),
            waker: event.thread.filter(|thread| by_waker || !thread.is_idle()),
            interrupt: interrupt.map(|begun| cause(&begun.kind)),
            own_softirq: interrupt.is_some_and(|begun| is_own_doing(begun, event.thread, sideband)),
            chain: event.chain.clone(),
            evidence: Evidence::record(event.offset, event.cpu, describe(&event.kind)),
        })
    }

    /// The thread to which it is attributed.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        let by_thread = self.interrupt.is_none() || self.own_softirq;
        self.waker.filter(|thread| by_thread && !thread.is_idle())
    }

    /// Whether received packets caused it.
    pub(crate) fn came_by_network(&self) -> bool {
        self.interrupt == Some(Cause::Softirq("net_rx".into()))
    }

    /// Where the waker was, by `flow` or by the record's callchain.
    pub(crate) fn path(&self, flow: Option<CallPath>, functions: &dyn Functions) -> Option<CallPath> {
        flow.filter(|path| !path.is_empty()).or_else(|| {
            let pid = self.waker.map_or(model::Pid::KERNEL, |thread| thread.pid);
            let path = CallPath::of_callchain(&self.chain, pid, self.at, functions);
            (!path.is_empty()).then_some(path)
        })
    }
}

/// When the thread went to sleep.
fn left_at(stay: &Stay) -> Tsc {
    stay.left_at.map_or(stay.range.start, |left| left.min(stay.range.start))
}

/// A wake-up may come while the thread is leaving: `sched_waking` then precedes the switch, and `sched_wakeup`, which
/// is `completed`, follows it. In a trace of single threads it is missing, because the CPU that completes the wake-up
/// does so in the idle task. The thread waited for nothing any more.
fn waking_before<'a>(
    completed: Option<&SidebandEvent>,
    stay: &Stay,
    sideband: &'a Sideband,
) -> Option<&'a SidebandEvent> {
    let by_waker = |event: &SidebandEvent| matches!(event.kind, EventKind::Waking { by_waker: true, .. });
    let before = TscRange::new(left_at(stay).before(APART), left_at(stay));
    let last = sideband.wakings(stay.thread?.tid, before).last()?;
    (by_waker(last) && completed.is_none_or(|completed| !by_waker(completed))).then_some(last)
}

/// A softirq runs after the interrupt that raised it, or at the end of the critical section in which a system call
/// raised it (`__local_bh_enable_ip`). It was the one of the two that began or ended last on its CPU.
fn is_own_doing(begun: &SidebandEvent, thread: Option<ThreadId>, sideband: &Sideband) -> bool {
    let (EventKind::Softirq { .. }, Some(thread)) = (&begun.kind, thread) else { return false };
    let events = sideband.events();
    let until = events.partition_point(|event| event.time < begun.time);
    let earlier = events[until.saturating_sub(SEARCHED)..until].iter().rev();
    let of_cpu = earlier.filter(|event| event.cpu == begun.cpu);
    let raised_by = of_cpu.into_iter().find(|event| match event.kind {
        EventKind::Irq { .. } | EventKind::Vector { .. } => true,
        EventKind::Syscall { .. } => event.thread.is_some_and(|other| other.tid == thread.tid),
        _ => false,
    });
    raised_by
        .is_some_and(|event| matches!(event.kind, EventKind::Syscall { .. }) && event.side == Side::Begin)
}

/// The interrupt work that led to a wake-up on `cpu` at `at`, from the begin of the interrupt that raised the
/// softirq; and the begin of the innermost work then.
pub(crate) fn interrupts_before(
    cpu: Cpu,
    at: Tsc,
    longest: TscRange,
    sideband: &Sideband,
) -> Option<(TscRange, Tsc)> {
    let open = sideband.interrupt_at(cpu, at)?;
    let events = sideband.events();
    let until = events.partition_point(|event| event.time < open.time);
    let mut start = open.time;
    // Interrupts that ended right before raised it: nothing else of that CPU was recorded in between.
    let of_cpu =
        events[until.saturating_sub(SEARCHED)..until].iter().rev().filter(|event| event.cpu == Some(cpu));
    for event in of_cpu.take_while(|event| event.time >= open.time.before(APART)) {
        match event.kind {
            EventKind::Irq { .. } | EventKind::Vector { .. } | EventKind::Softirq { .. } => {
                start = event.time;
            }
            EventKind::Waking { .. } | EventKind::Block { .. } | EventKind::Socket { .. } => {}
            _ => break,
        }
    }
    Some((TscRange::new(start, at).intersection(longest)?, open.time))
}
