//! Measures what is expected of a population, alone or beside another one.
//!
//! Input: expectations, and the study or two of them. Output: for each whether it is met, with what was measured and its 95 % confidence
//! interval. What cannot be measured is not met.

// Durations and their sums as floats: 2^53 ns are 104 days.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use intervals::confidence::{self, ERROR};
use intervals::nearest_rank;
use report::{Digits, Expected, OutlierReport, TimeUnit};

use super::opened::Study;
use super::reasons::MOST_OUTLIERS;
use crate::error::{Error, Result};
use crate::expectation::{Expectation, Figure, Limit, is_below};

/// What is measured of one population: its durations in ascending order, and its outliers where a share is expected.
#[derive(Default)]
pub(super) struct Measured {
    unit: TimeUnit,
    durations: Vec<u64>,
    outliers: Explained,
}

/// The outliers that were explained, and how many there are.
#[derive(Default)]
struct Explained {
    reports: Vec<OutlierReport>,
    all: usize,
}

/// A figure with its confidence interval.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    within: Option<(f64, f64)>,
}

impl Study<'_> {
    /// What was measured of each of `expectations`. All outliers are explained where one expects a share, or as many as
    /// [`Study::reasons`] explains.
    ///
    /// # Errors
    /// [`Error::NotInSlice`] for a slice; where an outlier cannot be attributed, which is a bug and says so.
    pub fn expect(&self, expectations: &[Expectation]) -> Result<Vec<Expected>> {
        let measured = Measured::of(self, expectations)?;
        Ok(expectations.iter().map(|expectation| measured.check(expectation, None)).collect())
    }
}

impl Measured {
    /// What `expectations` need of the study.
    pub(super) fn of(study: &Study<'_>, expectations: &[Expectation]) -> Result<Measured> {
        if expectations.is_empty() {
            return Ok(Measured::default());
        }
        if study.carried().is_some() {
            return Err(Error::NotInSlice(study.capture().path().to_owned()));
        }
        let mut durations = study.durations().to_vec();
        durations.sort_unstable();
        let is_share = |expectation: &Expectation| matches!(expectation.figure, Figure::Share(_));
        let outliers =
            if expectations.iter().any(is_share) { Explained::of(study)? } else { Explained::default() };
        Ok(Measured { unit: study.capture().facts().time_unit, durations, outliers })
    }

    /// Whether an expectation is met; ratios are to the figure of `other`.
    pub(super) fn check(&self, expectation: &Expectation, other: Option<&Measured>) -> Expected {
        let (is_met, measured) = match expectation.limit {
            Limit::Duration(limit) => self.duration(expectation, limit),
            Limit::Share(limit) => self.share(expectation, limit),
            Limit::Ratio(limit) => self.ratio(expectation, limit, other),
        };
        Expected { expectation: expectation.text.clone(), is_met, measured }
    }

    fn duration(&self, expectation: &Expectation, limit: u64) -> (bool, String) {
        if self.unit == TimeUnit::Ticks {
            return (false, "the capture has no TSC conversion: its durations are ticks".to_owned());
        }
        let Some(found) = self.estimate(&expectation.figure, ERROR) else { return NOTHING.into_finding() };
        let value = found.value.round() as u64;
        let digits = Digits::of([value, limit], self.unit);
        let show = |figure: f64| digits.show(figure.max(0.0).round() as u64);
        let is_met = expectation.relation.holds(found.value, limit as f64);
        (is_met, format!("{}, {}", show(found.value), found.words(show)))
    }

    fn ratio(&self, expectation: &Expectation, limit: f64, other: Option<&Measured>) -> (bool, String) {
        let Some(other) = other else { return NOTHING.into_finding() };
        // Each lies within its interval with 97.5 %, so both do with 95 % (Bonferroni).
        let estimate = |measured: &Measured| measured.estimate(&expectation.figure, ERROR / 2.0);
        let (Some(a), Some(b)) = (estimate(other), estimate(self)) else { return NOTHING.into_finding() };
        if a.value <= 0.0 {
            return (false, "A's is zero: there is no ratio".to_owned());
        }
        let ends = |((low_a, high_a), (low_b, high_b)): ((f64, f64), (f64, f64))| {
            (low_a > 0.0).then(|| (low_b.max(0.0) / high_a, high_b / low_a))
        };
        let found = Estimate { value: b.value / a.value, within: a.within.zip(b.within).and_then(ends) };
        let show = |ratio: f64| format!("{ratio:.3}x");
        let digits = Digits::of([a.value.round() as u64, b.value.round() as u64], self.unit);
        let (a, b) = (digits.show(a.value.round() as u64), digits.show(b.value.round() as u64));
        let is_met = expectation.relation.holds(found.value, limit);
        (is_met, format!("{}, {}: {a} to {b}", show(found.value), found.words(show)))
    }

    /// `None` where there is no interval, or the figure is no duration.
    fn estimate(&self, figure: &Figure, error: f64) -> Option<Estimate> {
        let durations = &self.durations;
        let value = |value: u64| value as f64;
        match figure {
            Figure::Percentile(percent) => Some(Estimate {
                value: value(nearest_rank(durations, *percent)?),
                within: confidence::of_quantile(durations, *percent, error)
                    .map(|(low, high)| (value(low), value(high))),
            }),
            Figure::Mean => {
                let sum: u128 = durations.iter().map(|&duration| u128::from(duration)).sum();
                let mean = (!durations.is_empty()).then(|| sum as f64 / durations.len() as f64)?;
                Some(Estimate { value: mean, within: confidence::of_mean(durations, error) })
            }
            // The next run's longest may be longer by any length.
            Figure::Highest => Some(Estimate { value: value(*durations.last()?), within: None }),
            Figure::Share(_) => None,
        }
    }

    fn share(&self, expectation: &Expectation, limit: f64) -> (bool, String) {
        let Figure::Share(cause) = &expectation.figure else { return NOTHING.into_finding() };
        let pairs: Vec<(f64, f64)> =
            self.outliers.reports.iter().map(|outlier| excess(outlier, cause)).collect();
        let (part, whole) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let value = if whole > 0.0 { part / whole } else { 0.0 };
        let found = Estimate { value, within: confidence::of_ratio(&pairs, ERROR) };
        let show = |share: f64| format!("{:.1} %", share.clamp(0.0, 1.0) * 100.0);
        let of = match (self.outliers.reports.len(), self.outliers.all) {
            (_, 0) => {
                return (expectation.relation.holds(value, limit), "no outlier, so no excess".to_owned());
            }
            (explained, all) if explained == all => format!("of {}", report::counted(all as u64, "outlier")),
            (explained, all) => format!("of {explained} of {all} outliers, at equal distances by duration"),
        };
        let is_met = expectation.relation.holds(value, limit);
        (is_met, format!("{}, {}, {of}", show(value), found.words(show)))
    }
}

/// Why nothing is measured.
struct Nothing(&'static str);

const NOTHING: Nothing = Nothing("there is no interval to measure");

impl Nothing {
    fn into_finding(self) -> (bool, String) {
        (false, self.0.to_owned())
    }
}

impl Estimate {
    /// `95 % confidence 180 us to 190 us`.
    fn words(self, show: impl Fn(f64) -> String) -> String {
        match self.within {
            Some((low, high)) => format!("95 % confidence {} to {}", show(low), show(high)),
            None => "no confidence interval".to_owned(),
        }
    }
}

impl Explained {
    fn of(study: &Study<'_>) -> Result<Explained> {
        let outliers = study.outliers();
        let all = outliers.len();
        let sample = study.sample_of(outliers, MOST_OUTLIERS);
        Ok(Explained { reports: study.explain_each(&sample, |report| report)?, all })
    }
}

/// What a cause took above typical in one outlier, and what all causes did that took more.
fn excess(outlier: &OutlierReport, name: &str) -> (f64, f64) {
    outlier.causes.iter().filter(|cause| cause.excess_ns > 0).fold((0.0, 0.0), |(part, whole), cause| {
        let excess = cause.excess_ns as f64;
        (if is_below(&cause.cause, name) { part + excess } else { part }, whole + excess)
    })
}
