//! The wake-up that ended a wait: when, where, and by which thread or interrupt ([`Maker`]).
//!
//! Input: the `sched_waking` record (or `sched_wakeup`, which may be in the woken CPU's context) and what its CPU was
//! doing then.

use model::{Cause, Cpu, Evidence, ThreadId, Tsc, TscRange};

use crate::inputs::decode::Decode;
use crate::inputs::functions::Functions;
use crate::inputs::scene::Scene;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::describe;
use crate::tables::timers::expires_timers;
use crate::threads::stays::Stay;
use crate::threads::waker::{APART, Maker};
use crate::walk::call_path::CallPath;

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
    /// Whether that thread made it, or an interrupt.
    pub(crate) maker: Maker,
    /// Where the waker was, by the record's callchain.
    pub(crate) chain: Vec<u64>,
    /// The record.
    pub(crate) evidence: Evidence,
}

impl Wakeup {
    /// The wake-up that ended the wait of `stay`, if one was recorded. It may precede the interval: then all of the
    /// stay follows it.
    pub(crate) fn of(stay: &Stay, sideband: &Sideband, functions: &dyn Functions) -> Option<Wakeup> {
        let away = TscRange::new(left_at(stay), stay.range.stop);
        let first = sideband.wakings(stay.thread?.tid, away).next();
        let event = waking_before(first, stay, sideband).or(first)?;
        let by_waker = matches!(event.kind, EventKind::Waking { by_waker: true, .. });
        let mut maker = Maker::by_records(event, sideband, functions);
        let mut waker = event.thread.filter(|thread| by_waker || !thread.is_idle());
        if !by_waker && maker.completes_for_another() {
            (waker, maker) = (None, Maker::by_thread());
        }
        Some(Wakeup {
            at: event.time.max(stay.range.start),
            recorded_at: event.time,
            cpu: event.cpu.filter(|_| by_waker || maker.interrupt.is_some()),
            waker,
            maker,
            chain: event.chain.clone(),
            evidence: Evidence::record(event.offset, event.cpu, describe(&event.kind)),
        })
    }

    /// Asks the flow of the waking CPU for what records leave open.
    pub(crate) fn ask_flow(&mut self, scene: &Scene<'_>, decoder: &mut dyn Decode) {
        if let (Some(cpu), Some(thread)) = (self.cpu, self.waker) {
            self.maker.ask_flow(cpu, thread, self.recorded_at, scene, decoder);
        }
    }

    /// The thread to which it is attributed.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        self.waker.filter(|thread| self.maker.is_thread() && !thread.is_idle())
    }

    /// The interrupt or softirq in which it was made.
    pub(crate) fn interrupt(&self) -> Option<&Cause> {
        self.maker.interrupt.as_ref()
    }

    /// Whether received packets caused it.
    pub(crate) fn came_by_network(&self) -> bool {
        self.interrupt() == Some(&Cause::Softirq("net_rx".into()))
    }

    /// Whether a timer caused it.
    pub(crate) fn came_by_timer(&self) -> bool {
        self.interrupt().is_some_and(expires_timers)
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
/// does so in the idle task. The thread waited for nothing any more. One before the system call in which it left ended another wait.
fn waking_before<'a>(
    completed: Option<&SidebandEvent>,
    stay: &Stay,
    sideband: &'a Sideband,
) -> Option<&'a SidebandEvent> {
    let by_waker = |event: &SidebandEvent| matches!(event.kind, EventKind::Waking { by_waker: true, .. });
    let before = TscRange::new(left_at(stay).before(APART), left_at(stay));
    let tid = stay.thread?.tid;
    let last = sideband.wakings(tid, before).last()?;
    let of_this_call = sideband.call_at(tid, left_at(stay)).is_none_or(|call| call.time <= last.time);
    let only = completed.is_none_or(|completed| !by_waker(completed));
    (of_this_call && by_waker(last) && only).then_some(last)
}
