//! Child spans beside typical ones. Expected values are calculated by hand; two ticks are a nanosecond.

use model::{Cause, Certainty, Child, IntervalId, Segment, Ticks, TimeConversion, Tsc};

use super::*;

fn attribution(id: u64, length: u64, children: &[(&str, u64, u64)]) -> Attribution {
    let range = TscRange { start: Tsc(0), stop: Tsc(2 * length) };
    let mut interval = Interval::new(IntervalId(id), "GET /", range, None);
    let child = |&(label, spans, ns): &(&str, u64, u64)| Child {
        label: label.to_owned(),
        spans,
        time: Ticks(2 * ns),
    };
    interval.children = children.iter().map(child).collect();
    let segment = Segment {
        range,
        cpu: None,
        thread: None,
        cause: Cause::UserExpected,
        occurrence: 0,
        certainty: Certainty::Unknown,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    };
    Attribution::new(interval, vec![segment]).expect("a partition")
}

fn report(outlier: &Attribution, baselines: &[Attribution]) -> OutlierReport {
    let conversion = TimeConversion::new(31, 1 << 30, 0).expect("two ticks a nanosecond");
    OutlierReport::new(outlier, baselines, Timebase::Perf(conversion), |_, _| None)
}

#[test]
fn the_excess_is_divided_by_child() {
    let outlier = attribution(7, 200_000, &[("SELECT", 3, 130_000), ("render", 1, 40_000)]);
    let baselines = [
        attribution(1, 60_000, &[("SELECT", 1, 9_000), ("render", 1, 40_000)]),
        attribution(2, 61_000, &[("SELECT", 1, 11_001), ("log", 1, 2_000)]),
    ];
    let report = report(&outlier, &baselines);
    let plain = |child: &ChildSpans| (child.label.clone(), child.spans, child.typical_ns, child.excess_ns());
    assert_eq!(
        report.children.iter().map(plain).collect::<Vec<_>>(),
        [
            // (9,000 + 11,001) / 2, rounded half up.
            ("SELECT".to_owned(), 3, 10_001, 119_999),
            ("render".to_owned(), 1, 20_000, 20_000),
            ("log".to_owned(), 0, 1_000, -1_000),
        ]
    );
    assert_eq!(
        report.child_words(),
        "of which 120.0 us in child span SELECT (130.0 us in 3 spans, typical 10.0 us), \
         20.0 us in child span render (40.0 us in 1 span, typical 20.0 us)"
    );
}

#[test]
fn without_typical_intervals_the_time_is_named() {
    let report = report(&attribution(7, 200, &[("SELECT", 2, 130)]), &[]);
    assert_eq!(report.child_words(), "of which 130 ns in child span SELECT (130 ns in 2 spans)");
}

#[test]
fn children_as_long_as_typical_are_not_named() {
    let outlier = attribution(7, 200, &[("SELECT", 1, 100)]);
    assert_eq!(report(&outlier, &[attribution(1, 150, &[("SELECT", 1, 100)])]).child_words(), "");
    assert_eq!(report(&attribution(7, 200, &[]), &[]).child_words(), "");
}
