//! Many lengths in a few figures: percentiles, bins, the two kinds of them where there are two.
//!
//! Lengths named `_ns` are in the report's [`TimeUnit`](crate::TimeUnit).

use serde::{Deserialize, Serialize};

/// Percentiles of the durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median.
    pub p50: u64,
    /// 90 % are not longer.
    pub p90: u64,
    /// 99 % are not longer.
    pub p99: u64,
    /// 99.9 % are not longer.
    pub p99_9: u64,
    /// 99.99 % are not longer.
    pub p99_99: u64,
}

/// One bin of the histogram: durations from `from_ns` to below `to_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// The shortest duration in it.
    pub from_ns: u64,
    /// The shortest duration no longer in it.
    pub to_ns: u64,
    /// How many intervals.
    pub count: u64,
}

/// Two kinds of intervals: two hills of the histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// Those up to the threshold.
    pub fast: Mode,
    /// Those above it.
    pub slow: Mode,
    /// The longest duration of a fast one.
    pub threshold_ns: u64,
}

/// One kind of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// How many intervals.
    pub count: u64,
    /// Their mean duration.
    pub mean_ns: f64,
}

/// Lengths of one kind of thing, summed up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lengths {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The median, by nearest rank.
    pub p50_ns: u64,
    /// 99 % are not longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Lengths {
    /// Of lengths in any order.
    pub fn of(mut lengths: Vec<u64>) -> Lengths {
        lengths.sort_unstable();
        let at = |percentile| lengths.get(nearest_rank(lengths.len(), percentile)).copied().unwrap_or(0);
        Lengths {
            count: lengths.len() as u64,
            total_ns: lengths.iter().fold(0, |sum, &length| sum.saturating_add(length)),
            p50_ns: at(50.0),
            p99_ns: at(99.0),
            max_ns: lengths.last().copied().unwrap_or(0),
        }
    }
}

/// The nearest rank of a percentile among `count`, from 0: the least that has so much of all at or below it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a rank among `count`
pub(crate) fn nearest_rank(count: usize, percentile: f64) -> usize {
    // In whole thousandths of a percent, so that 99.9 % of 1000 is rank 999.
    let share = (percentile * 1000.0).round() as u128;
    let rank = (share * count as u128).div_ceil(100_000) as usize;
    rank.clamp(1, count.max(1)) - 1
}
