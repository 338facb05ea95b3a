//! Whose code a segment is, for the headline: of user code the function that had most of it, of kernel work the one that was left.
//!
//! A function of a library stands for the program's own function that called it.

use std::collections::HashMap;

use model::{Cause, Segment, TscRange};

use super::examined::Examined;
use crate::tables::libraries::{is_library, spoken};
use crate::walk::user_code::NodeKey;
use crate::walk::user_runs::SIGNAL;

/// What throws, and what begins a handler: the C++ ABI for Itanium, Rust's `std::panicking`.
const THROWS: [&str; 4] = ["__cxa_throw()", "__cxa_rethrow()", "_Unwind_Resume()", "rust_begin_unwind()"];
const CATCHES: [&str; 2] = ["__cxa_begin_catch", "__rust_panic_cleanup"];

/// The search for callers stops here: the tree of a damaged trace may be deep.
const FURTHEST: usize = 256;

/// Adds the place to each segment's story that has none.
pub(super) fn add_places(segments: &mut [Segment], examined: &Examined) {
    let mut known: HashMap<NodeKey, (String, String)> = HashMap::new();
    for segment in segments.iter_mut().filter(|segment| segment.story.place.is_empty()) {
        let node = match &segment.cause {
            cause if cause.to_string().starts_with("kernel.") => node_before(segment, examined),
            cause if runs_user_code(cause) => busiest_node(segment.range, examined),
            _ => None,
        };
        let Some(node) = node else { continue };
        let (place, through) = known.entry(node).or_insert_with(|| place_of(node, examined)).clone();
        if segment.story.object.is_empty() && THROWS.contains(&&*through) {
            segment.story.object = thrown(examined);
        }
        (segment.story.place, segment.story.through) = (place, through);
    }
}

/// `an exception, caught in route_order()`: where the first one caught was.
fn thrown(examined: &Examined) -> String {
    let nodes = &examined.code.nodes;
    let mut catches: Vec<NodeKey> =
        nodes.values().filter(|node| CATCHES.contains(&&*node.function)).map(|node| node.parent).collect();
    catches.sort_unstable();
    let caught = catches.first().map_or_else(String::new, |&node| place_of(node, examined).0);
    if caught.is_empty() { "an exception".to_owned() } else { format!("an exception, caught in {caught}") }
}

fn runs_user_code(cause: &Cause) -> bool {
    let name = cause.to_string();
    name.starts_with("user.") || name.starts_with("runtime.") || name.starts_with("hardware.")
}

/// The code that ran last before the segment.
fn node_before(segment: &Segment, examined: &Examined) -> Option<NodeKey> {
    let later = examined.runs.partition_point(|run| run.range.start < segment.range.start);
    Some(examined.runs[..later].last()?.node)
}

/// The code that ran longest in `range`.
fn busiest_node(range: TscRange, examined: &Examined) -> Option<NodeKey> {
    let first = examined.runs.partition_point(|run| run.range.stop <= range.start);
    let mut ticks: HashMap<NodeKey, u64> = HashMap::new();
    for run in examined.runs[first..].iter().take_while(|run| run.range.start < range.stop) {
        let inside = run.range.intersection(range).map_or(0, |range| range.ticks().0);
        *ticks.entry(run.node).or_default() += inside;
    }
    ticks.into_iter().max_by_key(|&(node, ticks)| (ticks, node)).map(|(node, _)| node)
}

/// The innermost function of the program itself at `node`, and the library's function that it had called; the innermost of all where
/// there is no other.
fn place_of(node: NodeKey, examined: &Examined) -> (String, String) {
    let mut through = String::new();
    let mut innermost = None;
    let mut at = node;
    for _ in 0..FURTHEST {
        let Some(node) = examined.code.nodes.get(&at) else { break };
        if &*node.function == SIGNAL {
            return (innermost.unwrap_or_default(), through);
        }
        let name = spoken(&node.function);
        let told = format!("{name}()");
        if !node.library && !is_library(&name) {
            return (told, through);
        }
        innermost.get_or_insert_with(|| told.clone());
        through = told;
        at = node.parent;
    }
    (innermost.unwrap_or_default(), String::new())
}
