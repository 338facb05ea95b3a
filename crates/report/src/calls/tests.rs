use model::{CallStretch, TimeConversion, Tsc};

use super::*;

const NO_BASELINES: &[Calls] = &[];

/// One tick is one nanosecond.
fn timebase() -> Timebase {
    Timebase::Perf(TimeConversion::new(31, 1 << 31, 0).expect("usable"))
}

fn range(start: u64, stop: u64) -> TscRange {
    TscRange::new(Tsc(start), Tsc(stop))
}

fn node(parent: Option<u32>, name: &str) -> CallNode {
    CallNode { parent, name: name.into(), layer: CallLayer::User, recording: None }
}

fn stretch(start: u64, stop: u64, node: u32, calls: u64) -> CallStretch {
    CallStretch { range: range(start, stop), node, calls }
}

/// `main` for 10, `work` for 20, back in `main` for 5; the baselines: `main` 8 and 9, one of them `idle` for 3.
/// 8 + 9 = 17, 17 / 2 = 8.5; 3 / 2 = 1.5; the whole is 10, so one unit goes to the first of the equal remainders.
#[test]
fn times_of_the_same_chain_are_added() {
    let outlier = Calls {
        nodes: vec![node(None, "main"), node(Some(0), "work")],
        stretches: vec![stretch(100, 110, 0, 1), stretch(110, 130, 1, 1), stretch(130, 135, 0, 0)],
    };
    let baselines = [
        Calls { nodes: vec![node(None, "main")], stretches: vec![stretch(10, 18, 0, 1)] },
        Calls {
            nodes: vec![node(None, "main"), node(Some(0), "idle")],
            stretches: vec![stretch(50, 59, 0, 1), stretch(59, 62, 1, 1)],
        },
    ];
    let tree = CallTree::new(&outlier, &baselines, range(100, 135), timebase());
    let rows: Vec<_> =
        tree.nodes.iter().map(|node| (&*node.name, node.self_ns, node.typical_self_ns, node.calls)).collect();
    assert_eq!(rows, [("main", 15, 9, 1), ("work", 20, 0, 1), ("idle", 0, 1, 0)]);
    assert_eq!(tree.totals(), [(35, 10), (20, 0), (0, 1)]);
    assert_eq!(tree.chain(2), [0, 2]);
    let spans: Vec<_> =
        tree.stretches.iter().map(|span| (span.offset_ns, span.duration_ns, span.node)).collect();
    assert_eq!(spans, [(0, 10, 0), (10, 20, 1), (30, 5, 0)]);
}

/// No packet gives the calls of `step` a time: they count, and are no stretch; of the baselines they are not even a row.
#[test]
fn calls_without_time_are_counted() {
    let outlier = Calls {
        nodes: vec![node(None, "main"), node(Some(0), "step")],
        stretches: vec![stretch(100, 110, 0, 1), stretch(110, 110, 1, 3), stretch(110, 120, 0, 0)],
    };
    let baseline = Calls {
        nodes: vec![node(None, "main"), node(Some(0), "fold"), node(Some(1), "copy"), node(Some(0), "idle")],
        stretches: vec![
            stretch(10, 18, 0, 1),
            stretch(18, 18, 1, 2),
            stretch(18, 18, 2, 2),
            stretch(18, 20, 3, 1),
        ],
    };
    let tree = CallTree::new(&outlier, &[baseline], range(100, 120), timebase());
    let rows: Vec<_> =
        tree.nodes.iter().map(|node| (&*node.name, node.self_ns, node.typical_self_ns, node.calls)).collect();
    assert_eq!(rows, [("main", 20, 8, 1), ("step", 0, 0, 3), ("idle", 0, 2, 0)]);
    let spans: Vec<_> =
        tree.stretches.iter().map(|span| (span.offset_ns, span.duration_ns, span.node)).collect();
    assert_eq!(spans, [(0, 20, 0)]);
}

/// Two functions that call each other a thousand times: what is deeper than the limit is the time of the deepest kept.
#[test]
fn depth_is_bounded_and_no_time_is_lost() {
    let nodes = (0..1000u32)
        .map(|at| node(at.checked_sub(1), if at % 2 == 0 { "even" } else { "odd" }))
        .collect::<Vec<_>>();
    let stretches = (0..1000).map(|at| stretch(at, at + 1, u32::try_from(at).expect("small"), 1)).collect();
    let tree = CallTree::new(&Calls { nodes, stretches }, NO_BASELINES, range(0, 1000), timebase());
    assert_eq!(tree.nodes.len(), DEEPEST + 1);
    assert_eq!(tree.nodes.iter().map(|node| node.self_ns).sum::<u64>(), 1000);
}

/// Indices that point nowhere, or forward: such time is left out, nothing panics.
#[test]
fn damaged_trees_are_harmless() {
    let calls = Calls {
        nodes: vec![node(Some(7), "a"), node(Some(1), "b")],
        stretches: vec![stretch(0, 5, 9, 1), stretch(5, 9, 1, 1)],
    };
    let tree = CallTree::new(&calls, NO_BASELINES, range(0, 9), timebase());
    assert_eq!(tree.nodes.iter().map(|node| node.self_ns).sum::<u64>(), 4);
}
