//! Who sent an IPI, and in which system call: `munmap()`, `mprotect()` and `membarrier()` interrupt the CPUs on which
//! other threads of the process run.
//!
//! Input: claims of `kernel.ipi.*`, and the records of the other CPUs: `ipi_send_cpu` and `ipi_send_cpumask` name the CPUs
//! that they go to; `tlb_flush` with the reason "IPI sent" does not, and counts only for threads of the same process. Without such
//! records a thread of the process is the likely sender that was in one of the system calls that send it.
//! Where several threads may have sent it, none is named. Where the kernel was not traced, what the records of an interrupt show is true
//! of the time around them, too.

use std::collections::HashMap;

use model::{Cause, Evidence, Role, ThreadId, Ticks, TscRange};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::inputs::comms::{Comms, named};
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::describe;
use crate::tables::syscalls;
use crate::threads::stays::{Stay, stay_at};

/// An IPI arrives so soon, unless the CPU has interrupts disabled: about 20 us.
const ARRIVES: Ticks = Ticks(50_000);

/// `TLB_REMOTE_SEND_IPI` of `include/linux/mm_types.h`.
const SENT_FOR_TLB: u64 = 4;

/// System calls after which other CPUs must drop translations, or run a barrier (`mm/`, `kernel/sched/membarrier.c`).
const CHANGE_MAPPINGS: [&str; 7] =
    ["madvise", "membarrier", "mprotect", "mremap", "munmap", "pkey_mprotect", "process_madvise"];

/// Adds the senders to the IPIs among `claims`.
pub(crate) fn name_senders(
    claims: &mut [Claim],
    stays: &[Stay],
    sideband: &Sideband,
    comms: &dyn Comms,
) -> Senders {
    let mut senders = Senders::default();
    for claim in claims.iter_mut().filter(|claim| matches!(claim.cause, Cause::Ipi(_))) {
        let by_record = sender_of(claim, stays, sideband);
        let (likely, role) =
            if by_record.is_some() { ("", Role::Sender) } else { ("most likely ", Role::LikelySender) };
        let Some(sent) = by_record.or_else(|| caller_of(claim, stays, sideband)) else { continue };
        let Some(thread) = sent.thread else { continue };
        let who = named(comms, thread, sent.time);
        let call = sideband.call_at(thread.tid, sent.time).and_then(|call| match &call.kind {
            EventKind::Syscall { number, .. } => Some(format!("{}()", syscalls::name(*number))),
            _ => None,
        });
        let call = call.unwrap_or_default();
        let within = if call.is_empty() { String::new() } else { format!(" in {call}") };
        let cpu = sent.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        let sender = Sender {
            words: format!("{likely}sent by {who}{cpu}{within}"),
            by: comms.comm(thread, sent.time),
            role,
            call,
            record: Evidence::record(sent.offset, sent.cpu, describe(&sent.kind)),
        };
        sender.add_to(claim);
        if claim.bid.rank == Rank::KernelByRecord {
            senders.0.insert((claim.cause.clone(), claim.occurrence), sender);
        }
    }
    senders
}

/// Who sent an IPI, as a claim says it.
struct Sender {
    words: String,
    by: String,
    role: Role,
    call: String,
    record: Evidence,
}

impl Sender {
    fn add_to(&self, claim: &mut Claim) {
        claim.say(&self.words);
        claim.story.by.clone_from(&self.by);
        claim.story.by_place.clone_from(&self.call);
        claim.story.role = self.role;
        claim.evidence.push(self.record.clone());
    }
}

/// The senders of the IPIs that pairs of records show, by cause and occurrence.
#[derive(Default)]
pub(crate) struct Senders(HashMap<(Cause, u64), Sender>);

/// Gives the time around an IPI's records, in which tracing was off, the sender that [`name_senders`] found for the records themselves.
pub(crate) fn name_senders_around(claims: &mut [Claim], senders: &Senders) {
    let around = claims.iter_mut().filter(|claim| claim.bid.rank == Rank::Untraced);
    for claim in around.filter(|claim| matches!(claim.cause, Cause::Ipi(_))) {
        let Some(sender) = senders.0.get(&(claim.cause.clone(), claim.occurrence)) else { continue };
        sender.add_to(claim);
    }
}

/// The `sys_enter` record of the thread of the same process that was in a call which changes mappings, if only one was.
fn caller_of<'a>(claim: &Claim, stays: &[Stay], sideband: &'a Sideband) -> Option<&'a SidebandEvent> {
    let begin = claim.range().start;
    let own = stay_at(stays, begin).and_then(|stay| stay.thread)?;
    if !matches!(&claim.cause, Cause::Ipi(what) if what.starts_with("call-function")) {
        return None;
    }
    let mut callers = sideband.calls_at(begin).filter(|call| {
        let is_other = call.thread.is_some_and(|thread| thread.pid == own.pid && thread.tid != own.tid);
        let EventKind::Syscall { number, .. } = &call.kind else { return false };
        is_other && CHANGE_MAPPINGS.contains(&&*syscalls::name(*number))
    });
    callers.next().filter(|_| callers.next().is_none())
}

/// The last record before the claim by which its IPI was sent, where only one thread may have sent it.
fn sender_of<'a>(claim: &Claim, stays: &[Stay], sideband: &'a Sideband) -> Option<&'a SidebandEvent> {
    let (cpu, begin) = (claim.cpu?, claim.range().start);
    let own = stay_at(stays, begin).and_then(|stay| stay.thread);
    // The others are not sent by these records' functions: a CPU sends itself the IPI of irq_work.
    let calls = match &claim.cause {
        Cause::Ipi(what) if what.starts_with("call-function") => true,
        Cause::Ipi(what) if what == "reschedule" => false,
        _ => return None,
    };
    let before = TscRange::new(begin.before(ARRIVES), begin);
    let events = sideband.events();
    let from = events.partition_point(|event| event.time < before.start);
    let until = events.partition_point(|event| event.time <= before.stop);
    let other_cpu = events[from..until].iter().filter(|event| event.cpu.is_some_and(|other| other != cpu));
    let same_process = |thread: ThreadId| own.is_some_and(|own| own.pid == thread.pid);
    let sends: Vec<_> = other_cpu
        .filter(|event| match &event.kind {
            EventKind::IpiSend { to, calls: requests } => *requests == calls && to.contains(&cpu),
            EventKind::TlbFlush { reason: SENT_FOR_TLB, .. } => {
                calls && event.thread.is_some_and(same_process)
            }
            _ => false,
        })
        .collect();
    let last = *sends.last()?;
    sends.iter().all(|sent| sent.thread == last.thread && sent.cpu == last.cpu).then_some(last)
}

#[cfg(test)]
mod tests;
