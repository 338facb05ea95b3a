//! What the recording itself took of an interval: the kernel functions that work for it, as a part of each cause of kernel work.
//!
//! Input: the call tree of an outlier. Output: lengths. The time stays in its causes: this says of what they consist, and no sum changes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::CallLayer;

use crate::calls::CallTree;
use crate::causes::CauseTotal;
use crate::outlier::OutlierReport;
use crate::timebase::TimeUnit;
use crate::units::{self, counted, percentage};

/// A cause says its part where that is at least one in so many (5 %).
const NOTABLE_PART: u64 = 20;

/// Events that only the presets `standard` and `full` of `tailtrace record` have, by how their names begin: `light` leaves them out.
const NOT_IN_LIGHT: [&str; 9] = [
    "raw_syscalls:",
    "exceptions:",
    "irq_vectors:",
    "ipi:",
    "tlb:",
    "block:",
    "tcp:",
    "power:cpu_frequency",
    "sched:sched_migrate_task",
];

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

    /// `8.20 us of its 11.5 us is tracing`; empty where that is little of `cause`.
    fn part_of(&self, cause: &CauseTotal, unit: TimeUnit) -> String {
        let own = self.causes.get(&cause.cause).copied().unwrap_or(0).min(cause.duration_ns);
        if own == 0 || own < cause.duration_ns / NOTABLE_PART {
            return String::new();
        }
        format!("{} of its {} is tracing", units::length(own, unit), units::length(cause.duration_ns, unit))
    }

    /// `31.2 us of 209.8 us, typical 4.10 us of 8.62 us; most for raw_syscalls:sys_enter (12.3 us)`: those of `outlier`.
    pub(crate) fn words(&self, outlier: &OutlierReport) -> String {
        let length = |ns| units::length(ns, outlier.time_unit);
        let typical = outlier.baseline_mean_ns.map_or_else(String::new, |mean| {
            format!(", typical {} of {}", length(self.typical_ns), length(mean))
        });
        let most = self
            .events
            .first()
            .map_or_else(String::new, |(event, own)| format!("; most for {event} ({})", length(*own)));
        format!("{} of {}{typical}{most}", length(self.own_ns), length(outlier.duration_ns))
    }
}

/// The particulars of `cause`, and how much of it the recording took where that is much.
pub(crate) fn particulars(cause: &CauseTotal, recording: Option<&Recording>, unit: TimeUnit) -> String {
    let part = recording.map_or_else(String::new, |recording| recording.part_of(cause, unit));
    let parts = [cause.detail.as_str(), &part];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// `15 % of the time of 10 outliers, 42 % of that of typical intervals; most of it for raw_syscalls:sys_enter (81.3 us, which
/// record --preset light leaves out)`: of all `outliers` together; empty where no kernel function is known of any.
pub(crate) fn of_all(outliers: &[OutlierReport], unit: TimeUnit) -> String {
    let known = outliers.iter().filter_map(|outlier| Some((outlier, Recording::of(&outlier.calls)?)));
    let known: Vec<(&OutlierReport, Recording)> = known.collect();
    if known.is_empty() {
        return String::new();
    }
    let sum = |of: &dyn Fn(&(&OutlierReport, Recording)) -> u64| {
        known.iter().map(of).fold(0_u64, u64::saturating_add)
    };
    let own = percentage(sum(&|(_, own)| own.own_ns), sum(&|(outlier, _)| outlier.duration_ns));
    let typical = sum(&|(outlier, _)| outlier.baseline_mean_ns.unwrap_or(0));
    let typical = match typical {
        0 => String::new(),
        whole => {
            format!(", {} of that of typical intervals", percentage(sum(&|(_, own)| own.typical_ns), whole))
        }
    };
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for (event, own) in known.iter().flat_map(|(_, recording)| &recording.events) {
        let time = events.entry(event).or_default();
        *time = time.saturating_add(*own);
    }
    let most = events.into_iter().max_by_key(|&(_, own)| own).map_or_else(String::new, |(event, own)| {
        format!("; most of it for {event} ({}{})", units::length(own, unit), left_out_by(event))
    });
    format!("{own} of the time of {}{typical}{most}", counted(known.len() as u64, "outlier"))
}

/// The option of `tailtrace record` that leaves an event out; empty where reports need it, or nothing leaves it out.
fn left_out_by(event: &str) -> &'static str {
    let is_left_out = NOT_IN_LIGHT.iter().any(|beginning| event.starts_with(beginning));
    if is_left_out { ", which record --preset light leaves out" } else { "" }
}

#[cfg(test)]
mod tests;
