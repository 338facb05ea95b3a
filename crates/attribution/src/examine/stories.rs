//! Whose code a segment is, for the headline: of user code the function that had most of it, of kernel work the one that was left.
//!
//! A function of a library stands for the program's own function that called it. In Go the functions that a panic calls, which the
//! program deferred, stand for the one that panicked.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::{Cause, Segment, Ticks, TscRange};

use super::examined::Examined;
use crate::tables::libraries::own_code;
use crate::walk::activity::runs_within;
use crate::walk::hot_paths::HotPaths;
use crate::walk::user_code::{ByAddress, Node, NodeKey};
use crate::walk::user_runs::SIGNAL;

/// What throws, and what begins a handler: the C++ ABI for Itanium; Rust's `core::panicking` and `std::panicking`; Go's `runtime/panic.go`.
const THROWS: [&str; 3] = ["__cxa_throw()", "__cxa_rethrow()", "_Unwind_Resume()"];
const PANICS: [&str; 7] = [
    GO_PANICS,
    "core::panicking::",
    "std::panicking::begin_panic",
    "core::option::unwrap_failed",
    "core::option::expect_failed",
    "core::result::unwrap_failed",
    "rust_begin_unwind",
];
/// It calls what was deferred.
const GO_PANICS: &str = "runtime.gopanic";
const CATCHES: [&str; 5] = [
    "__cxa_begin_catch",
    "__rust_panic_cleanup",
    "std::panicking::catch_unwind::cleanup",
    "std::panicking::try::cleanup",
    "runtime.gorecover",
];

/// The segments of `examined`, with the place in each story that has none.
pub(crate) fn with_places(mut segments: Vec<Segment>, examined: &Examined) -> Vec<Segment> {
    let mut known: HashMap<NodeKey, (String, String)> = HashMap::new();
    for segment in segments.iter_mut().filter(|segment| segment.story.place.is_empty()) {
        let node = match &segment.cause {
            cause if cause.is_kernel() => node_before(segment, examined),
            cause if runs_user_code(cause) => busiest_node(segment.range, examined),
            _ => None,
        };
        let Some(node) = node else { continue };
        let (place, through) = known.entry(node).or_insert_with(|| place_of(node, examined)).clone();
        if let Some(what) = thrown(&through).filter(|_| segment.story.object.is_empty()) {
            segment.story.object = format!("{what}{}", caught(examined));
        }
        (segment.story.place, segment.story.through) = (place, through);
    }
    segments
}

/// Names user code that another thread ran by the function that had most of it with all it called, and by who called that: the function
/// in which most of the time passed is often one that much of the program calls.
pub(super) fn name_by_paths(segments: &mut [Segment], hot: &HotPaths) {
    for (index, segment) in
        segments.iter_mut().enumerate().filter(|(_, segment)| runs_user_code(&segment.cause))
    {
        if let Some(place) = hot.innermost(index).filter(|_| !segment.story.place.is_empty()) {
            segment.story.place = place;
        }
    }
}

/// What the library's function `through` throws.
fn thrown(through: &str) -> Option<&'static str> {
    let panics = PANICS.iter().any(|beginning| through.starts_with(beginning));
    if THROWS.contains(&through) { Some("an exception") } else { panics.then_some("a panic") }
}

/// `, caught in route_order()`: where the first one caught was.
fn caught(examined: &Examined) -> String {
    let nodes = &examined.code.nodes;
    let mut catches: Vec<NodeKey> =
        nodes.values().filter(|node| CATCHES.contains(&&*node.function)).map(|node| node.parent).collect();
    catches.sort_unstable();
    let caught = catches.first().map_or_else(String::new, |&node| own_place(lineage(node, examined)).0);
    if caught.is_empty() { caught } else { format!(", caught in {caught}") }
}

fn runs_user_code(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::UserExpected
            | Cause::UserExtraWork
            | Cause::UserSlower(_)
            | Cause::UserSpin
            | Cause::Gc(_)
            | Cause::HardwareGap
    )
}

/// The code that ran last before the segment.
fn node_before(segment: &Segment, examined: &Examined) -> Option<NodeKey> {
    let later = examined.runs.partition_point(|run| run.range.start < segment.range.start);
    Some(examined.runs[..later].last()?.node)
}

/// The code that ran longest in `range`.
fn busiest_node(range: TscRange, examined: &Examined) -> Option<NodeKey> {
    longest(runs_within(&examined.runs, range)).map(|(node, _)| node)
}

/// The node that most time of `runs` passed in, the earliest of several, and the time of all.
pub(super) fn longest(runs: impl Iterator<Item = (NodeKey, Ticks)>) -> Option<(NodeKey, Ticks)> {
    let mut nodes: ByAddress<NodeKey, (u64, Reverse<usize>)> = ByAddress::default();
    let mut whole = Ticks(0);
    for (index, (node, ticks)) in runs.enumerate() {
        nodes.entry(node).or_insert((0, Reverse(index))).0 += ticks.0;
        whole.0 += ticks.0;
    }
    nodes.into_iter().max_by_key(|&(_, time)| time).map(|(node, _)| (node, whole))
}

/// Whose code runs at `node`, and the library's function that it had called; a signal's handler has no caller.
pub(crate) fn place_of(node: NodeKey, examined: &Examined) -> (String, String) {
    let called = |name: &str| name == GO_PANICS;
    match lineage(node, examined).position(|node| called(&node.function)) {
        Some(panics) => own_place(lineage(node, examined).skip(panics)),
        None => own_place(lineage(node, examined)),
    }
}

/// The innermost function of the program itself, and the library's function that it had called.
fn own_place<'a>(lineage: impl Iterator<Item = &'a Node>) -> (String, String) {
    own_code(lineage.map(|node| (&*node.function, node.library)))
        .map_or_else(Default::default, |own| (own.function, own.through))
}

/// The node and its callers, innermost first.
fn lineage(node: NodeKey, examined: &Examined) -> impl Iterator<Item = &Node> {
    let callers = examined.code.lineage(node).map(|(_, node)| node);
    callers.take_while(|node| &*node.function != SIGNAL)
}
