//! Folded stacks: `order 50;main;work 1234`, one line per stack, nanoseconds last. The input of flamegraph.pl, inferno
//! and speedscope. Without a call tree the causes are the stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::tracks::name;
use crate::escape::for_terminal;
use crate::outlier::OutlierReport;
use crate::report::Report;

/// The stacks of all outliers, each below its own name.
pub fn export_folded(report: &Report) -> String {
    let mut text = String::new();
    for outlier in &report.outliers {
        let root = frame(&name(outlier));
        for (stack, time) in stacks(outlier) {
            let _ = writeln!(text, "{root};{stack} {time}");
        }
    }
    text
}

fn stacks(outlier: &OutlierReport) -> Vec<(String, u64)> {
    if outlier.calls.nodes.is_empty() {
        let mut causes: BTreeMap<String, u64> = BTreeMap::new();
        for segment in &outlier.segments {
            let time = causes.entry(frame(&segment.cause)).or_default();
            *time = time.saturating_add(segment.duration_ns);
        }
        return causes.into_iter().collect();
    }
    let nodes = &outlier.calls.nodes;
    let own = (0..nodes.len()).filter(|&at| nodes[at].self_ns > 0);
    own.map(|at| {
        let chain = outlier.calls.chain(at);
        let frames: Vec<String> = chain.into_iter().map(|at| frame(&nodes[at].name)).collect();
        (frames.join(";"), nodes[at].self_ns)
    })
    .collect()
}

/// A name as one frame: `;` would end it.
fn frame(raw: &str) -> String {
    match raw {
        "" => "?".to_owned(),
        raw => for_terminal(raw).replace(';', ":"),
    }
}
