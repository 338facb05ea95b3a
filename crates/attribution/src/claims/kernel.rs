//! Kernel work as claims: from the decoded flow where there is one, from pairs of records where there is none.
//!
//! Input: the frames of the flow and the records. Both are in time order, so one pass merges them.

use std::collections::HashMap;

use model::{Cause, Certainty, Cpu, Evidence, FaultKind, Tid, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::occurrences::Occurrences;
use crate::claims::precedence::Rank;
use crate::claims::system_call::Call;
use crate::inputs::comms::Comms;
use crate::inputs::files::Files;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::{cause, describe, tell_tlb_flush};
use crate::tables::exceptions::exception_at;
use crate::tables::kernel_entries::{UNNAMED_IRQ, UNNAMED_SYSCALL, kernel_thread_called};
use crate::tables::syscalls;
use crate::tables::wait_functions::{WaitedFor, waited_for};
use crate::threads::addresses::Addresses;
use crate::threads::stays::{Stay, Whereabouts, sleeps_within, stay_at};
use crate::walk::activity::Frame;
use crate::walk::call_path::CallPath;

/// One claim for each frame of the flow, with names and evidence from the records that fall into it.
pub(crate) fn claims_of_frames(
    frames: &[Frame],
    sideband: &Sideband,
    addresses: &Addresses<'_>,
    comms: &dyn Comms,
    paths: &[CallPath],
) -> Vec<Claim> {
    // A thread that sleeps for a lock (that of the address space, when others map) or for free memory does not wait for
    // the page.
    let not_for_page = |stay: &Stay| {
        let path = CallPath::at_end(paths, stay.range.start);
        let waited = path.and_then(|path| waited_for(path.kernel_functions()));
        waited.is_some_and(WaitedFor::brings_no_data)
    };
    let waits_for_page = |range| !sleeps_within(addresses.stays, range).all(not_for_page);
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
    if frame.began_before && (is_unnamed_call(&frame.cause) || frame.cause == Cause::KernelUnknown) {
        name_by_records(&mut claim, frame, sideband, addresses);
    }
    if claim.cause == Cause::KernelUnknown && frame.began_before && frame.depth == 0 {
        name_by_thread(&mut claim, stays, comms);
    }
    if let Some(address) = frame.address {
        claim.say(&addresses.tell(address, frame.range.start));
    }
    if let Some(work) = frame.fault_work {
        work.clone_into(&mut claim.story.object);
        claim.say(work);
    }
    if let Some(lock) = frame.particulars.first().filter(|_| frame.cause == Cause::KernelSpin) {
        claim.story.object = lock.to_string();
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

/// A frame whose entry is not in the flow has the cause that the records show for the time when the flow began.
fn name_by_records(claim: &mut Claim, frame: &Frame, sideband: &Sideband, addresses: &Addresses<'_>) {
    let may_be_interrupt = frame.cause == Cause::KernelUnknown;
    let interrupt =
        frame.cpu.filter(|_| may_be_interrupt).and_then(|cpu| sideband.interrupt_at(cpu, frame.range.start));
    let begun = interrupt.or_else(|| {
        let thread = stay_at(addresses.stays, frame.range.start)?.thread.filter(|_| frame.depth == 0)?;
        let open = sideband.call_at(thread.tid, frame.range.start);
        // It leaves a call whose `sys_exit` came before.
        open.or_else(|| sideband.last_call(thread.tid, frame.range.start).filter(|_| !may_be_interrupt))
    });
    if let Some(event) = begun {
        name_by(claim, event, addresses.files);
    }
}

/// Names the last of `claims`, a call that the interval's end cuts before the flow shows which one it is, by the `sys_enter`
/// record that comes next.
pub(crate) fn name_cut_call(claims: &mut [Claim], entered: &SidebandEvent, files: &dyn Files) {
    if let Some(claim) = claims.last_mut().filter(|claim| is_unnamed_call(&claim.cause)) {
        let of_flow = std::mem::take(&mut claim.evidence);
        name_by(claim, entered, files);
        claim.evidence.extend(of_flow);
    }
}

/// Whether it is a system call that nothing names.
pub(crate) fn is_unnamed_call(cause: &Cause) -> bool {
    matches!(cause, Cause::Syscall(name) if name == UNNAMED_SYSCALL)
}

/// How the words on a descriptor begin.
const ON_DESCRIPTOR: &str = "on fd ";

/// What a system call worked on: `on fd 7 (/srv/db)`; once.
fn say_descriptor(claim: &mut Claim, entered: &SidebandEvent, files: &dyn Files) {
    let call = Some(entered).filter(|event| event.side == Side::Begin);
    let descriptor = call.and_then(|event| Call::of_record(event, files)?.descriptor());
    if let Some(descriptor) = descriptor.filter(|_| !claim.detail.contains(ON_DESCRIPTOR)) {
        claim.say(&descriptor);
    }
}

fn name_by(claim: &mut Claim, event: &SidebandEvent, files: &dyn Files) {
    say_descriptor(claim, event, files);
    claim.cause = cause(&event.kind);
    claim.certainty = Certainty::Inferred;
    claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
}

/// A kernel thread never enters the kernel: its name shows its purpose.
fn name_by_thread(claim: &mut Claim, stays: &[Stay], comms: &dyn Comms) {
    let at = claim.range().start;
    let Some(thread) = stay_at(stays, at).and_then(|stay| stay.thread) else { return };
    if let Some(cause) = kernel_thread_called(&comms.comm(thread, at)) {
        claim.cause = cause;
        claim.certainty = Certainty::Inferred;
    }
}

/// Assigns each record to the innermost frame that it is about.
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

/// Whether the record was made on the CPU or in the thread of the interval.
pub(crate) fn happened_to(event: &SidebandEvent, stays: &[Stay]) -> bool {
    stay_at(stays, event.time).is_some_and(|stay| match stay.place {
        Whereabouts::OnCpu(cpu) => event.cpu == Some(cpu),
        Whereabouts::OffCpu(_) | Whereabouts::NotRun => false,
        Whereabouts::Unknown => event.thread.is_some() && event.thread == stay.thread,
    })
}

/// Adds what `event` shows if it is about the claim's cause.
fn adopt(claim: &mut Claim, event: &SidebandEvent, addresses: &Addresses<'_>) -> bool {
    match (&event.kind, &claim.cause) {
        (EventKind::PageFault { address, .. }, Cause::PageFault(_)) => {
            // What it did is known by the flow; where, by the first record.
            if claim.detail == claim.story.object {
                claim.detail = addresses.tell(*address, event.time);
                let work = claim.story.object.clone();
                claim.say(&work);
            }
        }
        (EventKind::Irq { name: Some(name), .. }, Cause::Irq(known)) if known == UNNAMED_IRQ => {
            claim.cause = Cause::Irq(name.clone());
        }
        (EventKind::Syscall { number, .. }, Cause::Syscall(known)) => {
            let name = syscalls::name(*number);
            // A record of another call says nothing of this one.
            if known == UNNAMED_SYSCALL || *known == name {
                claim.cause = Cause::Syscall(name);
                say_descriptor(claim, event, addresses.files);
            }
        }
        (EventKind::TlbFlush { reason, pages }, Cause::Ipi(_) | Cause::Syscall(_) | Cause::PageFault(_)) => {
            claim.say(&tell_tlb_flush(*reason, *pages));
        }
        (EventKind::Irq { .. }, Cause::Irq(_))
        | (EventKind::Softirq { .. }, Cause::Softirq(_))
        | (EventKind::Vector { .. }, Cause::Timer | Cause::Ipi(_) | Cause::Irq(_)) => {}
        _ => return false,
    }
    claim.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
    true
}

/// Claims from begin and end records of the thread's own time, for stretches without a flow. A pair about work that
/// the flow also shows is the same occurrence as in `of_frames`.
pub(crate) fn claims_of_records(
    sideband: &Sideband,
    stays: &[Stay],
    of_frames: &[Claim],
    files: &dyn Files,
) -> Vec<Claim> {
    let known = Occurrences::of(of_frames);
    let mut next = of_frames.iter().map(|claim| claim.occurrence).max().unwrap_or(0);
    let mut open: HashMap<Begun, &SidebandEvent> = HashMap::new();
    let mut claims = Vec::new();
    let own = own_work(stays);
    for event in sideband.events() {
        let Some(key) = begun(event).filter(|key| own.contains(key)) else { continue };
        if event.side == Side::Begin {
            open.insert(key, event);
            continue;
        }
        let Some(begin) = open.remove(&key).filter(|begin| begin.kind.same_work(&event.kind)) else {
            continue;
        };
        next += 1;
        let range = TscRange::new(begin.time, event.time);
        if own_parts(range, key, begin.cpu, stays).next().is_none() {
            continue;
        }
        let pair = claim_of_pair(begin, event, files);
        let occurrence = known.same_as(&pair).unwrap_or(next);
        claims.extend(in_own_time(&pair, key, stays).map(|mut claim| {
            claim.occurrence = occurrence;
            claim
        }));
    }
    claims
}

/// What can be open only once: interrupt work of one family on a CPU, a thread's system call.
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

/// What may take the time of `stays`: most records around are about other threads and CPUs. Few, so no table.
fn own_work(stays: &[Stay]) -> Vec<Begun> {
    let mut own: Vec<Begun> = Vec::new();
    for stay in stays {
        let calls = stay.thread.map(|thread| Begun::Syscall(thread.tid));
        let interrupts = match stay.place {
            Whereabouts::OnCpu(cpu) => [Begun::Softirq(cpu), Begun::Irq(cpu), Begun::Vector(cpu)].map(Some),
            _ => [None; 3],
        };
        for work in interrupts.into_iter().chain([calls]).flatten() {
            if !own.contains(&work) {
                own.push(work);
            }
        }
    }
    own
}

/// How the families nest: an interrupt interrupts a softirq, both interrupt a system call.
fn depth(begun: Begun) -> usize {
    match begun {
        Begun::Syscall(_) => 0,
        Begun::Softirq(_) => 1,
        Begun::Vector(_) => 2,
        Begun::Irq(_) => 3,
    }
}

/// The parts of `pair` in stays whose time it took: its own thread's for a system call, else those on its CPU.
fn in_own_time<'a>(pair: &'a Claim, key: Begun, stays: &'a [Stay]) -> impl Iterator<Item = Claim> + 'a {
    own_parts(pair.range(), key, pair.cpu, stays).map(move |range| {
        let mut claim = pair.clone();
        claim.bid.range = range;
        claim.bid.depth = depth(key);
        claim
    })
}

/// The parts of interrupt work on `cpu` in stays whose time it took.
pub(super) fn parts_of_interrupt(work: TscRange, cpu: Cpu, stays: &[Stay]) -> impl Iterator<Item = TscRange> {
    own_parts(work, Begun::Irq(cpu), Some(cpu), stays)
}

/// The same of the time from the begin to the end of work that is `key`'s on `cpu`.
fn own_parts(work: TscRange, key: Begun, cpu: Option<Cpu>, stays: &[Stay]) -> impl Iterator<Item = TscRange> {
    let from = stays.partition_point(|stay| stay.range.stop <= work.start);
    stays[from..].iter().take_while(move |stay| stay.range.start < work.stop).filter_map(move |stay| {
        let own = match (key, stay.place) {
            (_, Whereabouts::OffCpu(_) | Whereabouts::NotRun) => false,
            (Begun::Syscall(tid), _) => stay.thread.is_some_and(|thread| thread.tid == tid),
            (_, Whereabouts::OnCpu(on)) => cpu == Some(on),
            (_, Whereabouts::Unknown) => false,
        };
        stay.range.intersection(work).filter(|_| own)
    })
}

fn claim_of_pair(begin: &SidebandEvent, end: &SidebandEvent, files: &dyn Files) -> Claim {
    let range = TscRange::new(begin.time, end.time);
    let mut claim = Claim::new(range, Rank::KernelByRecord, cause(&begin.kind), Certainty::Measured);
    claim.cpu = begin.cpu;
    say_descriptor(&mut claim, begin, files);
    claim.evidence = vec![
        Evidence::record(begin.offset, begin.cpu, describe(&begin.kind)),
        Evidence::record(end.offset, end.cpu, "its end"),
    ];
    claim
}

#[cfg(test)]
mod tests;
