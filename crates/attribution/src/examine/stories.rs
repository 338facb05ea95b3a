//! Whose code a segment is, for the headline: of user code the function that had most of it, of kernel work the one that was left.
//!
//! A function of a library stands for the program's own function that called it.

use std::collections::HashMap;

use model::{Cause, Segment, Story, TscRange};

use super::examined::Examined;
use crate::tables::libraries::{is_library, spoken};
use crate::walk::user_code::NodeKey;

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
        let Story { place: place_of_segment, through: through_of_segment, .. } = &mut segment.story;
        (*place_of_segment, *through_of_segment) = (place, through);
    }
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
        let name = spoken(&node.function);
        let told = format!("{name}()");
        if !is_library(&name) {
            return (told, through);
        }
        innermost.get_or_insert_with(|| told.clone());
        through = told;
        at = node.parent;
    }
    (innermost.unwrap_or_default(), String::new())
}
