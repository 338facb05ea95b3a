//! Which intervals are outliers: the robust z-score of Iglewicz and Hoaglin ("How to Detect and Handle Outliers",
//! 1993), on the slow side only, per label.
//!
//! Input: durations and labels. Output: a verdict for each, and the thresholds. Mean and deviation would not do: the
//! outliers that are looked for spoil them.

// Durations as floating point: see population.rs.
#![allow(clippy::cast_precision_loss)]

use std::collections::{BTreeMap, HashMap};

use crate::unit::Unit;

/// 0.6745 · MAD estimates the standard deviation of normal data by its quartiles.
const MAD_FACTOR: f64 = 0.6745;

/// Mean absolute deviation times this estimates the standard deviation of normal data (√(π/2)).
const MEAN_DEVIATION_FACTOR: f64 = 1.253_314;

/// Labels with fewer intervals are judged together: a median of three says little.
const FEWEST_PER_LABEL: usize = 8;

/// An interval is an outlier where its robust z-score, 0.6745 · (x − median) / MAD, is above `k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlierRule {
    /// The bound; 3.5 is the usual one.
    pub k: f64,
}

impl Default for OutlierRule {
    fn default() -> OutlierRule {
        OutlierRule { k: 3.5 }
    }
}

/// The threshold of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelThreshold {
    /// The label; `None` for the labels that are judged together.
    pub label: Option<String>,
    /// How many intervals it has.
    pub count: u64,
    /// Their median duration (the mean of the two middle ones of an even number).
    pub median: f64,
    /// The median of their distances from the median.
    pub mad: f64,
    /// Longer ones are outliers; infinite where all are alike.
    pub threshold: f64,
}

/// The durations of a population, and the same in ascending order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durations<'d> {
    pub(crate) all: &'d [u64],
    pub(crate) sorted: &'d [u64],
}

/// Verdict and reasons for each interval of a population.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The rule in words, with the thresholds.
    pub rule: String,
    /// For each interval, in the given order.
    pub is_outlier: Vec<bool>,
    /// The threshold of each label, in order of the labels.
    pub thresholds: Vec<LabelThreshold>,
}

impl OutlierRule {
    /// Judges intervals by their durations, each within its label.
    pub(crate) fn judge<'a>(
        self,
        durations: Durations<'_>,
        labels: impl Iterator<Item = &'a str> + Clone,
        unit: Unit,
    ) -> Judgement {
        if let Some(only) = only_one(labels.clone()) {
            let threshold = self.threshold(Some(only), durations.sorted);
            let is_outlier = durations.all.iter().map(|&duration| duration as f64 > threshold.threshold);
            let (is_outlier, thresholds) = (is_outlier.collect(), vec![threshold]);
            return Judgement { rule: self.in_words(&thresholds, unit), is_outlier, thresholds };
        }
        let (groups, durations) = (common_labels(labels), durations.all);
        let mut is_outlier = vec![false; durations.len()];
        let mut thresholds = Vec::with_capacity(groups.len());
        for (label, members) in groups {
            let mut values: Vec<u64> = members.iter().filter_map(|&at| durations.get(at).copied()).collect();
            values.sort_unstable();
            let threshold = self.threshold(label, &values);
            for at in members {
                if durations.get(at).is_some_and(|&duration| duration as f64 > threshold.threshold) {
                    is_outlier[at] = true;
                }
            }
            thresholds.push(threshold);
        }
        Judgement { rule: self.in_words(&thresholds, unit), is_outlier, thresholds }
    }

    /// The threshold of the ascending `values`.
    fn threshold(self, label: Option<&str>, values: &[u64]) -> LabelThreshold {
        let median = middle(values);
        let distances = values.iter().map(|&value| (value as f64 - median).abs());
        let mean_distance = distances.sum::<f64>() / values.len().max(1) as f64;
        let mad = middle_distance(values, median);
        // More than half are alike: MAD is zero and would make everything else an outlier.
        let spread = if mad > 0.0 { mad / MAD_FACTOR } else { mean_distance * MEAN_DEVIATION_FACTOR };
        let threshold = if spread > 0.0 { median + self.k * spread } else { f64::INFINITY };
        LabelThreshold { label: label.map(str::to_owned), count: values.len() as u64, median, mad, threshold }
    }

    fn in_words(self, thresholds: &[LabelThreshold], unit: Unit) -> String {
        let one = |threshold: &LabelThreshold| {
            if threshold.threshold.is_infinite() {
                return "no spread, so none".to_owned();
            }
            format!(
                "longer than {} (median {}, MAD {})",
                unit.show_floor(threshold.threshold),
                unit.show_floor(threshold.median),
                unit.show_floor(threshold.mad)
            )
        };
        let start = format!("robust z-score above {}", self.k);
        match thresholds {
            [] => start,
            [only] => format!("{start}: {}", one(only)),
            many => {
                let shown: Vec<String> = many
                    .iter()
                    .take(4)
                    .map(|each| format!("{}: {}", each.label.as_deref().unwrap_or("other labels"), one(each)))
                    .collect();
                let more = many.len() - shown.len();
                let more = if more == 0 { String::new() } else { format!("; and {more} more labels") };
                format!("{start} within its label: {}{more}", shown.join("; "))
            }
        }
    }
}

/// The label of all, where it is one.
fn only_one<'a>(mut labels: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = labels.next()?;
    labels.all(|label| label == first).then_some(first)
}

/// Positions by label; those of rare labels together under `None`.
fn common_labels<'a>(labels: impl Iterator<Item = &'a str>) -> BTreeMap<Option<&'a str>, Vec<usize>> {
    let (mut common, mut rare) = (BTreeMap::new(), Vec::new());
    for (label, mut members) in positions_by_label(labels) {
        if members.len() < FEWEST_PER_LABEL {
            rare.append(&mut members);
        } else {
            common.insert(Some(label), members);
        }
    }
    if !rare.is_empty() {
        rare.sort_unstable();
        common.insert(None, rare);
    }
    common
}

/// The positions of each label, in ascending order.
pub(crate) fn positions_by_label<'a>(labels: impl Iterator<Item = &'a str>) -> HashMap<&'a str, Vec<usize>> {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, label) in labels.enumerate() {
        groups.entry(label).or_default().push(at);
    }
    groups
}

/// The median of the ascending `values`; zero for none.
fn middle(values: &[u64]) -> f64 {
    let half = values.len() / 2;
    match values {
        [] => 0.0,
        _ if values.len() % 2 == 1 => values[half] as f64,
        _ => f64::midpoint(values[half - 1] as f64, values[half] as f64),
    }
}

/// The median of the distances of the ascending `values` from `median`, theirs; zero for none. The distances grow to either
/// side of it: the next one is the smaller of two.
fn middle_distance(values: &[u64], median: f64) -> f64 {
    let distance = |value: u64| (value as f64 - median).abs();
    let (below, above) = values.split_at(values.len() / 2);
    let (mut below, mut above) = (below.iter().rev().peekable(), above.iter().peekable());
    let mut next = || {
        let is_below = match (below.peek(), above.peek()) {
            (Some(&&below), Some(&&above)) => distance(below) < distance(above),
            (below, _) => below.is_some(),
        };
        if is_below { below.next() } else { above.next() }.map_or(0.0, |&value| distance(value))
    };
    let (mut before, mut upper) = (0.0, 0.0);
    for _ in 0..=values.len() / 2 {
        (before, upper) = (upper, next());
    }
    if values.len().is_multiple_of(2) { f64::midpoint(before, upper) } else { upper }
}

#[cfg(test)]
mod tests;
