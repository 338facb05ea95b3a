//! Where extra work took place of which no single explanation has the most: in the innermost function that had more than half of it,
//! with all that it called; or, of one function that was called from several, below that one.

use std::collections::{BTreeMap, HashSet};

use model::{Cause, Segment};

use crate::examine::examined::Examined;
use crate::examine::stories::place_of;
use crate::walk::activity::runs_within;
use crate::walk::user_code::{ByAddress, NodeKey};

/// Gives the extra work among `segments`, those of `outlier`, that place.
pub(super) fn name_place(segments: &mut [Segment], outlier: &Examined) {
    let is_extra =
        |segment: &&mut Segment| segment.cause == Cause::UserExtraWork && segment.story.object.is_empty();
    let extra: Vec<&mut Segment> = segments.iter_mut().filter(is_extra).collect();
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
        Some(most) if most == place || place.is_empty() => return,
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

/// The innermost node that had more than half of the time of `extra`, with all that it called.
fn innermost_of_most(extra: &[&mut Segment], outlier: &Examined) -> Option<NodeKey> {
    let mut whole = 0;
    let mut with_callees: ByAddress<NodeKey, (u64, usize)> = ByAddress::default();
    for segment in extra {
        for (node, ticks) in runs_within(&outlier.runs, segment.range) {
            whole += ticks.0;
            let lineage: Vec<NodeKey> = outlier.code.lineage(node).map(|(key, _)| key).collect();
            let mut seen = HashSet::new();
            for (above, key) in lineage.iter().enumerate().filter(|(_, key)| seen.insert(**key)) {
                let (time, depth) = with_callees.entry(*key).or_default();
                (*time, *depth) = (*time + ticks.0, lineage.len() - above);
            }
        }
    }
    let most = with_callees.into_iter().filter(|(_, (time, _))| *time > whole / 2);
    most.max_by_key(|&(key, (_, depth))| (depth, key)).map(|(node, _)| node)
}
