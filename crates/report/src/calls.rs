//! The call tree of an outlier, each node beside what its baselines spend there.
//!
//! Input: the [`Calls`] of the outlier and of its baselines. Output: one merged [`CallTree`]. Invariants: callers stand
//! before what they call; Σ `self_ns` is the time of the outlier's stretches, Σ `typical_self_ns` the mean of the
//! baselines', rounded as the causes are.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use model::{CallLayer, CallNode, Calls, TscRange};

use crate::causes::apportion;
use crate::timebase::Timebase;

/// Deeper calls count as their caller's own time: deeper than any person reads, and no recursion can exhaust a
/// browser.
const DEEPEST: usize = 200;

/// The calls of an outlier beside its baselines'. Empty where the capture has no control flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTree {
    /// Callers before what they call.
    pub nodes: Vec<CallReport>,
    /// Which of them ran in the outlier, in order of time.
    pub stretches: Vec<StretchReport>,
}

/// A function as called by those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallReport {
    /// The index of its caller.
    pub parent: Option<usize>,
    /// Its name.
    pub name: String,
    /// Where it belongs.
    pub layer: CallLayer,
    /// The event for whose recording it works; empty for all else.
    pub recording: String,
    /// The outlier's time in it, without what it called.
    pub self_ns: u64,
    /// The mean of the baselines' time in it, without what it called.
    pub typical_self_ns: u64,
    /// How often the outlier entered it, also where no packet gives the entries a time.
    pub calls: u64,
}

/// Time of the outlier in one node itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StretchReport {
    /// From the interval's start.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// The index of its node.
    pub node: usize,
}

impl CallTree {
    /// Merges `calls` with those of `baselines` by the chains of names.
    pub(crate) fn new(
        calls: &Calls,
        baselines: &[impl Borrow<Calls>],
        interval: TscRange,
        timebase: Timebase,
    ) -> CallTree {
        let mut merge = Merge::default();
        let places = merge.places(&calls.nodes, |_| true);
        for stretch in &calls.stretches {
            let Some(&Some(node)) = places.get(stretch.node as usize) else { continue };
            let own = &mut merge.tree.nodes[node];
            own.calls = own.calls.saturating_add(stretch.calls);
            let Some(range) = stretch.range.intersection(interval).filter(|range| !range.is_empty()) else {
                continue;
            };
            merge.outlier(node, range, stretch.calls, interval, timebase);
        }
        for baseline in baselines.iter().map(Borrow::borrow) {
            // What has no time there and did not run in the outlier would be a row of zeros.
            let has_time = with_time(baseline);
            let places = merge.places(&baseline.nodes, |node| has_time[node]);
            for stretch in &baseline.stretches {
                let Some(&Some(node)) = places.get(stretch.node as usize) else { continue };
                merge.sums[node] += u128::from(timebase.duration(stretch.range));
            }
        }
        let (typical, _) = apportion(&merge.sums, baselines.len());
        for (node, typical) in merge.tree.nodes.iter_mut().zip(typical) {
            node.typical_self_ns = typical;
        }
        merge.tree
    }

    /// For each node the times of the outlier and of the baselines in it and all that it called.
    pub fn totals(&self) -> Vec<(u64, u64)> {
        let mut totals: Vec<(u64, u64)> =
            self.nodes.iter().map(|node| (node.self_ns, node.typical_self_ns)).collect();
        for index in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[index].parent.filter(|&parent| parent < index) {
                let (own, typical) = totals[index];
                totals[parent].0 = totals[parent].0.saturating_add(own);
                totals[parent].1 = totals[parent].1.saturating_add(typical);
            }
        }
        totals
    }

    /// For each node of kernel work the node of its cause: the outermost of the kernel's nodes that it lies below, or itself.
    pub(crate) fn works(&self) -> Vec<Option<usize>> {
        let mut works: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let above = node.parent.and_then(|parent| works.get(parent)).copied().flatten();
            works.push((node.layer == CallLayer::Kernel).then(|| above.unwrap_or(index)));
        }
        works
    }

    /// The chain of nodes down to `node`, outermost first.
    pub(crate) fn chain(&self, node: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next.filter(|&at| at < self.nodes.len()) {
            chain.push(at);
            next = self.nodes[at].parent.filter(|&parent| parent < at);
        }
        chain.reverse();
        chain
    }
}

/// Whether each node of `calls`, or something that it called, has time.
fn with_time(calls: &Calls) -> Vec<bool> {
    let mut has_time = vec![false; calls.nodes.len()];
    for stretch in calls.stretches.iter().filter(|stretch| !stretch.range.is_empty()) {
        if let Some(node) = has_time.get_mut(stretch.node as usize) {
            *node = true;
        }
    }
    for (index, node) in calls.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent.map(|parent| parent as usize).filter(|&parent| parent < index) {
            has_time[parent] |= has_time[index];
        }
    }
    has_time
}

/// The tree in the making.
#[derive(Default)]
struct Merge {
    tree: CallTree,
    /// The depth of each node.
    depths: Vec<usize>,
    /// The baselines' times in each node.
    sums: Vec<u128>,
    known: HashMap<(Option<usize>, CallLayer, Arc<str>), usize>,
}

impl Merge {
    /// The merged node of each of `nodes` that is `wanted`; callers of wanted ones are, too.
    fn places(&mut self, nodes: &[CallNode], wanted: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        let mut places: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| places.get(parent as usize)).copied().flatten();
            let place = wanted(index).then(|| self.place(parent, node));
            places.push(place);
        }
        places
    }

    fn place(&mut self, parent: Option<usize>, node: &CallNode) -> usize {
        let depth = parent.map_or(0, |parent| self.depths[parent] + 1);
        if let Some(parent) = parent.filter(|_| depth > DEEPEST) {
            return parent;
        }
        let next = self.tree.nodes.len();
        let place = *self.known.entry((parent, node.layer, node.name.clone())).or_insert(next);
        if place == next {
            let name = node.name.to_string();
            let recording = node.recording.as_deref().unwrap_or_default().to_owned();
            let layer = node.layer;
            self.tree.nodes.push(CallReport { parent, name, layer, recording, ..CallReport::default() });
            self.depths.push(depth);
            self.sums.push(0);
        }
        place
    }

    fn outlier(&mut self, node: usize, range: TscRange, calls: u64, interval: TscRange, timebase: Timebase) {
        let duration_ns = timebase.duration(range);
        let own = &mut self.tree.nodes[node];
        own.self_ns = own.self_ns.saturating_add(duration_ns);
        let offset_ns = timebase.duration(TscRange::new(interval.start, range.start));
        match self.tree.stretches.last_mut() {
            Some(last)
                if last.node == node && calls == 0 && last.offset_ns + last.duration_ns == offset_ns =>
            {
                last.duration_ns += duration_ns;
            }
            _ => self.tree.stretches.push(StretchReport { offset_ns, duration_ns, node }),
        }
    }
}

#[cfg(test)]
mod tests;
