//! All intervals that are looked at together: their durations and the statistics of the spsc exercise.
//!
//! Input: intervals and which of them belong to the population. Output: [`PopulationStatistics`]. Durations are integer
//! nanoseconds (or ticks where the capture has no conversion); only mean and deviation are floating point.
//! `docs/statistics.md` defines each figure.

// Means and deviations of durations: 2^53 ns are 104 days, and beyond it a relative error of 1e-16 does not matter.
#![allow(clippy::cast_precision_loss)]

use std::sync::OnceLock;

use model::{Interval, TimeConversion};

use crate::histogram::{Histogram, TwoModes};
use crate::outliers::{Durations, Judgement, LabelThreshold, OutlierRule};
use crate::unit::Unit;

/// The intervals of one question, with their durations.
#[derive(Clone, Debug)]
pub struct Population<'a> {
    intervals: &'a [Interval],
    members: Vec<usize>,
    durations: Vec<u64>,
    unit: Unit,
    /// The durations in ascending order, from where that was first needed.
    sorted: OnceLock<Vec<u64>>,
    /// The rule that was applied first, and what it gave: it is wanted again and again.
    judged: OnceLock<(OutlierRule, Judgement)>,
}

/// Percentiles by nearest rank: the smallest duration such that at least that share of the population is not longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The median.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p99_9: u64,
    /// 99.99 %.
    pub p99_99: u64,
}

/// The figures of a population as a whole. All durations are in `unit`; all zero where `count` is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PopulationStatistics {
    /// How many intervals.
    pub count: u64,
    /// What the durations are counted in; the fields' names say `ns`, the usual case.
    pub unit: Unit,
    /// The rule for outliers, in words, with the threshold that results.
    pub rule: String,
    /// How many intervals that rule names.
    pub outliers: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The mean of those that are no outliers.
    pub mean_without_outliers_ns: f64,
    /// The longest.
    pub max_ns: u64,
    /// The population standard deviation: the root of the mean squared distance from the mean.
    pub stdev_ns: f64,
    /// The same of those that are no outliers.
    pub stdev_without_outliers_ns: f64,
    /// Percentiles by nearest rank.
    pub percentiles: Percentiles,
    /// The threshold of each label, in order of the labels.
    pub thresholds: Vec<LabelThreshold>,
    /// Durations in bins of equal ratio.
    pub histogram: Histogram,
    /// The two kinds of intervals, where there are two.
    pub modes: Option<TwoModes>,
}

impl<'a> Population<'a> {
    /// The population of the intervals with these indices; an index without interval is ignored.
    ///
    /// Durations are nanoseconds with a `conversion`, ticks without.
    pub fn of(
        intervals: &'a [Interval],
        members: impl IntoIterator<Item = usize>,
        conversion: Option<TimeConversion>,
    ) -> Population<'a> {
        let members: Vec<usize> = members.into_iter().filter(|&index| index < intervals.len()).collect();
        let duration = |&index: &usize| match conversion {
            Some(conversion) => conversion.duration_ns(intervals[index].range),
            None => intervals[index].range.ticks().0,
        };
        let durations = members.iter().map(duration).collect();
        let unit = if conversion.is_some() { Unit::Nanoseconds } else { Unit::Ticks };
        Population { intervals, members, durations, unit, sorted: OnceLock::new(), judged: OnceLock::new() }
    }

    /// The population of all `intervals`.
    pub fn all(intervals: &'a [Interval], conversion: Option<TimeConversion>) -> Population<'a> {
        Population::of(intervals, 0..intervals.len(), conversion)
    }

    /// The intervals that the members' indices mean.
    pub fn intervals(&self) -> &'a [Interval] {
        self.intervals
    }

    /// Indices of the members.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// The members' durations, in the members' order.
    pub fn durations(&self) -> &[u64] {
        &self.durations
    }

    /// What the durations are counted in.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The members' labels, in the members' order.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.members.iter().map(|&index| self.intervals[index].label.as_str())
    }

    /// The durations in ascending order.
    pub fn sorted_durations(&self) -> &[u64] {
        self.sorted.get_or_init(|| {
            let mut sorted = self.durations.clone();
            sorted.sort_unstable();
            sorted
        })
    }

    /// Which members `rule` names.
    pub fn judge(&self, rule: OutlierRule) -> Judgement {
        let durations = || Durations { all: &self.durations, sorted: self.sorted_durations() };
        let judge = || rule.judge(durations(), self.labels(), self.unit);
        match self.judged.get_or_init(|| (rule, judge())) {
            (known, judgement) if *known == rule => judgement.clone(),
            _ => judge(),
        }
    }

    /// The table of the spsc exercise, percentiles and histogram.
    pub fn statistics(&self, rule: OutlierRule) -> PopulationStatistics {
        let judgement = self.judge(rule);
        let sorted = self.sorted_durations();
        let (mean_ns, stdev_ns) = moments(self.durations.iter().copied());
        let typical = self.durations.iter().zip(&judgement.is_outlier).filter(|(_, outlier)| !**outlier);
        let (mean_without_outliers_ns, stdev_without_outliers_ns) =
            moments(typical.map(|(&duration, _)| duration));
        PopulationStatistics {
            count: sorted.len() as u64,
            unit: self.unit,
            rule: judgement.rule,
            outliers: judgement.is_outlier.iter().filter(|outlier| **outlier).count() as u64,
            min_ns: sorted.first().copied().unwrap_or(0),
            mean_ns,
            mean_without_outliers_ns,
            max_ns: sorted.last().copied().unwrap_or(0),
            stdev_ns,
            stdev_without_outliers_ns,
            percentiles: Percentiles::of(sorted),
            thresholds: judgement.thresholds,
            modes: TwoModes::find(sorted),
            histogram: Histogram::of(sorted),
        }
    }
}

impl Percentiles {
    fn of(sorted: &[u64]) -> Percentiles {
        let at = |percentile| nearest_rank(sorted, percentile).unwrap_or(0);
        Percentiles { p50: at(50.0), p90: at(90.0), p99: at(99.0), p99_9: at(99.9), p99_99: at(99.99) }
    }
}

/// The value at rank ⌈percentile/100 · n⌉ (from 1) of the ascending `sorted`; at least the first, at most the last.
/// `None` where there is none, or the percentile is no number from 0 to 100.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn nearest_rank(sorted: &[u64], percentile: f64) -> Option<u64> {
    if !(0.0..=100.0).contains(&percentile) {
        return None;
    }
    // In whole billionths of a percent: 99.9 % of 1000 is rank 999, though 99.9 / 100.0 * 1000.0 is a hair more.
    let share = (percentile * 1e9).round() as u128;
    let rank = (share * sorted.len() as u128).div_ceil(100_000_000_000) as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Mean and population standard deviation; zero for none. Two passes, so that nothing cancels out.
fn moments(values: impl Iterator<Item = u64> + Clone) -> (f64, f64) {
    let (count, sum) =
        values.clone().fold((0u64, 0u128), |(count, sum), value| (count + 1, sum + u128::from(value)));
    if count == 0 {
        return (0.0, 0.0);
    }
    let mean = sum as f64 / count as f64;
    let squares: f64 = values.map(|value| (value as f64 - mean).powi(2)).sum();
    (mean, (squares / count as f64).sqrt())
}

#[cfg(test)]
mod tests;
