//! Whether intervals take longer in one population than in another: before and after a change, one host and the next.
//!
//! Input: the durations of both. Output: the test of Mann and Whitney (1947), with the variance corrected for ties and a
//! correction for continuity (Lehmann, Nonparametrics, 1975, section 1.4), and for each quantile its difference with
//! a confidence interval from order statistics, which assumes nothing of the distributions. `docs/statistics.md`.

// Probabilities and sums of ranks as floats: 2^53 pairs are a hundred million intervals against as many.
#![allow(clippy::cast_precision_loss)]

use crate::confidence::{self, ERROR};
use crate::counters::two_sided;
use crate::population::nearest_rank;

/// The percentiles that are compared.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// What changed from population A to population B.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Mann and Whitney's U: pairs of an interval of each in which B's is longer; a pair of equals counts half.
    pub u: f64,
    /// The probability that an interval of B takes longer than one of A (ties half): U over all pairs; 0.5 where
    /// nothing changed.
    pub b_longer: f64,
    /// How far U lies from what chance gives, in standard deviations; 0 where all durations are equal.
    pub z: f64,
    /// The probability of a U so far off, or farther, where both come from one distribution.
    pub p: f64,
    /// What became of the quantiles.
    pub quantiles: Vec<QuantileChange>,
}

/// One quantile in both populations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileChange {
    /// Which: 50 for the median.
    pub percent: f64,
    /// In A, by nearest rank.
    pub a: u64,
    /// In B, by nearest rank.
    pub b: u64,
    /// Holds B's minus A's true quantile with at least 95 %; `None` where there are too few intervals.
    pub confidence: Option<(i64, i64)>,
}

impl Change {
    /// From durations `a` to durations `b`, in any order; `None` where one of them is empty.
    pub fn between(a: &[u64], b: &[u64]) -> Option<Change> {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        a.sort_unstable();
        b.sort_unstable();
        let pairs = a.len() as f64 * b.len() as f64;
        if pairs == 0.0 {
            return None;
        }
        let u = doubled_u(&a, &b) as f64 / 2.0;
        let z = z_of(u, &a, &b);
        Some(Change {
            u,
            b_longer: u / pairs,
            z,
            p: two_sided(z).min(1.0),
            quantiles: PERCENTILES.map(|percent| quantile(percent, &a, &b)).to_vec(),
        })
    }
}

/// Twice U, so that ties are whole numbers. Both are sorted.
fn doubled_u(a: &[u64], b: &[u64]) -> u128 {
    let (mut below, mut upto) = (0, 0);
    b.iter().fold(0, |sum, value| {
        below += a[below..].iter().take_while(|other| *other < value).count();
        upto = upto.max(below);
        upto += a[upto..].iter().take_while(|other| *other <= value).count();
        sum + (below + upto) as u128
    })
}

/// `u` in standard deviations from its mean, half a pair nearer to it. Both are sorted.
fn z_of(u: f64, a: &[u64], b: &[u64]) -> f64 {
    let pairs = a.len() as f64 * b.len() as f64;
    let whole = (a.len() + b.len()) as f64;
    let mut all: Vec<u64> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let cubes = |tied: &[u64]| {
        let size = tied.len() as f64;
        size * size * size - size
    };
    let ties: f64 = all.chunk_by(|one, two| one == two).map(cubes).sum();
    let variance = pairs / 12.0 * (whole + 1.0 - ties / (whole * (whole - 1.0)).max(1.0));
    let off = u - pairs / 2.0;
    if variance <= 0.0 { 0.0 } else { off.signum() * (off.abs() - 0.5).max(0.0) / variance.sqrt() }
}

/// Each population's quantile lies within its interval with 97.5 %, so both do, and with them the difference, with 95 %
/// (Bonferroni).
fn quantile(percent: f64, a: &[u64], b: &[u64]) -> QuantileChange {
    let within = |sorted| confidence::of_quantile(sorted, percent, ERROR / 2.0);
    let confidence = within(a)
        .zip(within(b))
        .map(|((low_a, high_a), (low_b, high_b))| (difference(low_b, high_a), difference(high_b, low_a)));
    let of = |sorted| nearest_rank(sorted, percent).unwrap_or(0);
    QuantileChange { percent, a: of(a), b: of(b), confidence }
}

fn difference(b: u64, a: u64) -> i64 {
    let difference = i128::from(b) - i128::from(a);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
