//! What is a partition of its interval, and what is refused.

use super::*;
use crate::{Cause, Certainty, IntervalId, TscRange};

fn segment(start: u64, stop: u64) -> Segment {
    Segment {
        range: TscRange { start: Tsc(start), stop: Tsc(stop) },
        cpu: None,
        thread: None,
        cause: Cause::Unexplained,
        occurrence: 0,
        certainty: Certainty::Unknown,
        detail: String::new(),
        story: crate::Story::default(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

fn attribute(segments: Vec<Segment>) -> Result<Attribution, PartitionError> {
    let range = TscRange::new(Tsc(10), Tsc(30));
    Attribution::new(Interval::new(IntervalId(7), "test", range, None), segments)
}

#[test]
fn accepts_edge_to_edge() {
    let attribution = attribute(vec![segment(10, 12), segment(12, 30)]).expect("a partition");
    assert_eq!(attribution.ticks(), Ticks(20));
}

#[test]
fn refuses_holes_overlaps_and_missing_ends() {
    for (segments, expected, found) in [
        (vec![segment(10, 12), segment(13, 30)], 12, 13),
        (vec![segment(10, 12), segment(11, 30)], 12, 11),
        (vec![segment(11, 30)], 10, 11),
        (vec![segment(10, 29)], 30, 29),
        (vec![], 30, 10),
    ] {
        assert_eq!(attribute(segments), Err(PartitionError::Hole { id: 7, expected, found }));
    }
}

#[test]
fn refuses_empty_segments() {
    let result = attribute(vec![segment(10, 10), segment(10, 30)]);
    assert_eq!(result, Err(PartitionError::EmptySegment { id: 7, at: 10 }));
}
