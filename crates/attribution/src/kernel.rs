//! Kernel work as claims: from the decoded flow where there is one, from pairs of records where there is none.

use std::collections::HashMap;

use model::{Cause, Certainty, Cpu, Evidence, FaultKind, ThreadId, TscRange};

use crate::claim::Claim;
use crate::entries::{UNNAMED_IRQ, UNNAMED_SYSCALL, softirq_name};
use crate::precedence::Rank;
use crate::sideband::{EventKind, Side, SidebandEvent};
use crate::syscalls;
use crate::timeline::{Stay, Whereabouts};
use crate::walk::Frame;

/// One claim for each frame of the flow, with names and evidence from the records that fall into it.
pub(crate) fn claims_of_frames(frames: &[Frame], events: &[SidebandEvent], stays: &[Stay]) -> Vec<Claim> {
    frames
        .iter()
        .enumerate()
        .map(|(index, frame)| {
            let mut claim = Claim::new(frame.range, Rank::Kernel, frame.cause.clone(), Certainty::Decoded);
            claim.depth = frame.depth;
            claim.occurrence = index as u64 + 1;
            claim.cpu = frame.cpu;
            claim.uncertainty = frame.uncertainty;
            add_records(&mut claim, frame, frames, events);
            if slept_inside(frame.range, stays) && claim.cause == Cause::PageFault(FaultKind::Minor) {
                claim.cause = Cause::PageFault(FaultKind::Major);
            }
            claim.evidence.push(Evidence::packet(frame.aux_offset, frame.cpu, "first packet of the entry"));
            claim.evidence.push(Evidence::symbol(&*frame.symbol));
            claim
        })
        .collect()
}

/// Adds what the records inside `frame` say, but for those that a deeper frame owns.
fn add_records(claim: &mut Claim, frame: &Frame, frames: &[Frame], events: &[SidebandEvent]) {
    let from = events.partition_point(|event| event.time < frame.range.start);
    for event in events[from..].iter().take_while(|event| event.time < frame.range.stop) {
        let here = event.cpu == frame.cpu && event.side == Side::Begin;
        if !here || owned_by_deeper_frame(event, frame, frames) {
            continue;
        }
        match (&event.kind, &claim.cause) {
            (EventKind::PageFault { address }, Cause::PageFault(_)) => {
                claim.detail = format!("address {address:#x}");
            }
            (EventKind::Irq { name: Some(name), .. }, Cause::Irq(known)) if known == UNNAMED_IRQ => {
                claim.cause = Cause::Irq(name.clone());
            }
            (EventKind::Syscall { number, .. }, Cause::Syscall(known)) if known == UNNAMED_SYSCALL => {
                claim.cause = Cause::Syscall(syscalls::name(*number));
            }
            (EventKind::Irq { .. }, Cause::Irq(_))
            | (EventKind::Syscall { .. }, Cause::Syscall(_))
            | (EventKind::Softirq { .. }, Cause::Softirq(_))
            | (EventKind::Vector { .. }, Cause::Timer | Cause::Ipi(_) | Cause::Irq(_)) => {}
            _ => continue,
        }
        claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
    }
}

fn owned_by_deeper_frame(event: &SidebandEvent, frame: &Frame, frames: &[Frame]) -> bool {
    frames.iter().any(|other| {
        other.depth > frame.depth
            && other.cause == frame.cause
            && other.range.contains(event.time)
            && other.cpu == frame.cpu
    })
}

fn slept_inside(range: TscRange, stays: &[Stay]) -> bool {
    stays.iter().any(|stay| {
        matches!(stay.place, Whereabouts::OffCpu(perfdata::LeaveReason::Slept(_)))
            && range.contains(stay.range.start)
            && stay.range.stop <= range.stop
    })
}

/// Claims from begin and end records on the thread's CPUs, for stretches where no flow tells.
pub(crate) fn claims_of_records(
    events: &[SidebandEvent],
    stays: &[Stay],
    first_occurrence: u64,
) -> Vec<Claim> {
    let mut open: HashMap<(Cpu, Source), usize> = HashMap::new();
    let mut claims = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let (Some(cpu), Some(source)) = (event.cpu, source(&event.kind)) else { continue };
        match event.side {
            Side::Begin => {
                open.insert((cpu, source), index);
            }
            Side::End => {
                let Some(begin) = open.remove(&(cpu, source)) else { continue };
                let range = TscRange::new(events[begin].time, event.time);
                if on_thread(cpu, range, events[begin].thread, source, stays) {
                    let mut claim = claim_of_pair(&events[begin], event, range);
                    claim.occurrence = first_occurrence + claims.len() as u64;
                    claim.depth = depth(source);
                    claims.push(claim);
                }
            }
        }
    }
    claims
}

/// The families of records that pair with their own kind; each can be open once per CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Syscall,
    Softirq,
    Irq,
    Vector,
}

fn source(kind: &EventKind) -> Option<Source> {
    match kind {
        EventKind::Syscall { .. } => Some(Source::Syscall),
        EventKind::Softirq { .. } => Some(Source::Softirq),
        EventKind::Irq { .. } => Some(Source::Irq),
        EventKind::Vector { .. } => Some(Source::Vector),
        EventKind::Waking { .. } | EventKind::PageFault { .. } | EventKind::Idle { .. } => None,
    }
}

/// How the families nest: an interrupt cuts into a softirq, both into a system call.
fn depth(source: Source) -> usize {
    match source {
        Source::Syscall => 0,
        Source::Softirq => 1,
        Source::Vector => 2,
        Source::Irq => 3,
    }
}

/// Whether the pair took time of the interval's thread: it was on that CPU, and a system call must be its own.
fn on_thread(cpu: Cpu, range: TscRange, thread: Option<ThreadId>, source: Source, stays: &[Stay]) -> bool {
    stays.iter().any(|stay| {
        stay.place == Whereabouts::OnCpu(cpu)
            && stay.range.overlaps(range)
            && (source != Source::Syscall || thread.map(|t| t.tid) == stay.thread.map(|t| t.tid))
    })
}

fn claim_of_pair(begin: &SidebandEvent, end: &SidebandEvent, range: TscRange) -> Claim {
    let mut claim = Claim::new(range, Rank::KernelByRecord, cause(&begin.kind), Certainty::Measured);
    claim.cpu = begin.cpu;
    claim.evidence = vec![
        Evidence::record(begin.offset, begin.cpu, describe(&begin.kind)),
        Evidence::record(end.offset, end.cpu, "its end"),
    ];
    claim
}

fn cause(kind: &EventKind) -> Cause {
    match kind {
        EventKind::Syscall { number, .. } => Cause::Syscall(syscalls::name(*number)),
        EventKind::Softirq { vector } => Cause::Softirq(softirq_name(*vector).into()),
        EventKind::Irq { name, .. } => Cause::Irq(name.clone().unwrap_or_else(|| UNNAMED_IRQ.into())),
        EventKind::Vector { name } => cause_of_vector(name),
        EventKind::Waking { .. } | EventKind::PageFault { .. } | EventKind::Idle { .. } => {
            Cause::KernelUnknown
        }
    }
}

/// Names of the tracepoints in `arch/x86/include/asm/trace/irq_vectors.h`.
fn cause_of_vector(name: &str) -> Cause {
    match name {
        "local_timer" => Cause::Timer,
        "reschedule" => Cause::Ipi("reschedule".into()),
        "call_function" => Cause::Ipi("call-function".into()),
        "call_function_single" => Cause::Ipi("call-function-single".into()),
        "irq_work" => Cause::Ipi("irq-work".into()),
        "x86_platform_ipi" => Cause::Ipi("platform".into()),
        other => Cause::Irq(other.replace('_', "-").replace("-apic", "")),
    }
}

fn describe(kind: &EventKind) -> String {
    match kind {
        EventKind::Waking { target } => format!("sched_waking of {target}"),
        EventKind::Irq { number, name } => {
            format!("irq_handler_entry irq={number} name={}", name.as_deref().unwrap_or("?"))
        }
        EventKind::Softirq { vector } => format!("softirq_entry vec={vector} [{}]", softirq_name(*vector)),
        EventKind::Vector { name } => format!("{name}_entry"),
        EventKind::Syscall { number, .. } => format!("sys_enter NR {number} ({})", syscalls::name(*number)),
        EventKind::PageFault { address } => format!("page fault at {address:#x}"),
        EventKind::Idle { state: Some(state) } => format!("cpu_idle state={state}"),
        EventKind::Idle { state: None } => "cpu_idle: awake".into(),
    }
}
