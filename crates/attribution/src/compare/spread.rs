//! Where extra work, or slowness of one kind, took place of which no single explanation has the most: in the innermost function that had
//! more than half of it, with all that it called; or, of one function that was called from several, below that one.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{Cause, Segment, Slower};

use crate::examine::examined::Examined;
use crate::examine::stories::place_of;
use crate::walk::activity::runs_within;
use crate::walk::hot_paths::with_callees;
use crate::walk::user_code::NodeKey;

/// What has one explanation for each function.
const CAUSES: [Cause; 4] = [
    Cause::UserExtraWork,
    Cause::UserSlower(Slower::Frequency),
    Cause::UserSlower(Slower::FrontEnd),
    Cause::UserSlower(Slower::Other),
];

/// Gives the extra work, and the slowness of each kind, among `segments`, those of `outlier`, that place.
pub(super) fn name_places(segments: &mut [Segment], outlier: &Examined) {
    for cause in &CAUSES {
        name_place(cause, segments, outlier);
    }
}

fn name_place(cause: &Cause, segments: &mut [Segment], outlier: &Examined) {
    let is_of = |segment: &&mut Segment| segment.cause == *cause && segment.story.object.is_empty();
    let extra: Vec<&mut Segment> = segments.iter_mut().filter(is_of).collect();
    let mut details = BTreeMap::new();
    let mut places = BTreeMap::new();
    let mut whole = 0;
    for segment in &extra {
        let ticks = segment.range.ticks().0;
        *details.entry(&segment.detail).or_insert(0) += ticks;
        *places.entry(&segment.story.place).or_insert(0) += ticks;
        whole += ticks;
    }
    if whole == 0 || details.values().any(|&time| time > whole / 2) {
        return;
    }
    let most = places.into_iter().find(|&(_, time)| time > whole / 2).map(|(place, _)| place.clone());
    let Some(node) = innermost_of_most(&extra, outlier) else { return };
    let (place, through) = place_of(node, outlier);
    let (place, through) = match most {
        _ if place.is_empty() => return,
        Some(most) if most == place => return,
        Some(most) if time_below(node, &most, &extra, outlier) <= whole / 2 => return,
        Some(most) => (format!("{most} below {place}"), None),
        None => (place, Some(through)),
    };
    for segment in extra {
        segment.story.place.clone_from(&place);
        if let Some(through) = &through {
            segment.story.through.clone_from(through);
        }
    }
}

/// The time of `extra` at `place` that `node` called for.
fn time_below(node: NodeKey, place: &str, extra: &[&mut Segment], outlier: &Examined) -> u64 {
    let there = extra.iter().filter(|segment| segment.story.place == place);
    let runs = there.flat_map(|segment| runs_within(&outlier.runs, segment.range));
    let below = runs.filter(|&(ran, _)| outlier.code.lineage(ran).any(|(caller, _)| caller == node));
    below.map(|(_, ticks)| ticks.0).sum()
}

/// The innermost node that had more than half of the time of `extra`, with all that it called.
fn innermost_of_most(extra: &[&mut Segment], outlier: &Examined) -> Option<NodeKey> {
    let mut by_node: HashMap<NodeKey, u64> = HashMap::new();
    for (node, ticks) in extra.iter().flat_map(|segment| runs_within(&outlier.runs, segment.range)) {
        *by_node.entry(node).or_default() += ticks.0;
    }
    let whole: u64 = by_node.values().sum();
    let mut most = with_callees(&outlier.code, by_node);
    most.retain(|_, (ticks, _)| *ticks > whole / 2);
    // They are on one way: the innermost called none of the others.
    let callers: HashSet<NodeKey> = most.values().filter_map(|(_, caller)| *caller).collect();
    most.into_keys().filter(|node| !callers.contains(node)).min()
}
