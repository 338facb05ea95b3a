use proptest::prelude::*;
use report::{CallReport, StretchReport};

use super::*;

/// A tree of `nodes` (caller, name), of which those of `stretches` ran for so long one after the other.
fn tree(nodes: &[(Option<usize>, &str)], stretches: &[(usize, u64)]) -> CallTree {
    let node = |&(parent, name): &(Option<usize>, &str)| CallReport {
        parent,
        name: name.to_owned(),
        ..CallReport::default()
    };
    let mut offset_ns = 0;
    let stretches = stretches.iter().map(|&(node, duration_ns)| {
        let stretch = StretchReport { offset_ns, duration_ns, node };
        offset_ns += duration_ns;
        stretch
    });
    CallTree { stretches: stretches.collect(), nodes: nodes.iter().map(node).collect() }
}

fn told(beside: &Beside) -> Vec<(String, Option<u64>, Option<u64>)> {
    let time = |step: &Option<Step>| step.as_ref().map(|step| step.duration);
    let row = |row: &Row| (row.step().expect("a step").name.clone(), time(&row.own), time(&row.typical));
    beside.rows.iter().map(row).collect()
}

/// The outlier resizes between lookup and store; nodes have other numbers in the other tree.
#[test]
fn the_same_calls_stand_side_by_side() {
    let own = tree(
        &[(None, "main"), (Some(0), "lookup"), (Some(0), "store"), (Some(2), "resize")],
        &[(0, 5), (1, 10), (2, 3), (3, 900), (2, 4)],
    );
    let typical =
        tree(&[(None, "main"), (Some(0), "store"), (Some(0), "lookup")], &[(0, 5), (2, 12), (1, 7)]);
    let beside = Beside::new(&own, &typical);
    let expected = [
        ("main", Some(5), Some(5)),
        ("lookup", Some(10), Some(12)),
        ("store", Some(3), Some(7)),
        ("resize", Some(900), None),
        ("store", Some(4), None),
    ];
    assert_eq!(told(&beside), expected.map(|(name, own, typical)| (name.to_owned(), own, typical)));
    assert_eq!(
        beside.current().and_then(Row::step).map(|step| (&*step.name, step.depth)),
        Some(("resize", 2))
    );
}

/// `log` below `store` is not `log` below `main`.
#[test]
fn a_function_is_who_called_it() {
    let own = tree(&[(None, "main"), (Some(0), "log")], &[(1, 10)]);
    let typical = tree(&[(None, "main"), (Some(0), "store"), (Some(1), "log")], &[(2, 10)]);
    let expected = [("log", Some(10), None), ("log", None, Some(10))];
    assert_eq!(
        told(&Beside::new(&own, &typical)),
        expected.map(|(name, own, typical)| (name.to_owned(), own, typical))
    );
}

proptest! {
    /// Every step of both is there once, in order, and the differences add up to that of the intervals.
    #[test]
    fn nothing_is_left_out(
        own in prop::collection::vec((0usize..4, 0u64..100), 0..40),
        typical in prop::collection::vec((0usize..4, 0u64..100), 0..40),
    ) {
        let nodes = [(None, "main"), (Some(0), "a"), (Some(0), "b"), (Some(2), "a")];
        let (a, b) = (tree(&nodes, &own), tree(&nodes, &typical));
        let beside = Beside::new(&a, &b);
        let times = |side: fn(&Row) -> Option<&Step>| -> Vec<u64> {
            beside.rows.iter().filter_map(|row| side(row).map(|step| step.duration)).collect()
        };
        prop_assert_eq!(times(|row| row.own.as_ref()), own.iter().map(|step| step.1).collect::<Vec<_>>());
        prop_assert_eq!(times(|row| row.typical.as_ref()), typical.iter().map(|step| step.1).collect::<Vec<_>>());
        let sum = |steps: &[(usize, u64)]| steps.iter().map(|step| step.1).sum::<u64>().cast_signed();
        prop_assert_eq!(beside.rows.iter().map(Row::excess).sum::<i64>(), sum(&own) - sum(&typical));
    }
}
