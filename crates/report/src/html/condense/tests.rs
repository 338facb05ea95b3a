use super::*;
use crate::CallReport;

fn segments(lengths: &[u64]) -> Vec<SegmentReport> {
    let mut offset_ns = 0;
    let mut segments = Vec::new();
    for &duration_ns in lengths {
        segments.push(SegmentReport {
            ticks: 0,
            offset_ns,
            duration_ns,
            cpu: None,
            tid: None,
            cause: format!("cause of {duration_ns}"),
            certainty: model::Certainty::Measured,
            detail: String::new(),
            story: model::Story::default(),
            edge_uncertainty_ns: 0,
            during: Vec::new(),
            serving: Vec::new(),
            evidence: Vec::new(),
        });
        offset_ns += duration_ns;
    }
    segments
}

/// Of 9 segments 4 bars: 100 and 90 stay, what lies around them is merged and named by its longest.
#[test]
fn short_neighbours_are_joined() {
    let segments = segments(&[1, 3, 2, 100, 5, 90, 1, 1, 4]);
    let found: Vec<_> = bars(&segments, 4)
        .iter()
        .map(|bar| (bar.offset_ns, bar.duration_ns, bar.segments, bar.segment.duration_ns))
        .collect();
    assert_eq!(found, [(0, 6, 3, 3), (6, 100, 1, 100), (106, 5, 1, 5), (111, 90, 1, 90), (201, 6, 3, 4)]);
    assert_eq!(bars(&segments, 9).len(), 9);
}

/// main { a { b }, c }: with room for two, `a` (heavier than `c`) stays and stands for `b`, `main` for `c`.
#[test]
fn light_calls_are_their_callers() {
    let node = |parent, self_ns| CallReport { parent, self_ns, ..CallReport::default() };
    let nodes = vec![node(None, 1), node(Some(0), 20), node(Some(1), 5), node(Some(0), 8)];
    let tree = CallTree { nodes, stretches: Vec::new() };
    assert_eq!(shown_calls(&tree, 2), (vec![Some(0), Some(1), Some(1), Some(0)], vec![0, 1]));
    assert_eq!(shown_calls(&tree, 9), (vec![Some(0), Some(1), Some(2), Some(3)], vec![0, 1, 2, 3]));
}
