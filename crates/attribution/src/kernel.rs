//! Kernel work as claims: from the decoded flow where there is one, from pairs of records where there is none.
//!
//! Input: the frames of the flow and the records. Both are in order of time, so that one pass joins them.

use std::collections::{BTreeMap, HashMap};

use model::{Cause, Certainty, Cpu, Evidence, FaultKind, OffCpu, Tid, Tsc, TscRange};

use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::entries::{
    UNNAMED_IRQ, UNNAMED_SYSCALL, exception_at, kernel_thread_called, record_cause, softirq_name,
};
use crate::files::Addresses;
use crate::offcpu::Comms;
use crate::precedence::Rank;
use crate::sideband::{EventKind, Side, Sideband, SidebandEvent};
use crate::syscalls;
use crate::timeline::{Stay, Whereabouts, sleeps_within, stay_at};
use crate::waits::waited_for;
use crate::walk::Frame;

/// One claim for each frame of the flow, with names and evidence from the records that fall into it.
pub(crate) fn claims_of_frames(
    frames: &[Frame],
    sideband: &Sideband,
    addresses: &Addresses<'_>,
    comms: &dyn Comms,
    paths: &[CallPath],
) -> Vec<Claim> {
    // Who sleeps for a lock (that of the address space, when others map) does not wait for the page.
    let for_lock = |stay: &Stay| {
        let path = CallPath::at_end(paths, stay.range.start);
        let waited = path.and_then(|path| path.kernel_functions().find_map(waited_for));
        waited.is_some_and(|waited| waited.kind == OffCpu::Lock)
    };
    let waits_for_page = |range| !sleeps_within(addresses.stays, range).all(for_lock);
    let mut claims: Vec<Claim> =
        frames.iter().map(|frame| claim_of_frame(frame, sideband, addresses, comms)).collect();
    add_records(&mut claims, frames, sideband, addresses);
    for (claim, frame) in claims.iter_mut().zip(frames) {
        if claim.cause == Cause::PageFault(FaultKind::Minor) && waits_for_page(frame.range) {
            claim.cause = Cause::PageFault(FaultKind::Major);
        }
        claim.evidence.push(Evidence::packet(frame.aux_offset, frame.cpu, "first packet of the entry"));
        claim.evidence.push(Evidence::symbol(&*frame.symbol));
    }
    claims
}

fn claim_of_frame(frame: &Frame, sideband: &Sideband, addresses: &Addresses<'_>, comms: &dyn Comms) -> Claim {
    let stays = addresses.stays;
    let mut claim = Claim::new(frame.range, Rank::Kernel, frame.cause.clone(), Certainty::Decoded);
    claim.bid.depth = frame.depth;
    claim.occurrence = frame.occurrence;
    claim.cpu = frame.cpu;
    claim.uncertainty = frame.uncertainty;
    let unnamed_call = frame.cause == Cause::Syscall(UNNAMED_SYSCALL.into());
    if frame.began_before && (unnamed_call || frame.cause == Cause::KernelUnknown) {
        name_by_records(&mut claim, frame, sideband, stays);
    }
    if claim.cause == Cause::KernelUnknown && frame.began_before && frame.depth == 0 {
        name_by_thread(&mut claim, stays, comms);
    }
    if let Some(address) = frame.address {
        claim.say(&addresses.tell(address, frame.range.start));
    }
    for particular in &frame.particulars {
        claim.say(particular);
    }
    if frame.cause == Cause::KernelUnknown {
        let how = if frame.began_before { "already in the kernel, in" } else { "entered at" };
        let what = exception_at(&frame.symbol).map_or_else(String::new, |what| format!(" ({what})"));
        claim.say(&format!("{how} {}{what}", frame.symbol));
    }
    claim
}

/// A frame whose entry the flow did not see is what the records say was going on when the flow began.
fn name_by_records(claim: &mut Claim, frame: &Frame, sideband: &Sideband, stays: &[Stay]) {
    let may_be_interrupt = frame.cause == Cause::KernelUnknown;
    let interrupt =
        frame.cpu.filter(|_| may_be_interrupt).and_then(|cpu| sideband.interrupt_at(cpu, frame.range.start));
    let begun = interrupt.or_else(|| {
        let thread = stay_at(stays, frame.range.start)?.thread?;
        sideband.call_at(thread.tid, frame.range.start).filter(|_| frame.depth == 0)
    });
    if let Some(event) = begun {
        claim.cause = cause(&event.kind);
        claim.certainty = Certainty::Inferred;
        claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
    }
}

/// A kernel thread never enters the kernel: its name tells what it is for.
fn name_by_thread(claim: &mut Claim, stays: &[Stay], comms: &dyn Comms) {
    let at = claim.range().start;
    let Some(thread) = stay_at(stays, at).and_then(|stay| stay.thread) else { return };
    if let Some(cause) = kernel_thread_called(&comms.comm(thread, at)) {
        claim.cause = cause;
        claim.certainty = Certainty::Inferred;
    }
}

/// Gives each record to the innermost frame that it is about.
fn add_records(claims: &mut [Claim], frames: &[Frame], sideband: &Sideband, addresses: &Addresses<'_>) {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&index| (frames[index].range.start, frames[index].depth));
    let mut upcoming = order.into_iter().peekable();
    let mut open: Vec<usize> = Vec::new();
    let close = |open: &mut Vec<usize>, at: Tsc| {
        while open.last().is_some_and(|&index| frames[index].range.stop <= at) {
            open.pop();
        }
    };
    for event in sideband.events().iter().filter(|event| event.side == Side::Begin) {
        while let Some(index) = upcoming.next_if(|&index| frames[index].range.start <= event.time) {
            close(&mut open, frames[index].range.start);
            open.push(index);
        }
        close(&mut open, event.time);
        if !open.is_empty() && happened_to(event, addresses.stays) {
            let _ = open.iter().rev().find(|&&index| adopt(&mut claims[index], event, addresses));
        }
    }
}

/// Whether the record was made where the interval's thread was.
pub(crate) fn happened_to(event: &SidebandEvent, stays: &[Stay]) -> bool {
    stay_at(stays, event.time).is_some_and(|stay| match stay.place {
        Whereabouts::OnCpu(cpu) => event.cpu == Some(cpu),
        Whereabouts::OffCpu(_) => false,
        Whereabouts::Unknown => event.thread.is_some() && event.thread == stay.thread,
    })
}

/// Takes in what `event` says if it is about the claim's cause.
fn adopt(claim: &mut Claim, event: &SidebandEvent, addresses: &Addresses<'_>) -> bool {
    match (&event.kind, &claim.cause) {
        (EventKind::PageFault { address }, Cause::PageFault(_)) => {
            if claim.detail.is_empty() {
                claim.detail = addresses.tell(*address, event.time);
            }
        }
        (EventKind::Irq { name: Some(name), .. }, Cause::Irq(known)) if known == UNNAMED_IRQ => {
            claim.cause = Cause::Irq(name.clone());
        }
        (EventKind::Syscall { number, .. }, Cause::Syscall(known)) if known == UNNAMED_SYSCALL => {
            claim.cause = Cause::Syscall(syscalls::name(*number));
        }
        (EventKind::TlbFlush { reason, pages }, Cause::Ipi(_) | Cause::Syscall(_) | Cause::PageFault(_)) => {
            claim.say(&tell_tlb_flush(*reason, *pages));
        }
        (EventKind::Irq { .. }, Cause::Irq(_))
        | (EventKind::Syscall { .. }, Cause::Syscall(_))
        | (EventKind::Softirq { .. }, Cause::Softirq(_))
        | (EventKind::Vector { .. }, Cause::Timer | Cause::Ipi(_) | Cause::Irq(_)) => {}
        _ => return false,
    }
    claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
    true
}

/// Claims from begin and end records of the thread's own time, for stretches where no flow tells. A pair about work
/// that the flow knows too is the same happening as `of_frames` has it.
pub(crate) fn claims_of_records(sideband: &Sideband, stays: &[Stay], of_frames: &[Claim]) -> Vec<Claim> {
    let known = happenings(of_frames);
    let mut next = of_frames.iter().map(|claim| claim.occurrence).max().unwrap_or(0);
    let mut open: HashMap<Begun, &SidebandEvent> = HashMap::new();
    let mut claims = Vec::new();
    for event in sideband.events() {
        let Some(key) = begun(event) else { continue };
        if event.side == Side::Begin {
            open.insert(key, event);
            continue;
        }
        let Some(begin) = open.remove(&key).filter(|begin| begin.kind.same_work(&event.kind)) else {
            continue;
        };
        next += 1;
        let pair = claim_of_pair(begin, event);
        let occurrence = same_happening(&known, &pair).unwrap_or(next);
        claims.extend(in_own_time(&pair, key, stays).map(|mut claim| {
            claim.occurrence = occurrence;
            claim
        }));
    }
    claims
}

/// What can be open once only: interrupt work of one family on a CPU, a thread's system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Begun {
    Syscall(Tid),
    Softirq(Cpu),
    Irq(Cpu),
    Vector(Cpu),
}

fn begun(event: &SidebandEvent) -> Option<Begun> {
    match event.kind {
        EventKind::Syscall { .. } => event.thread.map(|thread| Begun::Syscall(thread.tid)),
        EventKind::Softirq { .. } => event.cpu.map(Begun::Softirq),
        EventKind::Irq { .. } => event.cpu.map(Begun::Irq),
        EventKind::Vector { .. } => event.cpu.map(Begun::Vector),
        _ => None,
    }
}

/// How the families nest: an interrupt cuts into a softirq, both into a system call.
fn depth(begun: Begun) -> usize {
    match begun {
        Begun::Syscall(_) => 0,
        Begun::Softirq(_) => 1,
        Begun::Vector(_) => 2,
        Begun::Irq(_) => 3,
    }
}

/// The parts of `pair` in stays that it took time of: its own thread's for a system call, those on its CPU else.
fn in_own_time<'a>(pair: &'a Claim, key: Begun, stays: &'a [Stay]) -> impl Iterator<Item = Claim> + 'a {
    let from = stays.partition_point(|stay| stay.range.stop <= pair.range().start);
    stays[from..].iter().take_while(|stay| stay.range.start < pair.range().stop).filter_map(move |stay| {
        let own = match (key, stay.place) {
            (_, Whereabouts::OffCpu(_)) => false,
            (Begun::Syscall(tid), _) => stay.thread.is_some_and(|thread| thread.tid == tid),
            (_, Whereabouts::OnCpu(cpu)) => pair.cpu == Some(cpu),
            (_, Whereabouts::Unknown) => false,
        };
        let range = stay.range.intersection(pair.range()).filter(|_| own)?;
        let mut claim = pair.clone();
        claim.bid.range = range;
        claim.bid.depth = depth(key);
        Some(claim)
    })
}

/// Claims of kernel work by cause, each in order of time.
pub(crate) fn happenings(of_frames: &[Claim]) -> BTreeMap<&Cause, Vec<(TscRange, u64)>> {
    let mut known: BTreeMap<&Cause, Vec<(TscRange, u64)>> = BTreeMap::new();
    for claim in of_frames {
        known.entry(&claim.cause).or_default().push((claim.range(), claim.occurrence));
    }
    for happenings in known.values_mut() {
        happenings.sort_by_key(|(range, _)| range.start);
    }
    known
}

pub(crate) fn same_happening(known: &BTreeMap<&Cause, Vec<(TscRange, u64)>>, pair: &Claim) -> Option<u64> {
    let of_cause = known.get(&pair.cause)?;
    let from = of_cause.partition_point(|(range, _)| range.stop <= pair.range().start);
    of_cause.get(from).filter(|(range, _)| range.overlaps(pair.range())).map(|&(_, occurrence)| occurrence)
}

fn claim_of_pair(begin: &SidebandEvent, end: &SidebandEvent) -> Claim {
    let range = TscRange::new(begin.time, end.time);
    let mut claim = Claim::new(range, Rank::KernelByRecord, cause(&begin.kind), Certainty::Measured);
    claim.cpu = begin.cpu;
    claim.evidence = vec![
        Evidence::record(begin.offset, begin.cpu, describe(&begin.kind)),
        Evidence::record(end.offset, end.cpu, "its end"),
    ];
    claim
}

/// The cause that the work a record is about has.
pub(crate) fn cause(kind: &EventKind) -> Cause {
    match kind {
        EventKind::Syscall { number, .. } => Cause::Syscall(syscalls::name(*number)),
        EventKind::Softirq { vector } => Cause::Softirq(softirq_name(*vector).into()),
        EventKind::Irq { name, .. } => Cause::Irq(name.clone().unwrap_or_else(|| UNNAMED_IRQ.into())),
        EventKind::Vector { name } => record_cause(name),
        EventKind::PageFault { .. } => Cause::PageFault(FaultKind::Minor),
        _ => Cause::KernelUnknown,
    }
}

/// A `tlb_flush` record in words.
fn tell_tlb_flush(reason: u64, pages: u64) -> String {
    let what = match reason {
        0 => "TLB flush on a task switch",
        1 => "TLB shootdown asked for by another CPU",
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
        EventKind::Irq { number, name } => {
            format!("irq_handler_entry irq={number} name={}", name.as_deref().unwrap_or("?"))
        }
        EventKind::Softirq { vector } => format!("softirq_entry vec={vector} [{}]", softirq_name(*vector)),
        EventKind::Vector { name } => format!("{name}_entry"),
        EventKind::Syscall { number, .. } => format!("sys_enter NR {number} ({})", syscalls::name(*number)),
        EventKind::PageFault { address } => format!("page fault at {address:#x}"),
        EventKind::TlbFlush { reason, pages } => tell_tlb_flush(*reason, *pages),
        EventKind::Idle { state: Some(state) } => format!("cpu_idle state={state}"),
        EventKind::Idle { state: None } => "cpu_idle: awake".into(),
        EventKind::SwitchOut => "sched_switch".into(),
        EventKind::Block { step, request } => format!("block request {step:?}: {request}"),
        EventKind::Socket { connection } => connection.clone(),
        EventKind::TraceLost { how } => format!("AUX record: {how}"),
        EventKind::RecordsLost { count } => format!("LOST record: {count} records"),
    }
}

#[cfg(test)]
mod tests;
