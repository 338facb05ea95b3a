//! Pieces become segments: equal adjacent pieces are one segment, and unclaimed time is unexplained.

use std::sync::Arc;

use model::{Cause, Certainty, Cpu, Evidence, Segment, Story, ThreadId, Ticks, TscRange};
use perfdata::LeaveReason;

use crate::claims::claim::Claim;
use crate::claims::partition::Piece;
use crate::claims::spins::loop_of;
use crate::examine::examined::Examined;
use crate::examine::spin_budget::SpinBudget;
use crate::examine::stories::longest;
use crate::inputs::functions::NO_SYMBOL;
use crate::threads::stays::{Stay, Whereabouts, stay_at};
use crate::walk::activity::Run;
use crate::walk::user_code::{NodeKey, UserCode};

/// The segments of an interval without comparison: its user code is all `user.expected`.
pub(crate) fn plain(examined: &Examined) -> Vec<Segment> {
    let mut segments = Segments::default();
    for piece in &examined.pieces {
        segments.add(examined, piece, piece.range, None);
    }
    segments.finish(examined)
}

/// The comparison's verdict on a stretch of user code.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) cause: Cause,
    pub(crate) detail: String,
    pub(crate) certainty: Certainty,
    /// The supporting records, where it is not the flow alone.
    pub(crate) evidence: Vec<Evidence>,
}

/// Segments in the making: a part equal to the one before only extends its range.
#[derive(Default)]
pub(crate) struct Segments {
    done: Vec<Segment>,
    /// The expected part of the time in spin-wait loops; all of it where nothing is compared.
    spins: Option<SpinBudget>,
    /// The uncertainty of the start of the last one, where it is a run.
    run_start: Ticks,
    /// User code without a verdict: the index of its segment, its node and its time.
    ran: Vec<(usize, NodeKey, Ticks)>,
}

impl Segments {
    /// None yet; time in spin-wait loops is expected as far as `spins` allows.
    pub(crate) fn comparing(spins: SpinBudget) -> Segments {
        Segments { spins: Some(spins), ..Segments::default() }
    }

    /// Adds `range`, a part of `piece`. Where a comparison has a verdict on it, that is its cause.
    pub(crate) fn add(
        &mut self,
        examined: &Examined,
        piece: &Piece,
        range: TscRange,
        verdict: Option<Verdict>,
    ) {
        if range.is_empty() {
            return;
        }
        let stay = stay_at(&examined.stays, range.start);
        let (thread, cpu) = whereabouts(stay);
        if let Some(run) = examined.run_of(piece) {
            let place = Place { range, cpu: cpu.or(run.cpu), thread };
            let known = (examined.whose, examined.code.collector(run.node));
            let is_plain = verdict.is_none();
            self.add_run(run, &place, verdict, known);
            if is_plain {
                self.ran.push((self.done.len().saturating_sub(1), run.node, range.ticks()));
            }
        } else if let Some(claim) = examined.claim_of(piece) {
            let place = Place { range, cpu: cpu.or(claim.cpu), thread };
            if claim.cause == Cause::UserSpin {
                self.add_spin(claim, &place);
            } else {
                self.add_claim(claim, &place);
            }
        } else {
            self.add_unexplained(&Place { range, cpu, thread }, stay);
        }
    }

    /// The segments of the interval; the one after the hand-off notes it.
    pub(crate) fn finish(mut self, examined: &Examined) -> Vec<Segment> {
        self.name_by_time(&examined.code);
        self.tell_late_switches(&examined.stays);
        for segment in &mut self.done {
            if let Some(worker) = segment.thread.and_then(|thread| examined.workers.get(&thread.tid)) {
                worker.clone_into(&mut segment.story.worker);
            }
        }
        if let Some(hand_off) = &examined.hand_off
            && let Some(segment) = self.done.iter_mut().find(|segment| segment.range.start == hand_off.at)
        {
            let handed = format!("handed over by {} ({})", hand_off.by, hand_off.certainty);
            segment.detail =
                if segment.detail.is_empty() { handed } else { format!("{}; {handed}", segment.detail) };
            segment.evidence.extend(hand_off.evidence.clone());
        }
        self.done
    }

    /// A segment of user code has the name of the function that most of its time passed in, with its callers.
    fn name_by_time(&mut self, code: &UserCode) {
        for of_one in self.ran.chunk_by(|a, b| a.0 == b.0) {
            let Some((node, whole)) = longest(of_one.iter().map(|&(_, node, ticks)| (node, ticks))) else {
                continue;
            };
            // What is left of a segment is in a spin-wait loop, which named it.
            let named =
                self.done.get_mut(of_one[0].0).filter(|segment| segment.range.ticks().0 / 2 <= whole.0);
            if let Some(segment) = named {
                segment.detail = code.path(node);
            }
        }
    }

    /// Both segments at a switch whose record may be late carry the uncertainty. The thread did not come back before
    /// it was woken, or left.
    fn tell_late_switches(&mut self, stays: &[Stay]) {
        for stay in stays.iter().filter(|stay| stay.late > Ticks(0)) {
            let behind = self.done.partition_point(|segment| segment.range.start < stay.range.start);
            let before = behind.checked_sub(1).map(|index| &self.done[index]);
            let Some(before) = before.filter(|before| before.range.stop == stay.range.start) else {
                continue;
            };
            let comes_back = stay.place.cpu().is_some();
            let late = if comes_back { stay.late.min(before.range.ticks()) } else { stay.late };
            for segment in self.done.iter_mut().take(behind + 1).skip(behind - 1) {
                segment.edge_uncertainty = segment.edge_uncertainty.max(late);
            }
        }
    }

    /// A run, the certainty that it is the thread's own, and the garbage collector that it is a part of.
    fn add_run(
        &mut self,
        run: &Run,
        place: &Place,
        verdict: Option<Verdict>,
        (whose, collector): (Certainty, Option<&str>),
    ) {
        let certainty = verdict.as_ref().map_or(Certainty::Decoded, |verdict| verdict.certainty).min(whose);
        let same_detail = |segment: &Segment| verdict.as_ref().is_none_or(|v| v.detail == segment.detail);
        let plain = || collector.map_or(Cause::UserExpected, |runtime| Cause::Gc(runtime.into()));
        let cause = verdict.as_ref().map_or_else(plain, |verdict| verdict.cause.clone());
        if self.extend(place, |last| last.cause == cause && same_detail(last)) {
            let start = self.run_start;
            if let Some(last) = self.done.last_mut() {
                last.edge_uncertainty = start.max(run.uncertainty);
            }
            return;
        }
        self.run_start = run.uncertainty;
        let (detail, mut evidence) = match verdict {
            Some(verdict) => (verdict.detail, verdict.evidence),
            None => (function_name(run).to_string(), Vec::new()),
        };
        evidence.push(Evidence::packet(run.aux_offset, run.cpu, "first packet of the run"));
        self.done.push(Segment {
            cause,
            certainty,
            detail,
            edge_uncertainty: run.uncertainty,
            evidence,
            ..place.segment()
        });
    }

    fn add_claim(&mut self, claim: &Claim, place: &Place) {
        let same = |last: &Segment| {
            last.cause == claim.cause
                && last.occurrence == claim.occurrence
                && last.certainty == claim.certainty
                && last.detail == claim.detail
        };
        if self.extend(place, same) {
            return;
        }
        self.done.push(Segment {
            cause: claim.cause.clone(),
            occurrence: claim.occurrence,
            certainty: claim.certainty,
            detail: claim.detail.clone(),
            story: claim.story.clone(),
            edge_uncertainty: claim.uncertainty,
            during: claim.during.clone(),
            evidence: claim.evidence.clone(),
            ..place.segment()
        });
    }

    /// A spin-wait loop: expected at first, too long from then on.
    fn add_spin(&mut self, claim: &Claim, place: &Place) {
        let ticks = place.range.ticks();
        let (expected, excess) = match &mut self.spins {
            Some(spins) => {
                let name = loop_of(&claim.detail);
                (Ticks(spins.expected(name, ticks.0)), spins.excess(name))
            }
            None => (ticks, Cause::UserSpin),
        };
        let edge = place.range.start + expected;
        let parts = [
            (TscRange::new(place.range.start, edge), Cause::UserExpected, Certainty::Decoded),
            (TscRange::new(edge, place.range.stop), excess, Certainty::Inferred),
        ];
        for (range, cause, certainty) in parts {
            if !range.is_empty() {
                // What is expected needs no explanation.
                let is_excess = cause != Cause::UserExpected;
                let during = if is_excess { claim.during.clone() } else { Vec::new() };
                let claim = Claim { cause, certainty, during, ..claim.clone() };
                self.add_claim(&claim, &Place { range, ..*place });
            }
        }
    }

    fn add_unexplained(&mut self, place: &Place, stay: Option<&Stay>) {
        let detail = match stay.map(|stay| stay.place) {
            Some(Whereabouts::OffCpu(LeaveReason::Exited)) => "the thread had ended",
            _ => "no record or packet shows where the thread was",
        };
        if !self.extend(place, |last| last.cause == Cause::Unexplained && last.detail == detail) {
            self.done.push(Segment { detail: detail.into(), ..place.segment() });
        }
    }

    /// Extends the last segment if it is equal and in the same place.
    fn extend(&mut self, place: &Place, same: impl FnOnce(&Segment) -> bool) -> bool {
        match self.done.last_mut() {
            Some(last) if last.cpu == place.cpu && last.thread == place.thread && same(last) => {
                last.range.stop = place.range.stop;
                true
            }
            _ => false,
        }
    }
}

/// When and where a segment lies.
struct Place {
    range: TscRange,
    cpu: Option<Cpu>,
    thread: Option<ThreadId>,
}

impl Place {
    /// A segment here without an explanation yet.
    fn segment(&self) -> Segment {
        Segment {
            range: self.range,
            cpu: self.cpu,
            thread: self.thread,
            cause: Cause::Unexplained,
            occurrence: 0,
            certainty: Certainty::Unknown,
            detail: String::new(),
            story: Story::default(),
            edge_uncertainty: Ticks(0),
            during: Vec::new(),
            evidence: Vec::new(),
        }
    }
}

fn whereabouts(stay: Option<&Stay>) -> (Option<ThreadId>, Option<Cpu>) {
    (stay.and_then(|stay| stay.thread), stay.and_then(|stay| stay.place.cpu()))
}

/// The function of a run, by name.
pub(crate) fn function_name(run: &Run) -> Arc<str> {
    run.function.clone().unwrap_or_else(|| Arc::from(NO_SYMBOL))
}
