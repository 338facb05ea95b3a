//! An outlier's child spans beside those of its typical intervals, and in words.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Attribution, Interval, TscRange};

use super::{ChildSpans, OutlierReport};
use crate::timebase::Timebase;
use crate::units;

/// Labels of children that a line of text names.
const MOST_NAMED: usize = 3;

/// The children of `interval` and of the `baselines`, by label.
pub(super) fn compare<B: Borrow<Attribution>>(
    interval: &Interval,
    baselines: &[B],
    timebase: Timebase,
) -> Vec<ChildSpans> {
    let start = interval.range.start;
    let length = |ticks| timebase.duration(TscRange::new(start, start + ticks));
    let mut typical: BTreeMap<&str, u64> = BTreeMap::new();
    for child in baselines.iter().flat_map(|baseline| &baseline.borrow().interval().children) {
        let sum = typical.entry(&child.label).or_default();
        *sum = sum.saturating_add(length(child.time));
    }
    let count = baselines.len() as u64;
    let mean = |sum: u64| sum.saturating_add(count / 2) / count.max(1);
    let own = interval.children.iter().map(|child| ChildSpans {
        label: child.label.clone(),
        spans: child.spans,
        duration_ns: length(child.time),
        typical_ns: typical.remove(child.label.as_str()).map_or(0, mean),
    });
    let mut all: Vec<ChildSpans> = own.collect();
    // What only typical intervals have: the outlier saved it.
    all.extend(typical.into_iter().map(|(label, sum)| ChildSpans {
        label: label.to_owned(),
        spans: 0,
        duration_ns: 0,
        typical_ns: mean(sum),
    }));
    all.sort_by_key(|child| (Reverse(child.excess_ns()), child.label.clone()));
    all
}

impl OutlierReport {
    /// `of which 120.0 us in child span SELECT (130.0 us in 3 spans, typical 10.0 us)`; empty where no child took longer than
    /// typical.
    pub fn child_words(&self) -> String {
        let length = |length| units::length(length, self.time_unit);
        let words = |child: &ChildSpans| {
            let excess = u64::try_from(child.excess_ns()).ok().filter(|&excess| excess > 0)?;
            let ChildSpans { label, spans, duration_ns, typical_ns } = child;
            let whole = format!("{} in {}", length(*duration_ns), crate::counted(*spans, "span"));
            let typical = match self.baselines.len() {
                0 => String::new(),
                _ => format!(", typical {}", length(*typical_ns)),
            };
            Some(format!("{} in child span {label} ({whole}{typical})", length(excess)))
        };
        let named: Vec<String> = self.children.iter().filter_map(words).take(MOST_NAMED).collect();
        if named.is_empty() { String::new() } else { format!("of which {}", named.join(", ")) }
    }
}

#[cfg(test)]
mod tests;
