use super::*;
use crate::CauseTotal;

fn interval(causes: &[(&str, u64)], functions: &[(Option<usize>, &str, u64)]) -> OutlierReport {
    let total = |&(cause, duration_ns): &(&str, u64)| CauseTotal {
        cause: cause.to_owned(),
        duration_ns,
        typical_ns: 0,
        excess_ns: 0,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: String::new(),
    };
    let node = |&(parent, name, self_ns): &(Option<usize>, &str, u64)| CallReport {
        parent,
        name: name.to_owned(),
        self_ns,
        ..CallReport::default()
    };
    OutlierReport {
        causes: causes.iter().map(total).collect(),
        calls: CallTree { nodes: functions.iter().map(node).collect(), stretches: Vec::new() },
        ..OutlierReport::default()
    }
}

/// `lock` in A: 30 and 0, so the mean is 15 and the deviation 15; in B: none. `user` in A: 10, 20: 15 ± 5; in B 40: 40 ± 0.
#[test]
fn means_and_spreads_are_over_all_intervals_of_a_side() {
    let a = [interval(&[("lock", 30), ("user", 10)], &[]), interval(&[("user", 20)], &[])];
    let b = [interval(&[("user", 40)], &[])];
    let contrast = Contrast::between(&a, &b);
    let spread = |mean_ns, stdev_ns, intervals| Spread { mean_ns, stdev_ns, intervals };
    let expected = [
        CauseChange { cause: "user".to_owned(), a: spread(15, 5, 2), b: spread(40, 0, 1), change_ns: 25 },
        CauseChange { cause: "lock".to_owned(), a: spread(15, 15, 1), b: spread(0, 0, 0), change_ns: -15 },
    ];
    assert_eq!(contrast.causes, expected);
}

/// `main` calls `f` on both sides, in another order of nodes; `g` is B's alone. A's means over two intervals.
#[test]
fn calls_are_matched_by_their_chain() {
    let a = [interval(&[], &[(None, "main", 10), (Some(0), "f", 4)]), interval(&[], &[(None, "main", 20)])];
    let b = [interval(&[], &[(None, "main", 7), (Some(0), "g", 5), (Some(0), "f", 6)])];
    let found: Vec<_> = Contrast::between(&a, &b)
        .calls
        .nodes
        .into_iter()
        .map(|node| (node.parent, node.name, node.typical_self_ns, node.self_ns))
        .collect();
    let expected = [(None, "main", 15, 7), (Some(0), "f", 2, 6), (Some(0), "g", 0, 5)]
        .map(|(parent, name, a, b)| (parent, name.to_owned(), a, b));
    assert_eq!(found, expected);
}

#[test]
fn the_verdict_needs_more_than_chance() {
    let median = QuantileShift { percent: 50.0, a_ns: 1_000, b_ns: 3_000, confidence_ns: None };
    let change =
        DurationChange { b_longer: 0.9, p: 0.0001, quantiles: vec![median], ..DurationChange::default() };
    let mut difference = Difference { change: Some(change), ..Difference::default() };
    let expected = "; p50 1.00 us to 3.00 us (+2.00 us); one of B takes longer than one of A with 90 %, ";
    assert_eq!(verdict(&difference), format!("B is slower{expected}p < 0.001"));
    if let Some(change) = &mut difference.change {
        change.p = 0.2;
    }
    assert_eq!(verdict(&difference), format!("no difference beyond chance{expected}p 0.200"));
    difference.change = None;
    assert_eq!(verdict(&difference), "nothing to compare: A has no interval");
}
