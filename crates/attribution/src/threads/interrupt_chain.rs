//! The chain of interrupts that led to a wake-up: a timer's interrupt raises the timer softirq, that sends a packet and
//! raises `net_rx`, and that wakes the thread.
//!
//! Input: the records of the waking CPU. Output: [`Chain`]. Each link is judged by the records beside it, and not by how
//! long the whole chain took: a softirq belongs to the interrupt or softirq in which `softirq_raise` was recorded, which
//! holds in `ksoftirqd` as well; without such a record to the one that ended right before it.

use model::{Cause, Cpu, Tsc, TscRange};

use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::records::sideband::Sideband;
use crate::records::words::cause;
use crate::tables::timers::expires_timers;
use crate::threads::waker::{APART, SEARCHED};

/// How many links are followed back.
const LINKS: usize = 16;

/// The interrupts and softirqs that led to a wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// From the begin of the first one to the wake-up.
    pub(crate) range: TscRange,
    /// The begin of the one that made the wake-up.
    pub(crate) last: Tsc,
    /// The first one.
    pub(crate) root: Cause,
    /// Whether a thread raised the first one: nothing came from outside.
    pub(crate) by_thread: bool,
}

impl Chain {
    /// The chain that led to a wake-up on `cpu` at `at`, as far as it lies in `longest`.
    pub(crate) fn before(cpu: Cpu, at: Tsc, longest: TscRange, sideband: &Sideband) -> Option<Chain> {
        let open = sideband.interrupt_at(cpu, at)?;
        let (mut first, mut by_thread) = (open, false);
        for _ in 0..LINKS {
            match reason_of(first, cpu, sideband) {
                Reason::Work(earlier) => first = earlier,
                Reason::Thread => {
                    by_thread = true;
                    break;
                }
                Reason::Unknown => break,
            }
        }
        let range = TscRange::new(first.time, at).intersection(longest)?;
        Some(Chain { range, last: open.time, root: cause(&first.kind), by_thread })
    }

    /// Whether a timer began it.
    pub(crate) fn is_timers(&self) -> bool {
        expires_timers(&self.root)
    }

    /// Whether a device began it.
    pub(crate) fn is_devices(&self) -> bool {
        matches!(self.root, Cause::Irq(_))
    }
}

/// Why interrupt work ran.
enum Reason<'a> {
    /// This interrupt or softirq raised it.
    Work(&'a SidebandEvent),
    /// A thread raised it.
    Thread,
    /// It is an interrupt, or no record shows it.
    Unknown,
}

fn reason_of<'a>(begun: &SidebandEvent, cpu: Cpu, sideband: &'a Sideband) -> Reason<'a> {
    let EventKind::Softirq { vector: own } = begun.kind else { return Reason::Unknown };
    let mut earlier = sideband.earlier_on_cpu(begun, SEARCHED);
    let raise =
        |event: &&SidebandEvent| matches!(event.kind, EventKind::SoftirqRaise { vector } if vector == own);
    if let Some(raised) = earlier.clone().find(raise) {
        let serving = sideband.interrupt_at(cpu, raised.time);
        return match (raised.within, serving) {
            (Some(Within::Thread), _) => Reason::Thread,
            (_, Some(work)) if work.time < begun.time => Reason::Work(work),
            _ => Reason::Unknown,
        };
    }
    // Else nothing but what interrupts do lies between the two.
    let passes = |event: &&SidebandEvent| {
        matches!(
            event.kind,
            EventKind::Waking { .. }
                | EventKind::SoftirqRaise { .. }
                | EventKind::Block { .. }
                | EventKind::Socket { .. }
        )
    };
    match earlier.find(|event| !passes(event)) {
        Some(ended) if ended.kind.is_interrupt() && ended.side == Side::End => {
            if ended.time < begun.time.before(APART) {
                return Reason::Unknown;
            }
            let is_begin =
                |event: &&SidebandEvent| event.side == Side::Begin && event.kind.same_work(&ended.kind);
            earlier.find(is_begin).map_or(Reason::Unknown, Reason::Work)
        }
        _ => Reason::Unknown,
    }
}

#[cfg(test)]
mod tests;
