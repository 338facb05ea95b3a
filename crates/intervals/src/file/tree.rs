//! The tree of nested spans: how much of each interval its direct children took.
//!
//! Input: intervals with the links that their file states. Output: for each parent the time by label of its children,
//! within the parent; where children of a label overlap, the time counts once.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::{Child, Interval, Ticks, TscRange};

/// The most labels of children that one interval keeps apart; the rest is one.
const MOST_LABELS: usize = 32;
const OTHERS: &str = "(others)";

/// What a span says of its place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Its ids, and that of its parent in the same trace.
    Ids { trace: u128, span: u64, parent: Option<u64> },
    /// Its thread or id: what encloses it there is its parent.
    Lane(u32),
}

/// Gives each of `intervals` its children; `links` has one entry for each.
pub(super) fn divide(intervals: &mut [Interval], links: &[Link]) {
    let mut edges = by_ids(links);
    edges.extend(by_lanes(intervals, links));
    let key = |&(parent, child): &(usize, usize)| {
        let child = &intervals[child];
        (parent, child.label.as_str(), child.range.start)
    };
    edges.sort_by(|a, b| key(a).cmp(&key(b)));
    let of_parents = edges.chunk_by(|a, b| a.0 == b.0);
    let found: Vec<(usize, Vec<Child>)> =
        of_parents.map(|edges| (edges[0].0, children(intervals, edges))).collect();
    for (parent, children) in found {
        intervals[parent].children = children;
    }
}

/// Parent and child, by the ids of spans. Of spans with the same id the first is the parent.
pub(super) fn by_ids(links: &[Link]) -> Vec<(usize, usize)> {
    let mut spans = HashMap::new();
    for (index, link) in links.iter().enumerate() {
        if let Link::Ids { trace, span, .. } = link {
            spans.entry((trace, span)).or_insert(index);
        }
    }
    let edge = |(child, link): (usize, &Link)| match link {
        Link::Ids { trace, parent: Some(parent), .. } => {
            let parent = *spans.get(&(trace, parent))?;
            (parent != child).then_some((parent, child))
        }
        _ => None,
    };
    links.iter().enumerate().filter_map(edge).collect()
}

/// Parent and child, by what encloses what in each lane.
fn by_lanes(intervals: &[Interval], links: &[Link]) -> Vec<(usize, usize)> {
    let lane = |(index, link): (usize, &Link)| match link {
        Link::Lane(lane) => Some((*lane, index)),
        Link::Ids { .. } => None,
    };
    let mut ordered: Vec<(u32, usize)> = links.iter().enumerate().filter_map(lane).collect();
    ordered.sort_by_key(|&(lane, index)| {
        let range = intervals[index].range;
        (lane, range.start, Reverse(range.stop), index)
    });
    let mut edges = Vec::new();
    for lane in ordered.chunk_by(|a, b| a.0 == b.0) {
        let mut open: Vec<usize> = Vec::new();
        for &(_, index) in lane {
            let range = intervals[index].range;
            while open.last().is_some_and(|&last| intervals[last].range.stop < range.stop) {
                open.pop();
            }
            if let Some(&parent) = open.last() {
                edges.push((parent, index));
            }
            open.push(index);
        }
    }
    edges
}

/// The children of one parent, the longest first; `edges` are in order of labels and starts.
fn children(intervals: &[Interval], edges: &[(usize, usize)]) -> Vec<Child> {
    let of_labels = edges.chunk_by(|a, b| intervals[a.1].label == intervals[b.1].label);
    let mut children: Vec<Child> = of_labels
        .map(|edges| Child {
            label: intervals[edges[0].1].label.to_string(),
            spans: edges.len() as u64,
            time: covered(intervals[edges[0].0].range, edges.iter().map(|edge| intervals[edge.1].range)),
        })
        .collect();
    children.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.label.cmp(&b.label)));
    if children.len() > MOST_LABELS {
        let rest = children.split_off(MOST_LABELS - 1);
        let time = rest.iter().fold(Ticks(0), |sum, child| sum + child.time);
        let spans = rest.iter().map(|child| child.spans).sum();
        children.push(Child { label: OTHERS.to_owned(), spans, time });
    }
    children
}

/// How much of `parent` the `ranges`, in order of their starts, cover.
fn covered(parent: TscRange, ranges: impl Iterator<Item = TscRange>) -> Ticks {
    let (mut total, mut until) = (Ticks(0), parent.start);
    for range in ranges {
        let (start, stop) = (range.start.max(until), range.stop.min(parent.stop));
        if start < stop {
            total += stop.since(start);
            until = stop;
        }
    }
    total
}

#[cfg(test)]
mod tests;
