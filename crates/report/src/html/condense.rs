//! Fewer bars and functions where there are more than a page should hold; no time is lost by it.

use std::cmp::Reverse;

use crate::calls::CallTree;
use crate::outlier::SegmentReport;

/// A segment as drawn: one, or several short adjacent ones under the longest one's name.
pub(super) struct Bar<'a> {
    /// The segment, or the longest of them.
    pub(super) segment: &'a SegmentReport,
    /// From the interval's start.
    pub(super) offset_ns: u64,
    /// The length of all of them together.
    pub(super) duration_ns: u64,
    /// How many they are.
    pub(super) segments: usize,
    /// Whether the request was read in one of them.
    pub(super) takes: bool,
}

impl<'a> Bar<'a> {
    fn new(segment: &'a SegmentReport) -> Bar<'a> {
        Bar {
            segment,
            offset_ns: segment.offset_ns,
            duration_ns: segment.duration_ns,
            segments: 1,
            takes: segment.story.takes,
        }
    }
}

/// `segments` as at most about `most` bars: the longest half stay themselves, what lies between them is merged.
pub(super) fn bars(segments: &[SegmentReport], most: usize) -> Vec<Bar<'_>> {
    if segments.len() <= most {
        return segments.iter().map(Bar::new).collect();
    }
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by_key(|&at| Reverse(segments[at].duration_ns));
    let mut stays = vec![false; segments.len()];
    order.iter().take(most / 2).for_each(|&at| stays[at] = true);
    let mut bars: Vec<Bar<'_>> = Vec::with_capacity(most);
    let mut joins = false;
    for (segment, stays) in segments.iter().zip(stays) {
        match bars.last_mut().filter(|_| joins && !stays) {
            Some(last) => {
                if segment.duration_ns > last.segment.duration_ns {
                    last.segment = segment;
                }
                last.duration_ns = last.duration_ns.saturating_add(segment.duration_ns);
                last.segments += 1;
                last.takes |= segment.story.takes;
            }
            None => bars.push(Bar::new(segment)),
        }
        joins = !stays;
    }
    bars
}

/// Which of the tree's nodes a page of at most `most` functions shows: for each node the one that stands for it, its
/// own new index or that of the nearest caller that is shown; and the shown ones, callers first.
pub(super) fn shown_calls(tree: &CallTree, most: usize) -> (Vec<Option<usize>>, Vec<usize>) {
    let totals = tree.totals();
    let weight = |at: usize| totals[at].0.max(totals[at].1);
    let mut order: Vec<usize> = (0..tree.nodes.len()).collect();
    // A caller weighs at least what its calls do, and stands before them: the first ones are closed under callers.
    order.sort_by_key(|&at| (Reverse(weight(at)), at));
    let mut shown: Vec<usize> = order.into_iter().take(most).collect();
    shown.sort_unstable();
    let mut stands = vec![None; tree.nodes.len()];
    let mut next = shown.iter().enumerate().peekable();
    for at in 0..tree.nodes.len() {
        stands[at] = match next.next_if(|&(_, &shown)| shown == at) {
            Some((index, _)) => Some(index),
            None => tree.nodes[at].parent.filter(|&parent| parent < at).and_then(|parent| stands[parent]),
        };
    }
    (stands, shown)
}

#[cfg(test)]
mod tests;
