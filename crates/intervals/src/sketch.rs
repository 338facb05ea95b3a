//! Durations in buckets of equal relative width, so that the quantiles of many captures come of their sums.
//!
//! `DDSketch` (Masson, Rim, Lee: "`DDSketch`: a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019), by the crate
//! `sketches-ddsketch`: bucket `i` holds the lengths from γ^(i-1) up to γ^i, with γ = (1 + α) / (1 - α). Each length is counted, none is averaged;
//! a quantile is off by α at most. Sketches are merged by adding counts, where the tables are read.

use serde::{Deserialize, Serialize};
use sketches_ddsketch::{Config, DDSketch};

/// α: how far a quantile may be off, as a share of it.
const RELATIVE_ERROR: f64 = 0.01;
/// The nanoseconds of a `u64` have some 2200 buckets: with so many none is merged with another.
const MOST_BINS: u32 = 4096;
/// What is not longer counts as zero: lengths are whole.
const SHORTEST: f64 = 0.5;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// γ: how much longer the longest length of a bucket is than that of the bucket before.
    gamma: f64,
    /// Lengths of zero, which have no logarithm.
    zeros: u64,
    /// Counts by the bucket's number, in its order.
    bins: Vec<(i64, u64)>,
}

/// A `DDSketch` as it is serialised, the one way to its buckets.
#[derive(Deserialize)]
struct Serialised {
    config: Gamma,
    store: Store,
    zero_count: u64,
}

#[derive(Deserialize)]
struct Gamma {
    gamma: f64,
}

/// Counts from bucket `offset` on: there a bucket's number is that of its lower end.
#[derive(Deserialize)]
struct Store {
    bins: Vec<u64>,
    offset: i64,
}

impl Sketch {
    /// The sketch of these lengths, each with how often it occurs.
    ///
    /// # Panics
    /// Where the crate serialises a sketch in another way than the tests know, whatever the lengths are.
    pub fn of(lengths: impl IntoIterator<Item = (u64, u64)>) -> Sketch {
        let mut counted = DDSketch::new(Config::new(RELATIVE_ERROR, MOST_BINS, SHORTEST));
        // A stranger's counts may be of any size, and the crate adds them without looking.
        let mut left = u64::MAX;
        for (length, count) in lengths {
            let count = count.min(left);
            left -= count;
            #[allow(clippy::cast_precision_loss, reason = "a bucket is wider than what is lost")]
            counted.add_with_count(length as f64, count);
        }
        let serialised = serde_json::to_value(&counted).and_then(serde_json::from_value);
        let Serialised { config, store, zero_count } =
            serialised.expect("a sketch is serialised with these fields");
        let numbered = (store.offset + 1..).zip(store.bins);
        Sketch {
            gamma: config.gamma,
            zeros: zero_count,
            bins: numbered.filter(|&(_, count)| count > 0).collect(),
        }
    }

    /// How many lengths there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(self.zeros, |sum, (_, count)| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests;
