//! What the recording itself took of an interval: the kernel functions that work for it, as a part of each cause of kernel work.
//!
//! Input: the call tree of an outlier. Output: lengths. The time stays in its causes: this says of what they consist, and no sum changes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::CallLayer;

use crate::calls::CallTree;

/// What the recording took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Of the outlier.
    pub(crate) own_ns: u64,
    /// Of its baselines, on average.
    pub(crate) typical_ns: u64,
    /// Of each of the outlier's causes of kernel work.
    pub(crate) causes: BTreeMap<String, u64>,
    /// By the event that was recorded, the most first.
    pub(crate) events: Vec<(String, u64)>,
}

impl Recording {
    /// By the kernel functions in `tree`; `None` where it shows none, so that nothing is known.
    pub(crate) fn of(tree: &CallTree) -> Option<Recording> {
        let works = tree.works();
        let mut recording = Recording::default();
        let mut events: BTreeMap<&str, u64> = BTreeMap::new();
        let mut known = false;
        for (index, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.layer == CallLayer::Kernel)
        {
            let Some(work) = works[index] else { continue };
            known |= work != index;
            let own = if node.recording.is_empty() { 0 } else { node.self_ns };
            let of_cause = recording.causes.entry(tree.nodes[work].name.clone()).or_default();
            *of_cause = of_cause.saturating_add(own);
            recording.own_ns = recording.own_ns.saturating_add(own);
            if !node.recording.is_empty() {
                recording.typical_ns = recording.typical_ns.saturating_add(node.typical_self_ns);
                let of_event = events.entry(&node.recording).or_default();
                *of_event = of_event.saturating_add(own);
            }
        }
        recording.events = events.into_iter().map(|(event, own)| (event.to_owned(), own)).collect();
        recording.events.retain(|(_, own)| *own > 0);
        recording.events.sort_by_key(|(_, own)| Reverse(*own));
        known.then_some(recording)
    }
}

#[cfg(test)]
mod tests;
