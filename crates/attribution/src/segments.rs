//! Pieces become segments: neighbours with the same story are one, and what nobody claims is called unexplained.

use model::{Cause, Certainty, Segment, Ticks, TscRange};

use crate::examine::Examined;
use crate::partition::Piece;
use crate::timeline::Whereabouts;

/// The segments of an interval without comparison: its user code is all `user.expected`.
pub(crate) fn plain(examined: &Examined) -> Vec<Segment> {
    let segments = examined.pieces.iter().map(|piece| segment(examined, piece)).collect();
    merge_neighbours(segments)
}

/// One piece as a segment.
pub(crate) fn segment(examined: &Examined, piece: &Piece) -> Segment {
    let stay = examined.stays.iter().find(|stay| stay.range.contains(piece.range.start));
    let thread = stay.and_then(|stay| stay.thread);
    let on_cpu = stay.and_then(|stay| match stay.place {
        Whereabouts::OnCpu(cpu) => Some(cpu),
        Whereabouts::OffCpu(_) | Whereabouts::Unknown => None,
    });
    let Some(claim) = piece.claim.map(|index| &examined.claims[index]) else {
        return unexplained(piece.range, thread, on_cpu);
    };
    Segment {
        range: piece.range,
        cpu: on_cpu.or(claim.cpu),
        thread,
        cause: claim.cause.clone(),
        occurrence: claim.occurrence,
        certainty: claim.certainty,
        detail: claim.detail.clone(),
        edge_uncertainty: claim.uncertainty,
        during: claim.during.clone(),
        evidence: claim.evidence.clone(),
    }
}

fn unexplained(range: TscRange, thread: Option<model::ThreadId>, cpu: Option<model::Cpu>) -> Segment {
    Segment {
        range,
        cpu,
        thread,
        cause: Cause::Unexplained,
        occurrence: 0,
        certainty: Certainty::Unknown,
        detail: "no record or packet tells where the thread was".into(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

/// Joins neighbours that differ in nothing but time (and, for user code, in the function).
pub(crate) fn merge_neighbours(segments: Vec<Segment>) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match merged.last_mut() {
            Some(last) if same_story(last, &segment) => {
                last.range.stop = segment.range.stop;
                last.edge_uncertainty = last.edge_uncertainty.max(segment.edge_uncertainty);
            }
            _ => merged.push(segment),
        }
    }
    merged
}

fn same_story(a: &Segment, b: &Segment) -> bool {
    let user = matches!(a.cause, Cause::UserExpected);
    a.cause == b.cause
        && a.occurrence == b.occurrence
        && a.cpu == b.cpu
        && a.thread == b.thread
        && (user || a.detail == b.detail)
}
