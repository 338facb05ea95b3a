//! Which intervals are outliers: the robust z-score of Iglewicz and Hoaglin ("How to Detect and Handle Outliers",
//! 1993), on the slow side only, per label.
//!
//! Input: durations and labels. Output: a verdict for each, and the thresholds. Mean and deviation would not do: the
//! outliers that are looked for spoil them.

// Durations as floating point: see population.rs.
#![allow(clippy::cast_precision_loss)]

use std::collections::BTreeMap;

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
    pub fn judge<'a>(
        self,
        durations: &[u64],
        labels: impl Iterator<Item = &'a str>,
        unit: Unit,
    ) -> Judgement {
        let groups = group_by_label(labels);
        let mut is_outlier = vec![false; durations.len()];
        let mut thresholds = Vec::with_capacity(groups.len());
        for (label, members) in groups {
            let values: Vec<u64> = members.iter().filter_map(|&at| durations.get(at).copied()).collect();
            let threshold = self.threshold(label, values);
            for at in members {
                if durations.get(at).is_some_and(|&duration| duration as f64 > threshold.threshold) {
                    is_outlier[at] = true;
                }
            }
            thresholds.push(threshold);
        }
        Judgement { rule: self.in_words(&thresholds, unit), is_outlier, thresholds }
    }

    fn threshold(self, label: Option<&str>, mut values: Vec<u64>) -> LabelThreshold {
        values.sort_unstable();
        let numbers: Vec<f64> = values.iter().map(|&value| value as f64).collect();
        let median = middle(&numbers);
        let mut distances: Vec<f64> = numbers.iter().map(|value| (value - median).abs()).collect();
        let mean_distance = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
        let mad = select_middle(&mut distances);
        // More than half are alike: MAD is zero and would make everything else an outlier.
        let spread = if mad > 0.0 { mad / MAD_FACTOR } else { mean_distance * MEAN_DEVIATION_FACTOR };
        let threshold = if spread > 0.0 { median + self.k * spread } else { f64::INFINITY };
        LabelThreshold {
            label: label.map(str::to_owned),
            count: numbers.len() as u64,
            median,
            mad,
            threshold,
        }
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

/// Positions by label; those of rare labels together under `None`. One label is one group, however rare.
fn group_by_label<'a>(labels: impl Iterator<Item = &'a str>) -> BTreeMap<Option<&'a str>, Vec<usize>> {
    let mut groups: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (at, label) in labels.enumerate() {
        groups.entry(Some(label)).or_default().push(at);
    }
    if groups.len() == 1 {
        return groups;
    }
    let mut rare = Vec::new();
    groups.retain(|_, members| {
        let keep = members.len() >= FEWEST_PER_LABEL;
        if !keep {
            rare.append(members);
        }
        keep
    });
    if !rare.is_empty() {
        rare.sort_unstable();
        groups.insert(None, rare);
    }
    groups
}

/// The median of values in any order, which it reorders; zero for none.
fn select_middle(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (even, half) = (values.len().is_multiple_of(2), values.len() / 2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if even { f64::midpoint(below.iter().copied().fold(0.0, f64::max), upper) } else { upper }
}

/// The median of ascending values; zero for none.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted {
        [] => 0.0,
        _ if sorted.len() % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

#[cfg(test)]
mod tests;
