//! Durations in buckets of equal relative width, so that the quantiles of many captures come of their sums.
//!
//! `DDSketch` (Masson, Rim, Lee: "`DDSketch`: a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019): bucket
//! `i` holds the lengths from above γ^(i-1) to γ^i, with γ = (1 + α) / (1 - α). Each length is counted, none is averaged; a quantile is off by
//! α at most. Buckets are kept without a bound: the nanoseconds of a `u64` have some 2200 of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// α: how far a quantile may be off, as a share of it.
const RELATIVE_ERROR: f64 = 0.01;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// γ: how much longer the longest length of a bucket is than that of the bucket before.
    gamma: f64,
    /// Lengths of zero, which have no logarithm.
    zeros: u64,
    /// Counts by the bucket's number, in its order.
    bins: Vec<(i32, u64)>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch { gamma: (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR), zeros: 0, bins: Vec::new() }
    }
}

impl Sketch {
    /// The sketch of these lengths, each with how often it occurs.
    pub fn of(lengths: impl IntoIterator<Item = (u64, u64)>) -> Sketch {
        let mut sketch = Sketch::default();
        let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
        for (length, count) in lengths {
            let bin = match length {
                0 => &mut sketch.zeros,
                _ => bins.entry(sketch.bucket(length)).or_default(),
            };
            *bin = bin.saturating_add(count);
        }
        bins.retain(|_, count| *count > 0);
        sketch.bins = bins.into_iter().collect();
        sketch
    }

    /// Adds the lengths of `other`; `false`, and nothing is added, where its buckets have another width.
    #[must_use]
    pub fn merge(&mut self, other: &Sketch) -> bool {
        #[allow(clippy::float_cmp, reason = "buckets of any other width are others")]
        if self.gamma != other.gamma {
            return false;
        }
        let mut bins: BTreeMap<i32, u64> = self.bins.iter().copied().collect();
        for &(bucket, count) in &other.bins {
            let bin = bins.entry(bucket).or_default();
            *bin = bin.saturating_add(count);
        }
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.bins = bins.into_iter().collect();
        true
    }

    /// How many lengths there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(self.zeros, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The length at rank ⌈`percentile`/100 · n⌉, within 1 %; `None` where there is none, or the percentile is no number from 0 to 100.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub fn quantile(&self, percentile: f64) -> Option<u64> {
        if !(0.0..=100.0).contains(&percentile) || self.count() == 0 {
            return None;
        }
        let share = (percentile * 1e9).round() as u128;
        let rank = (share * u128::from(self.count())).div_ceil(100_000_000_000).max(1);
        let mut sum = u128::from(self.zeros);
        if rank <= sum {
            return Some(0);
        }
        let found = self.bins.iter().find(|(_, count)| {
            sum += u128::from(*count);
            rank <= sum
        });
        let &(bucket, _) = found.or(self.bins.last())?;
        // The middle of a bucket: as far from its ends, in parts of them.
        Some((2.0 * self.gamma.powi(bucket) / (self.gamma + 1.0)).round() as u64)
    }

    /// The bucket of a length above zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn bucket(&self, length: u64) -> i32 {
        ((length as f64).ln() / self.gamma.ln()).ceil() as i32
    }
}

#[cfg(test)]
mod tests;
