//! What the kernel's osnoise tracer measured: interrupts, softirqs, NMIs and other threads on a CPU, each with its duration.
//!
//! Input: `osnoise:*` records, and the claims of other sources. A record about work that is claimed already adds what was measured to
//! that claim; else it makes one. A record is made when the work ends, by the tracer's own hooks, and its duration lacks what
//! interrupted the work (`get_int_safe_duration` of `kernel/trace/trace_osnoise.c`): the work began so much earlier, and by as much as
//! the records within it measured. Its field `start` is not read: it is of the scheduler's clock, records may be of another.

use model::{Cause, Certainty, Cpu, Evidence, ThreadId, TimeConversion, TscRange};

use crate::claims::claim::Claim;
use crate::claims::kernel::parts_of_interrupt;
use crate::claims::lengths::tell_ns;
use crate::claims::precedence::Rank;
use crate::records::event::{EventKind, Noise, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::{cause, describe};
use crate::tables::kernel_entries::UNNAMED_IRQ;
use crate::threads::stays::Stay;

/// How the words on what was measured begin.
const MEASURED: &str = "osnoise measured";
/// How many records back is looked for what interrupted it.
const SEARCHED: usize = 4096;
/// Threads that are named.
const NAMED: usize = 3;

/// Adds what was measured on the CPUs of `stays` while they lasted, other threads excepted.
pub(crate) fn add_noise(
    claims: &mut Vec<Claim>,
    sideband: &Sideband,
    stays: &[Stay],
    conversion: Option<TimeConversion>,
) {
    let Some(conversion) = conversion else { return };
    // What was measured twice in one time took place twice.
    let others = claims.len();
    let mut next = claims.iter().map(|claim| claim.occurrence).max().unwrap_or(0);
    for event in sideband.events() {
        let EventKind::Noise { of, ns } = &event.kind else { continue };
        let Some(cpu) = event.cpu.filter(|_| !matches!(of, Noise::Thread { .. })) else { continue };
        let range = whole(event, sideband, conversion);
        let parts: Vec<TscRange> = parts_of_interrupt(range, cpu, stays).collect();
        if parts.is_empty() {
            continue;
        }
        let measured = format!("{MEASURED} {}", tell_ns(*ns));
        let evidence = Evidence::record(event.offset, event.cpu, describe(&event.kind));
        if let Some(known) = claimed(&mut claims[..others], cpu, range, &cause(&event.kind)) {
            if known.cause == Cause::Irq(UNNAMED_IRQ.into()) {
                known.cause = cause(&event.kind);
            }
            known.say(&measured);
            known.evidence.push(evidence);
            continue;
        }
        next = next.saturating_add(1);
        claims.extend(parts.into_iter().map(|part| {
            let mut claim = Claim::new(part, Rank::KernelByRecord, cause(&event.kind), Certainty::Measured);
            claim.bid.depth = depth(of);
            (claim.cpu, claim.occurrence) = (Some(cpu), next);
            claim.say(&measured);
            claim.evidence.push(evidence.clone());
            claim
        }));
    }
}

/// The claim on `cpu` about the same work, by a flow or by other records: the one that has most of its time.
fn claimed<'c>(claims: &'c mut [Claim], cpu: Cpu, range: TscRange, about: &Cause) -> Option<&'c mut Claim> {
    let is_device = matches!(about, Cause::Irq(_));
    let same =
        |claim: &Claim| claim.cause == *about || is_device && claim.cause == Cause::Irq(UNNAMED_IRQ.into());
    let by_other = |claim: &Claim| match claim.bid.rank {
        Rank::Kernel | Rank::KernelByRecord => true,
        Rank::StandStill => *about == Cause::HardwareGap,
        _ => false,
    };
    let shared = |claim: &Claim| claim.range().intersection(range).map_or(0, |both| both.ticks().0);
    claims
        .iter_mut()
        .filter(|claim| claim.cpu == Some(cpu) && same(claim) && by_other(claim) && shared(claim) > 0)
        .max_by_key(|claim| shared(claim))
}

/// From the begin to the end of what `event` measured.
fn whole(event: &SidebandEvent, sideband: &Sideband, conversion: TimeConversion) -> TscRange {
    let EventKind::Noise { of, ns } = &event.kind else { return TscRange::new(event.time, event.time) };
    let mut begin = event.time.before(conversion.ns_to_ticks(*ns));
    for earlier in sideband.earlier_on_cpu(event, SEARCHED) {
        if earlier.time <= begin {
            break;
        }
        if let EventKind::Noise { of: inner, ns } = &earlier.kind
            && inner.interrupts(of)
        {
            begin = begin.before(conversion.ns_to_ticks(*ns));
        }
    }
    TscRange::new(begin, event.time)
}

/// As pairs of records nest: an interrupt interrupts a softirq, and an NMI all.
fn depth(of: &Noise) -> usize {
    match of {
        Noise::Thread { .. } | Noise::Hardware => 0,
        Noise::Softirq { .. } => 1,
        Noise::Irq { .. } => 3,
        Noise::Nmi => 4,
    }
}

/// Threads that were measured on a CPU.
pub(crate) struct MeasuredThreads {
    /// Name, number and nanoseconds, longest first.
    threads: Vec<(String, i32, u64)>,
    /// Their records.
    pub(crate) evidence: Vec<Evidence>,
}

impl MeasuredThreads {
    /// Those other than `own` on `cpu` in `range`; `None` where none was.
    pub(crate) fn on(
        cpu: Cpu,
        range: TscRange,
        own: Option<ThreadId>,
        sideband: &Sideband,
        conversion: TimeConversion,
    ) -> Option<MeasuredThreads> {
        let mut found = MeasuredThreads { threads: Vec::new(), evidence: Vec::new() };
        for event in sideband.measured_threads(cpu, range.start) {
            let EventKind::Noise { of: Noise::Thread { tid, comm }, ns } = &event.kind else { continue };
            let ran = whole(event, sideband, conversion);
            // They ran one after the other.
            if ran.start >= range.stop {
                break;
            }
            let is_own = own.is_some_and(|own| own.tid == *tid);
            if is_own || tid.0 == 0 || !ran.overlaps(range) {
                continue;
            }
            found.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
            match found.threads.iter_mut().find(|(_, known, _)| *known == tid.0) {
                Some((.., sum)) => *sum = sum.saturating_add(*ns),
                None => found.threads.push((comm.clone(), tid.0, *ns)),
            }
        }
        found.threads.sort_by_key(|&(_, tid, ns)| (std::cmp::Reverse(ns), tid));
        (!found.threads.is_empty()).then_some(found)
    }

    /// The name of the one that ran longest.
    pub(crate) fn longest(&self) -> &str {
        self.threads.first().map_or("", |(comm, ..)| comm)
    }

    /// "comp-cfs (tid 122) for 1.02 ms, …".
    pub(crate) fn tell(&self) -> String {
        let tell = |(comm, tid, ns): &(String, i32, u64)| format!("{comm} (tid {tid}) for {}", tell_ns(*ns));
        let mut named: Vec<String> = self.threads.iter().take(NAMED).map(tell).collect();
        if self.threads.len() > NAMED {
            named.push(format!("{} more", self.threads.len() - NAMED));
        }
        named.join(", ")
    }
}

/// The claim of the only interrupt that osnoise measured within `range` and no other source shows; `None` for none, and for several. A softirq
/// runs at the end of the interrupt before it.
pub(crate) fn only_interrupt<'c>(claims: &[&'c Claim], range: TscRange) -> Option<&'c Claim> {
    let within = || claims.iter().copied().filter(|claim| claim.range().overlaps(range));
    let is_softirq = |claim: &&Claim| matches!(claim.cause, Cause::Softirq(_));
    let mut interrupts = within().filter(|claim| !is_softirq(claim));
    match (interrupts.next(), interrupts.next()) {
        (None, _) => within().next().filter(|_| within().count() == 1),
        (Some(only), None) => Some(only),
        (Some(_), Some(_)) => None,
    }
}

/// The claims of interrupts among `claims` that rest on osnoise alone: on one record.
pub(crate) fn alone(claims: &[Claim]) -> Vec<&Claim> {
    let rests_on_it = |claim: &&Claim| {
        claim.bid.rank == Rank::KernelByRecord
            && claim.cause != Cause::HardwareGap
            && claim.detail.starts_with(MEASURED)
            && claim.evidence.len() == 1
    };
    claims.iter().filter(rests_on_it).collect()
}

#[cfg(test)]
mod tests;
