//! Who made a wake-up: a thread, or an interrupt or softirq that ran in whichever thread was current.
//!
//! Input: the record of the wake-up. Best first: the context that the kernel wrote into the record, the interrupts that
//! its CPU had begun by their records, the record's callchain, the flow of its CPU. A softirq that a thread runs at the
//! end of its own system call is attributed to that thread.

use model::{Cause, Cpu, ThreadId, Ticks, Tsc};

use crate::inputs::decode::Decode;
use crate::inputs::functions::Functions;
use crate::inputs::scene::Scene;
use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::records::sideband::Sideband;
use crate::records::words::cause;
use crate::tables::kernel_entries::{Landmark, UNNAMED_SOFTIRQ, entry_cause, landmark, runs_own_softirqs};
use crate::threads::follow::work_at;
use crate::walk::call_path::CallPath;

/// Interrupts further apart than this are unrelated: about 20 us.
pub(crate) const APART: Ticks = Ticks(50_000);

/// How many records before a softirq are searched for what raised it.
pub(crate) const SEARCHED: usize = 64;

/// How many softirqs, each of which raised the next one, are followed back.
const RAISED: usize = 4;

/// Who made a wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Maker {
    /// The interrupt or softirq in which it was made; [`Cause::KernelUnknown`] where nothing names it.
    pub(crate) interrupt: Option<Cause>,
    /// Whether the interrupt is a softirq that the current thread raised and ran itself.
    pub(crate) own_softirq: bool,
    /// Whether the flow may show more.
    is_open: bool,
}

impl Maker {
    /// By `event` and by the flow of its CPU where records leave it open.
    pub(crate) fn of(
        event: &SidebandEvent,
        sideband: &Sideband,
        scene: &Scene<'_>,
        decoder: &mut dyn Decode,
    ) -> Maker {
        let mut maker = Maker::by_records(event, sideband, scene.functions);
        if let (Some(cpu), Some(thread)) = (event.cpu, event.thread) {
            maker.ask_flow(cpu, thread, event.time, scene, decoder);
        }
        maker
    }

    /// The current thread, as far as is known.
    pub(crate) fn by_thread() -> Maker {
        Maker { interrupt: None, own_softirq: false, is_open: false }
    }

    fn by_interrupt(cause: Cause) -> Maker {
        let is_open = cause == Cause::KernelUnknown;
        Maker { interrupt: Some(cause), own_softirq: false, is_open }
    }

    /// By the record and those before it.
    pub(crate) fn by_records(event: &SidebandEvent, sideband: &Sideband, functions: &dyn Functions) -> Maker {
        let begun = |is_such: fn(&EventKind) -> bool| sideband.open_at(event.cpu?, event.time, is_such);
        let by_chain = InChain::of(event, functions);
        match event.within {
            Some(Within::Thread) => Maker::by_thread(),
            Some(Within::Softirq) => Maker::in_softirq(begun(is_softirq), by_chain.as_ref(), event, sideband),
            Some(Within::Interrupt) => {
                let named = begun(|kind| kind.is_interrupt() && !is_softirq(kind));
                let named = named.map(|begun| cause(&begun.kind));
                Maker::by_interrupt(named.or_else(|| by_chain?.interrupt()).unwrap_or(Cause::KernelUnknown))
            }
            None => match (begun(EventKind::is_interrupt), by_chain) {
                (Some(begun), _) if !is_softirq(&begun.kind) => Maker::by_interrupt(cause(&begun.kind)),
                (None, Some(InChain::Interrupt(cause))) => Maker::by_interrupt(cause),
                (None, Some(InChain::Thread)) => Maker::by_thread(),
                (None, None) => Maker { is_open: true, ..Maker::by_thread() },
                (begun, by_chain) => Maker::in_softirq(begun, by_chain.as_ref(), event, sideband),
            },
        }
    }

    /// In the softirq that `begun` began.
    fn in_softirq(
        begun: Option<&SidebandEvent>,
        by_chain: Option<&InChain>,
        event: &SidebandEvent,
        sideband: &Sideband,
    ) -> Maker {
        let (named, own) = match by_chain {
            Some(InChain::Softirq { name, own }) => (Some(Cause::Softirq((*name).into())), *own),
            _ => (None, None),
        };
        let named = begun.map(|begun| cause(&begun.kind)).or(named);
        let own = own.or_else(|| is_own_doing(begun?, event.thread, sideband, RAISED));
        let is_open = named.is_none() || own.is_none();
        let unnamed = || Cause::Softirq(UNNAMED_SOFTIRQ.into());
        Maker { interrupt: Some(named.unwrap_or_else(unnamed)), own_softirq: own == Some(true), is_open }
    }

    /// Asks the flow of `cpu`, where `thread` was current at `at`, what records leave open.
    pub(crate) fn ask_flow(
        &mut self,
        cpu: Cpu,
        thread: ThreadId,
        at: Tsc,
        scene: &Scene<'_>,
        decoder: &mut dyn Decode,
    ) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let frames = work_at(scene, cpu, thread, at, decoder);
        let mut open: Vec<_> = frames.into_iter().filter(|frame| frame.range.stop == at).collect();
        open.sort_by_key(|frame| frame.depth);
        let Some(innermost) = open.iter().rfind(|frame| is_interrupt(&frame.cause)) else { return };
        let by_interrupt = |cause: &Cause| is_interrupt(cause) && !matches!(cause, Cause::Softirq(_));
        let called = open.iter().any(|frame| matches!(frame.cause, Cause::Syscall(_) | Cause::PageFault(_)));
        self.own_softirq = called && !open.iter().any(|frame| by_interrupt(&frame.cause));
        self.interrupt = Some(innermost.cause.clone());
    }

    /// Whether the current thread made it.
    pub(crate) fn is_thread(&self) -> bool {
        self.interrupt.is_none() || self.own_softirq
    }

    /// Whether it completes, in an interrupt that another CPU sent, what a thread there began.
    pub(crate) fn completes_for_another(&self) -> bool {
        matches!(self.interrupt, Some(Cause::Ipi(_) | Cause::KernelUnknown))
    }
}

/// The interrupt or softirq in a callchain.
enum InChain {
    Thread,
    Interrupt(Cause),
    Softirq { name: &'static str, own: Option<bool> },
}

impl InChain {
    /// The innermost one; `None` without a callchain of kernel code.
    fn of(event: &SidebandEvent, functions: &dyn Functions) -> Option<InChain> {
        let pid = event.thread.map_or(model::Pid::KERNEL, |thread| thread.pid);
        let path = CallPath::of_callchain(&event.chain, pid, event.time, functions);
        let mut softirq = None;
        for function in path.kernel_functions() {
            let entry = entry_cause(function);
            match (softirq, landmark(function)) {
                (None, Some(Landmark::Softirq(name))) => softirq = Some(name),
                (Some(name), _) if runs_own_softirqs(function) => {
                    return Some(InChain::Softirq { name, own: Some(true) });
                }
                (Some(name), _) if is_interrupt(&entry) => {
                    return Some(InChain::Softirq { name, own: Some(false) });
                }
                (None, _) if is_interrupt(&entry) => return Some(InChain::Interrupt(entry)),
                _ => {}
            }
        }
        let in_softirq = softirq.map(|name| InChain::Softirq { name, own: None });
        in_softirq.or_else(|| (!path.kernel.is_empty()).then_some(InChain::Thread))
    }

    fn interrupt(self) -> Option<Cause> {
        match self {
            InChain::Interrupt(cause) => Some(cause),
            InChain::Thread | InChain::Softirq { .. } => None,
        }
    }
}

fn is_softirq(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Softirq { .. })
}

fn is_interrupt(cause: &Cause) -> bool {
    matches!(cause, Cause::Irq(_) | Cause::Softirq(_) | Cause::Timer | Cause::Ipi(_) | Cause::Nmi)
}

/// Whether `thread` raised and ran the softirq that `begun` began; `None` where no record shows it. A softirq runs after
/// the interrupt that raised it, or at the end of the critical section in which a system call raised it
/// (`__local_bh_enable_ip`). `softirq_raise` records show which; a softirq may itself be raised in another one. Without
/// them it was the one of interrupt and system call that began or ended last on its CPU.
fn is_own_doing(
    begun: &SidebandEvent,
    thread: Option<ThreadId>,
    sideband: &Sideband,
    left: usize,
) -> Option<bool> {
    let (EventKind::Softirq { vector: begun_vector }, Some(thread)) = (&begun.kind, thread) else {
        return None;
    };
    let mut of_cpu = sideband.earlier_on_cpu(begun, SEARCHED);
    let raise = |event: &&SidebandEvent| matches!(event.kind, EventKind::SoftirqRaise { vector } if vector == *begun_vector);
    if let Some(raised) = of_cpu.clone().find(raise)
        && let Some(within) = raised.within
    {
        return match within {
            Within::Thread => Some(raised.thread.is_some_and(|by| by.tid == thread.tid)),
            Within::Interrupt => Some(false),
            Within::Softirq => {
                let raiser = sideband.open_at(raised.cpu?, raised.time, is_softirq)?;
                is_own_doing(raiser, Some(thread), sideband, left.checked_sub(1)?)
            }
        };
    }
    of_cpu.find_map(|event| match event.kind {
        EventKind::Irq { .. } | EventKind::Vector { .. } => {
            Some((event.time >= begun.time.before(APART)).then_some(false))
        }
        EventKind::Syscall { .. } if event.thread.is_some_and(|other| other.tid == thread.tid) => {
            Some(Some(event.side == Side::Begin))
        }
        _ => None,
    })?
}

#[cfg(test)]
mod tests;
