//! The kernel's time in a trace of user code alone: which entry it was, by the flow before it and the records in it.
//!
//! Input: the silences of the flow in order, the records, and the claims of their pairs. Output: claims for the time
//! around the pairs, which outrank them. A thread that leaves its CPU in the kernel comes back in the same entry: all
//! parts of such a silence are treated as one.

use std::collections::BTreeSet;

use model::{Cause, Certainty, Evidence, FaultKind, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;

use crate::claims::claim::Claim;
use crate::claims::kernel::{happened_to, is_unnamed_call};
use crate::claims::noise;
use crate::claims::occurrences::Occurrences;
use crate::claims::precedence::Rank;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::{cause, describe};
use crate::tables::kernel_entries::UNNAMED_IRQ;
use crate::tables::page_faults::work_by_error;
use crate::threads::addresses::Addresses;
use crate::threads::stays::{leaves_within, sleeps_within};
use crate::walk::activity::Silence;

/// What identifies the work in silences.
pub(crate) struct Untraced<'a> {
    sideband: &'a Sideband,
    addresses: &'a Addresses<'a>,
    /// The occurrences that claims of record pairs show.
    known: Occurrences<'a>,
    /// The claims of what osnoise measured, where nothing else shows it.
    noises: Vec<&'a Claim>,
    /// The shortest silence that may hold an unrecorded absence.
    untold: Option<Ticks>,
}

/// A kernel entry by the records in a silence.
struct Entered<'a> {
    /// The record that shows it.
    begin: &'a SidebandEvent,
    /// The time of the record that shows its end. No record shows the end of a page fault.
    end: Option<Tsc>,
}

impl Entered<'_> {
    fn is_fault(&self) -> bool {
        is_fault(self.begin)
    }

    /// Entries inside which other entries may lie, where these cannot be distinguished from what follows.
    fn is_interrupt(&self) -> bool {
        self.begin.kind.is_interrupt()
    }
}

impl<'a> Untraced<'a> {
    /// Names silences by `sideband`; `claims` hold those of its pairs. A silence at least as long as the last
    /// argument may hold an unrecorded absence from the CPU.
    pub(crate) fn new(
        sideband: &'a Sideband,
        addresses: &'a Addresses<'a>,
        claims: &'a [Claim],
        untold: Option<Ticks>,
    ) -> Untraced<'a> {
        Untraced { sideband, addresses, known: Occurrences::of(claims), noises: noise::alone(claims), untold }
    }

    /// The claims of `silences`.
    pub(crate) fn claims(&self, silences: &[&Silence]) -> Vec<Claim> {
        let goes_on = |a: &&Silence, b: &&Silence| a.began == b.began && b.range.start > b.began;
        silences.chunk_by(goes_on).flat_map(|parts| self.claims_of_one(parts)).collect()
    }

    /// The claims of one silence with all its parts.
    fn claims_of_one(&self, parts: &[&Silence]) -> Vec<Claim> {
        let (first, last) = (parts[0], parts[parts.len() - 1]);
        let whole = TscRange::new(first.range.start, last.range.stop);
        let entry = parts.iter().find_map(|part| part.entry.clone());
        let mut stories = match entry {
            Some(entry) => vec![self.of_entry(entry, whole)],
            None => self.by_records(whole),
        };
        if let Some(address) = first.address {
            stories[0].say(&self.addresses.tell(address, first.range.start));
        }
        if let Some(exception) = first.exception {
            stories[0].say(&format!("entered by {exception}"));
        }
        match self.untold {
            Some(shortest) if whole.ticks() >= shortest => stories = vec![or_absent(&stories, whole)],
            // It is too short for that.
            Some(_) => stories.iter_mut().for_each(|story| story.certainty = Certainty::Inferred),
            None => {}
        }
        for story in &mut stories {
            let off = first.why.to_string();
            let told = std::mem::replace(&mut story.detail, off.clone());
            story.say(&told);
            if story.occurrence == 0 {
                story.occurrence = self.known.same_as(story).unwrap_or(story.range().start.0);
            }
            story.evidence.push(Evidence::packet(first.aux_offset, first.began_on, off));
        }
        parts.iter().flat_map(|part| stories.iter().filter_map(|story| clipped(story, part))).collect()
    }

    /// The flow shows the entry: a system call's name, an interrupt's action are in the records.
    fn of_entry(&self, entry: Cause, whole: TscRange) -> Claim {
        let mut claim = claim(whole, entry, Certainty::Decoded);
        let unnamed_call = is_unnamed_call(&claim.cause);
        let unnamed_irq = claim.cause == Cause::Irq(UNNAMED_IRQ.into());
        let names = |event: &&SidebandEvent| match &event.kind {
            EventKind::Syscall { .. } => unnamed_call,
            EventKind::Irq { name: Some(_), .. } => unnamed_irq,
            _ => false,
        };
        if let Some(event) = self.begins(whole).find(names) {
            claim.cause = cause(&event.kind);
            claim.evidence.push(evidence(event));
        } else if claim.cause == Cause::PageFault(FaultKind::Minor) {
            claim.cause = Cause::PageFault(self.fault_kind(whole));
        }
        let faults = self.begins(whole).filter(|event| is_fault(event)).count();
        if faults > 0 && matches!(claim.cause, Cause::Syscall(_)) {
            claim.say(&format!("page faults in it: {faults}; their time is not recorded"));
        }
        claim
    }

    /// The entry was asynchronous. What its records show applies to the whole silence where they are of one entry, or
    /// of several with the same cause; else the time between two of them is unknown.
    fn by_records(&self, whole: TscRange) -> Vec<Claim> {
        let entries = self.entries(whole);
        let slept = self.sleeps_within(whole);
        if entries.is_empty()
            && !slept
            && let Some(noise) = noise::only_interrupt(&self.noises, whole)
        {
            let mut around = claim(whole, noise.cause.clone(), Certainty::Inferred);
            around.occurrence = noise.occurrence;
            around.evidence.clone_from(&noise.evidence);
            return vec![around];
        }
        if entries.last().is_none_or(|last| last.is_interrupt() && slept) {
            // No interrupt sleeps: another entry, without a record, came first.
            return vec![unknown(whole)];
        }
        let mut claims: Vec<Claim> = Vec::new();
        let mut position = whole.start;
        for (index, entry) in entries.iter().enumerate() {
            let next = entries.get(index + 1).map_or(whole.stop, |next| next.begin.time);
            let end = if entry.is_fault() || index + 1 == entries.len() { next } else { entry.begin.time };
            let range = TscRange::new(entry.begin.time, entry.end.unwrap_or(end).min(next));
            let mut claim = self.of_record(entry, range);
            match claims.last_mut() {
                None => claim.bid.range.start = whole.start,
                Some(_) => self.between(&mut claims, TscRange::new(position, range.start), &claim.cause),
            }
            position = range.stop;
            claims.push(claim);
        }
        let first = claims.first().map_or(Cause::KernelUnknown, |claim| claim.cause.clone());
        let other = claims.iter().map(|claim| &claim.cause).find(|cause| **cause != first);
        let around = other.map_or(first.clone(), |_| Cause::KernelUnknown);
        self.between(&mut claims, TscRange::new(position, whole.stop), &around);
        claims
    }

    /// After the last of `claims`, where the work continues with `next`.
    fn between(&self, claims: &mut Vec<Claim>, range: TscRange, next: &Cause) {
        if range.is_empty() {
            return;
        }
        if leaves_within(self.addresses.stays, range, |reason| reason == LeaveReason::Preempted) {
            let mut switch = claim(range, Cause::Schedule, Certainty::Inferred);
            switch.say("the switch to the other thread and back");
            claims.push(switch);
            return;
        }
        match claims.last_mut().filter(|last| last.cause == *next) {
            Some(last) => last.bid.range.stop = range.stop,
            None => claims.push(unknown(range)),
        }
    }

    fn of_record(&self, entry: &Entered<'_>, range: TscRange) -> Claim {
        // An interrupt takes more than the time between its records; the rest is attributed to the interrupted work.
        let holds_interrupt = self.begins(range).any(|event| event.kind.is_interrupt());
        let is_pure = !entry.is_interrupt() && !holds_interrupt;
        let certainty = if is_pure { Certainty::Decoded } else { Certainty::Inferred };
        let mut claim = claim(range, cause(&entry.begin.kind), certainty);
        if let EventKind::PageFault { address, error_code } = entry.begin.kind {
            claim.cause = Cause::PageFault(self.fault_kind(range));
            claim.say(&self.addresses.tell(address, entry.begin.time));
            let work = error_code.and_then(work_by_error).unwrap_or_default();
            work.clone_into(&mut claim.story.object);
            claim.say(work);
            claim.occurrence = range.start.0;
        } else {
            claim.occurrence = self.known.same_as(&claim).unwrap_or(range.start.0);
        }
        claim.evidence.push(evidence(entry.begin));
        claim
    }

    fn fault_kind(&self, range: TscRange) -> FaultKind {
        if self.sleeps_within(range) { FaultKind::Major } else { FaultKind::Minor }
    }

    fn sleeps_within(&self, range: TscRange) -> bool {
        sleeps_within(self.addresses.stays, range).next().is_some()
    }

    /// The outermost kernel entries that have records, in order.
    fn entries(&self, whole: TscRange) -> Vec<Entered<'a>> {
        let mut entries: Vec<Entered<'a>> = Vec::new();
        // Work whose end is recorded, too: anything inside it is no entry of its own.
        let mut open: Option<&SidebandEvent> = None;
        for event in self.own(whole) {
            if let Some(begin) = open
                && !ends_unrecorded(begin, event)
            {
                if event.side == Side::End && begin.kind.same_work(&event.kind) {
                    if let Some(entry) = entries.last_mut().filter(|entry| entry.begin == begin) {
                        entry.end = Some(event.time);
                    }
                    open = None;
                }
                continue;
            }
            let faults = is_fault(event);
            let has_end = event.kind.is_interrupt() || matches!(event.kind, EventKind::Syscall { .. });
            let in_fault = entries.last().is_some_and(Entered::is_fault);
            if event.side == Side::End || !(faults || has_end && !in_fault) {
                continue;
            }
            open = Some(event).filter(|_| has_end);
            // A softirq runs at the end of the interrupt before it.
            if !matches!(event.kind, EventKind::Softirq { .. }) {
                entries.push(Entered { begin: event, end: None });
            }
        }
        entries
    }

    /// The records in `range` that the interval's thread, or an interrupt of it, made.
    fn own(&self, range: TscRange) -> impl Iterator<Item = &'a SidebandEvent> {
        self.sideband.within(range).iter().filter(|event| happened_to(event, self.addresses.stays))
    }

    fn begins(&self, range: TscRange) -> impl Iterator<Item = &'a SidebandEvent> {
        self.own(range).filter(|event| event.side == Side::Begin)
    }
}

/// The kernel ran, as `stories` explain, or the thread was off its CPU.
fn or_absent(stories: &[Claim], whole: TscRange) -> Claim {
    let mut untold = claim(whole, Cause::Unexplained, Certainty::Unknown);
    let causes: BTreeSet<String> = stories.iter().map(|story| story.cause.to_string()).collect();
    let causes: Vec<String> = causes.into_iter().collect();
    untold.say(&format!("{} or off its CPU: no switch record", causes.join(", ")));
    untold.occurrence = whole.start.0;
    untold.evidence = stories.iter().flat_map(|story| story.evidence.iter().cloned()).collect();
    untold
}

fn is_fault(event: &SidebandEvent) -> bool {
    matches!(event.kind, EventKind::PageFault { .. })
}

/// Whether `event` shows that `begin`, an interrupt, is over without a record of its end: no interrupt interrupts
/// another.
fn ends_unrecorded(begin: &SidebandEvent, event: &SidebandEvent) -> bool {
    let is_hard =
        |event: &SidebandEvent| matches!(event.kind, EventKind::Irq { .. } | EventKind::Vector { .. });
    event.side == Side::Begin && is_hard(begin) && is_hard(event)
}

fn claim(range: TscRange, cause: Cause, certainty: Certainty) -> Claim {
    Claim::new(range, Rank::Untraced, cause, certainty)
}

fn unknown(range: TscRange) -> Claim {
    claim(range, Cause::KernelUnknown, Certainty::Decoded)
}

fn evidence(event: &SidebandEvent) -> Evidence {
    Evidence::record(event.offset, event.cpu, describe(&event.kind))
}

/// The explanation that `story` gives for `part`.
fn clipped(story: &Claim, part: &Silence) -> Option<Claim> {
    let range = story.range().intersection(part.range)?;
    let mut claim = story.clone();
    claim.bid.range = range;
    claim.cpu = part.cpu;
    claim.uncertainty = part.uncertainty;
    Some(claim)
}

#[cfg(test)]
mod tests;
