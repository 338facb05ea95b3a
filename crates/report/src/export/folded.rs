//! Folded stacks: `order 50;main;work 1234`, one line per stack, nanoseconds last. The input of flamegraph.pl, inferno
//! and speedscope. Without a call tree the causes are the stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::CallLayer;

use super::tracks::{layer_of, name};
use crate::escape::for_terminal;
use crate::outlier::OutlierReport;
use crate::report::Report;

/// The frames of one stack, outermost first, and the time in the innermost itself.
pub(super) struct Stack {
    pub(super) frames: Vec<(String, CallLayer)>,
    /// Of the outlier.
    pub(super) own_ns: u64,
    /// The mean of its baselines.
    pub(super) typical_ns: u64,
}

/// The stacks of all outliers, each below its own name.
pub fn export_folded(report: &Report) -> String {
    let mut text = String::new();
    for outlier in &report.outliers {
        let root = frame(&name(outlier));
        for stack in stacks(outlier).iter().filter(|stack| stack.own_ns > 0) {
            let frames: Vec<&str> = stack.frames.iter().map(|(name, _)| name.as_str()).collect();
            let _ = writeln!(text, "{root};{} {}", frames.join(";"), stack.own_ns);
        }
    }
    text
}

/// Those of the call tree, callers first; without one its causes, by name.
pub(super) fn stacks(outlier: &OutlierReport) -> Vec<Stack> {
    let nodes = &outlier.calls.nodes;
    if nodes.is_empty() {
        return causes(outlier);
    }
    let stack = |at: usize| Stack {
        frames: outlier
            .calls
            .chain(at)
            .into_iter()
            .map(|at| (frame(&nodes[at].name), nodes[at].layer))
            .collect(),
        own_ns: nodes[at].self_ns,
        typical_ns: nodes[at].typical_self_ns,
    };
    (0..nodes.len()).map(stack).collect()
}

fn causes(outlier: &OutlierReport) -> Vec<Stack> {
    let mut causes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for segment in &outlier.segments {
        let (own, _) = causes.entry(&segment.cause).or_default();
        *own = own.saturating_add(segment.duration_ns);
    }
    for total in &outlier.causes {
        causes.entry(&total.cause).or_default().1 = total.typical_ns;
    }
    let stack = |(cause, (own_ns, typical_ns)): (&str, (u64, u64))| Stack {
        frames: vec![(frame(cause), layer_of(cause))],
        own_ns,
        typical_ns,
    };
    causes.into_iter().map(stack).collect()
}

/// A name as one frame: `;` would end it.
pub(super) fn frame(raw: &str) -> String {
    match raw {
        "" => "?".to_owned(),
        raw => for_terminal(raw).replace(';', ":"),
    }
}
