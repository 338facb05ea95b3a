//! Whose code a segment is, for the headline: of user code the function that had most of it, of kernel work the one that was left.
//!
//! A function of a library stands for the program's own function that called it; a runtime's handler of a signal for the one that the signal
//! interrupted. In Go the functions that a panic calls, which the
//! program deferred, stand for the one that panicked.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::{Cause, Segment, Ticks, TscRange};

use super::examined::Examined;
use super::raised::{Raised, handles, raises};
use crate::claims::off_cpu::story::own_functions;
use crate::tables::libraries::{OwnCode, own_code};
use crate::walk::activity::runs_within;
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::{HotPaths, with_callers};
use crate::walk::user_code::{ByAddress, Node, NodeKey};
use crate::walk::user_runs::SIGNAL;

/// What throws, and what begins a handler: the C++ ABI for Itanium; Rust's `core::panicking` and `std::panicking`; Go's `runtime/panic.go`.
const THROWS: [&str; 3] = ["__cxa_throw", "__cxa_rethrow", "_Unwind_Resume"];
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
/// What any runtime that follows that ABI calls to unwind, and how all such functions begin.
const UNWINDS: &str = "_Unwind_RaiseException";
const UNWINDING: &str = "_Unwind_";
const CATCHES: [&str; 7] = [
    "__cxa_begin_catch",
    "__rust_panic_cleanup",
    "std::panicking::catch_unwind::cleanup",
    "std::panicking::try::cleanup",
    "runtime.gorecover",
    // GNAT's `raise-gcc.c`.
    "__gnat_begin_handler",
    "__gnat_begin_handler_v1",
];

/// The segments of `examined`, with the place in each story that has none.
pub(crate) fn with_places(mut segments: Vec<Segment>, examined: &Examined) -> Vec<Segment> {
    let (mut known, raised) = (HashMap::<NodeKey, Place>::new(), Raised::of(examined));
    for segment in segments.iter_mut().filter(|segment| segment.story.place.is_empty()) {
        let node = match &segment.cause {
            cause if cause.is_kernel() => node_before(segment, examined),
            cause if runs_user_code(cause) => {
                let busiest = busiest_node(segment.range, examined);
                busiest.map(|node| raised.by(node, segment.range).unwrap_or(node))
            }
            _ => None,
        };
        let Some(node) = node else { continue };
        let place = known.entry(node).or_insert_with(|| Place::of(node, examined));
        if segment.story.object.is_empty() {
            segment.story.object.clone_from(&place.thrown);
        }
        (segment.story.place, segment.story.through) = (place.function.clone(), place.through.clone());
        if segment.cause == Cause::UserSpin {
            segment.story.callers.clone_from(&place.caller);
        }
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

/// Names the code of a thread that ran library functions alone, or was in a system call all the time, by the program's own functions that
/// had called these: `path` is where it was in the end.
pub(super) fn name_by_callers(segments: &mut [Segment], path: &CallPath) {
    let own = own_functions(path);
    let Some(place) = with_callers(&own) else { return };
    for segment in segments {
        if !segment.story.place.is_empty() {
            segment.story.place.clone_from(&place);
        } else if matches!(segment.cause, Cause::Syscall(_)) {
            segment.story.place.clone_from(&own[0]);
        }
    }
}

/// Whose code runs somewhere.
#[derive(Default)]
struct Place {
    /// The program's function, as `route_order()`.
    function: String,
    /// The program's function that had called it.
    caller: String,
    /// The library's function that it had called.
    through: String,
    /// `an exception, caught in route_order()`, where that function throws; else empty.
    thrown: String,
}

impl Place {
    /// Whose code runs at `node`. A runtime's handler of a signal runs for the code that the signal interrupted; the program's has no
    /// caller.
    fn of(node: NodeKey, examined: &Examined) -> Place {
        let lineage: Vec<(NodeKey, &Node)> = examined.code.lineage(node).collect();
        let is_frame = |(_, node): &&(NodeKey, &Node)| &*node.function == SIGNAL;
        let since_signal: Vec<_> = lineage.iter().take_while(|one| !is_frame(one)).copied().collect();
        let panics = since_signal.iter().position(|(_, node)| &*node.function == GO_PANICS).unwrap_or(0);
        let own = own_of(&since_signal[panics..]);
        let handler = since_signal.last().filter(|_| since_signal.len() < lineage.len());
        if let (Some(&(handler, _)), Some(false)) = (handler, own.as_ref().map(|own| own.is_own)) {
            let whole: Vec<_> = lineage.iter().filter(|one| !is_frame(one)).copied().collect();
            if let Some(own) = own_of(&whole).filter(|own| own.is_own) {
                let signal = examined.signals.get(&handler);
                let signal = signal.map_or_else(String::new, |signal| format!(" for {signal}"));
                return Place::at(own, &whole, &signal, examined);
            }
        }
        own.map_or_else(Place::default, |own| Place::at(own, &since_signal[panics..], "", examined))
    }

    /// `own` of `lineage`; what it throws it throws `because` of something.
    fn at(own: OwnCode, lineage: &[(NodeKey, &Node)], because: &str, examined: &Examined) -> Place {
        let OwnCode { at, function, through, .. } = own;
        let called = at.checked_sub(1).and_then(|at| lineage.get(at));
        let unwinds = || called.is_some_and(|&(called, _)| mostly_unwinds(called, examined));
        let mut around = lineage.iter().take(at + 1).map(|&(key, _)| key);
        let raiser = around.find(|&key| examined.returned.is_raiser(key));
        let what = thrown(&through).or_else(|| (raiser.is_some() || unwinds()).then_some("an exception"));
        let thrown =
            what.map_or_else(String::new, |what| format!("{what}{because}{}", caught(raiser, examined)));
        let outer = lineage.get(at + 1..).and_then(own_of).filter(|own| own.is_own);
        Place { function, caller: outer.map_or_else(String::new, |own| own.function), through, thrown }
    }
}

fn own_of(lineage: &[(NodeKey, &Node)]) -> Option<OwnCode> {
    own_code(lineage.iter().map(|(_, node)| (&*node.function, node.library)))
}

/// Whether what `called` ran throws, and most of its time passed in the unwinder.
fn mostly_unwinds(called: NodeKey, examined: &Examined) -> bool {
    let nodes = &examined.code.nodes;
    if !nodes.values().any(|node| &*node.function == UNWINDS) {
        return false;
    }
    let (mut whole, mut unwinding, mut throws) = (0, 0, false);
    for run in &examined.runs {
        let below: Vec<&Node> = examined
            .code
            .lineage(run.node)
            .map_while(|(key, node)| (key != called).then_some(node))
            .collect();
        let is_below = run.node == called || examined.code.lineage(run.node).any(|(key, _)| key == called);
        if is_below {
            let ticks = run.range.ticks().0;
            whole += ticks;
            unwinding +=
                if below.iter().any(|node| node.function.starts_with(UNWINDING)) { ticks } else { 0 };
            throws |= below.iter().any(|node| &*node.function == UNWINDS);
        }
    }
    throws && unwinding * 2 >= whole
}

/// What the library's function `through` throws.
fn thrown(through: &str) -> Option<&'static str> {
    let panics = PANICS.iter().any(|beginning| through.starts_with(beginning));
    let function = through.trim_end_matches("()");
    let throws = THROWS.contains(&function) || raises(function);
    if throws { Some("an exception") } else { panics.then_some("a panic") }
}

/// `, caught in route_order()`: where that of `raiser` was, else the first one caught.
fn caught(raiser: Option<NodeKey>, examined: &Examined) -> String {
    let catches = |node: &&Node| CATCHES.contains(&&*node.function) || handles(&node.function);
    let nodes = examined.code.nodes.values();
    let mut catches: Vec<NodeKey> = nodes.filter(catches).map(|node| node.parent).collect();
    catches.sort_unstable();
    let handler = raiser.and_then(|raiser| examined.returned.handler(raiser)).or(catches.first().copied());
    let caught = handler.map_or_else(String::new, |node| {
        let lineage: Vec<(NodeKey, &Node)> = examined.code.lineage(node).collect();
        own_of(&lineage).map_or_else(String::new, |own| own.function)
    });
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

/// Whose code runs at `node`, and the library's function that it had called.
pub(crate) fn place_of(node: NodeKey, examined: &Examined) -> (String, String) {
    let place = Place::of(node, examined);
    (place.function, place.through)
}

#[cfg(test)]
mod tests;
