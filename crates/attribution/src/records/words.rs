//! A record described in words, and the cause that it shows.

use model::{Cause, FaultKind, OffCpu};

use crate::records::event::{EventKind, Noise};
use crate::tables::kernel_entries::{UNNAMED_IRQ, described_cause, record_cause, softirq_name};
use crate::tables::syscalls;

/// The cause of the work that a record is about.
pub(crate) fn cause(kind: &EventKind) -> Cause {
    match kind {
        EventKind::Syscall { number, .. } => Cause::Syscall(syscalls::name(*number)),
        EventKind::Softirq { vector } => Cause::Softirq(softirq_name(*vector).into()),
        EventKind::Irq { name, .. } => Cause::Irq(name.clone().unwrap_or_else(|| UNNAMED_IRQ.into())),
        EventKind::Vector { name } => record_cause(name),
        EventKind::PageFault { .. } => Cause::PageFault(FaultKind::Minor),
        EventKind::Noise { of, .. } => noise_cause(of),
        _ => Cause::KernelUnknown,
    }
}

fn noise_cause(of: &Noise) -> Cause {
    match of {
        Noise::Thread { .. } => Cause::OffCpu(OffCpu::Preempted),
        Noise::Softirq { vector } => Cause::Softirq(softirq_name(*vector).into()),
        Noise::Irq { name } => described_cause(name),
        Noise::Nmi => Cause::Nmi,
        Noise::Hardware => Cause::HardwareGap,
    }
}

/// A `tlb_flush` record in words.
pub(crate) fn tell_tlb_flush(reason: u64, pages: u64) -> String {
    let what = match reason {
        0 => "TLB flush on a task switch",
        1 => "TLB shootdown requested by another CPU",
        2 | 3 => "TLB flush on this CPU",
        4 => "TLB shootdown sent to other CPUs",
        _ => "TLB flush",
    };
    if pages == u64::MAX { format!("{what}, all pages") } else { format!("{what}, {pages} pages") }
}

/// A record in a few words.
pub(crate) fn describe(kind: &EventKind) -> String {
    match kind {
        EventKind::Waking { target, .. } => format!("sched_waking of {target}"),
        EventKind::Migration { target, from, to } => {
            format!("sched_migrate_task of {target} from CPU {from} to CPU {to}")
        }
        EventKind::Irq { number, name } => {
            format!("irq_handler_entry irq={number} name={}", name.as_deref().unwrap_or("?"))
        }
        EventKind::Softirq { vector } => format!("softirq_entry vec={vector} [{}]", softirq_name(*vector)),
        EventKind::SoftirqRaise { vector } => {
            format!("softirq_raise vec={vector} [{}]", softirq_name(*vector))
        }
        EventKind::Vector { name } => format!("{name}_entry"),
        EventKind::Syscall { number, .. } => format!("sys_enter NR {number} ({})", syscalls::name(*number)),
        EventKind::PageFault { address, .. } => format!("page fault at {address:#x}"),
        EventKind::TlbFlush { reason, pages } => tell_tlb_flush(*reason, *pages),
        EventKind::IpiSend { .. } => "IPI sent".into(),
        EventKind::Idle { state: Some(state) } => format!("cpu_idle state={state}"),
        EventKind::Idle { state: None } => "cpu_idle: awake".into(),
        EventKind::SwitchOut => "sched_switch".into(),
        EventKind::OffCpu { target, ns } => format!("offcpu-time of {target}: {ns} ns"),
        EventKind::UserChain => "deferred callchain".into(),
        EventKind::Block { step, request } => format!("block request {step:?}: {request}"),
        EventKind::Socket { connection } => connection.clone(),
        EventKind::Noise { of, ns } => format!("osnoise: {} for {ns} ns", tell_noise(of)),
        EventKind::TraceLost { how } => format!("AUX record: {how}"),
        EventKind::RecordsLost { count } => format!("LOST record: {count} records"),
    }
}

fn tell_noise(of: &Noise) -> String {
    match of {
        Noise::Thread { tid, comm } => format!("thread {comm} (tid {tid})"),
        Noise::Softirq { vector } => format!("softirq {}", softirq_name(*vector)),
        Noise::Irq { name } => format!("interrupt {name}"),
        Noise::Nmi => "NMI".to_owned(),
        Noise::Hardware => "hardware".to_owned(),
    }
}
