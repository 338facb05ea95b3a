//! All chosen outliers together: which causes dominate, which outliers have the same story, what was waited for.
//!
//! [`View::of`] is a pure function of the outliers' reports; waits, devices and nodes are added by who has the records.
//! Only what exceeds typical counts: where a cause takes less than in the baselines, that is no reason to be slow.

pub(crate) mod stories;
pub(crate) mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::Number;
use serde::{Deserialize, Serialize};

use crate::distribution::{Bin, Lengths, Modes};
use crate::numa::NumaView;
use crate::outlier::OutlierReport;
use crate::reasons::Reasons;
use crate::units::share;

pub use stories::Story;

/// The outliers as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// What the outliers' excess went into, the largest share first.
    pub causes: Vec<CauseShare>,
    /// Outliers with the same story, the largest group first.
    pub stories: Vec<Story>,
    /// Why all outliers of the population are slow, explained or not.
    #[serde(default)]
    pub reasons: Reasons,
    /// Block devices, the busiest first.
    pub devices: Vec<DeviceView>,
    /// How long the population waited for block devices; `None` where no record names one.
    #[serde(default)]
    pub block_io: Option<IoShare>,
    /// What the population waited for, the longest in sum first.
    pub waits: Vec<WaitView>,
    /// On which NUMA nodes intervals were and what they used; `None` unless the capture has several.
    #[serde(default)]
    pub numa: Option<NumaView>,
    /// What is left out here and why, in words.
    pub remarks: Vec<String>,
}

/// What one cause took in all outliers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// Its dotted name.
    pub cause: String,
    /// In how many outliers it has the largest excess.
    pub dominates: u64,
    /// In how many it exceeds typical.
    pub outliers: u64,
    /// Its time in all outliers.
    pub duration_ns: u64,
    /// What it took above typical, summed over those outliers where it did.
    pub excess_ns: u64,
    /// That sum's share of the same sum over all causes, from 0 to 1; these add up to 1 unless nothing exceeds.
    pub share: f64,
}

/// How a counter of the program correlates with durations, over the whole population.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterView {
    /// The label of the intervals.
    pub label: String,
    /// Its name.
    pub name: String,
    /// How many intervals carry it.
    pub count: u64,
    /// Spearman's rank correlation with the duration.
    pub rho: Option<f64>,
    /// The interval that holds the true one with 95 %.
    pub confidence: Option<(f64, f64)>,
    /// The chance of such a correlation where there is none, corrected for the number of counters.
    pub p: Option<f64>,
    /// What separates the two modes best, where there are two.
    pub split: Option<SplitView>,
    /// Whether one of both is more than chance explains.
    pub is_significant: bool,
}

/// A threshold of a counter that separates slow from fast intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitView {
    /// Whether slow ones lie below it (above it otherwise); the value itself is fast.
    pub is_below: bool,
    /// The value.
    #[serde(with = "crate::number")]
    pub threshold: Number,
    /// Slow intervals on that side.
    pub slow_matched: u64,
    /// Slow intervals.
    pub slow: u64,
    /// Fast intervals on that side.
    pub fast_matched: u64,
    /// Fast intervals.
    pub fast: u64,
    /// The chance of so good a threshold, corrected for the number of counters.
    pub p: f64,
}

/// A block device and one direction: its access times, from issue to completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// `254:0`: major and minor number.
    pub device: String,
    /// `read`, `write`, `other`.
    pub direction: String,
    /// All accesses of the capture's intervals' time.
    pub accesses: Lengths,
    /// The access times' distribution: adjacent bins in order.
    pub histogram: Vec<Bin>,
    /// The two kinds of accesses, where there are two.
    pub modes: Option<Modes>,
    /// The share of all intervals' time in which their threads waited for this device, whatever the direction, from 0
    /// to 1.
    #[serde(default)]
    pub wait_share: f64,
}

/// The time in which intervals' own threads waited for block devices, as a share of the intervals' time, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoShare {
    /// Of all intervals.
    pub share: f64,
    /// Of the slow ones.
    pub slow_share: f64,
    /// Of the fast ones.
    pub fast_share: f64,
    /// Of all intervals: the time in which they waited for other threads, which waited for block devices themselves.
    #[serde(default)]
    pub others_share: f64,
}

/// What intervals waited for: one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitView {
    /// Its name: `futex 0x7f… of pid 120`, `lock (futex 0x4cf400 of pid 142)` where it lies in a variable.
    pub object: String,
    /// The cause of these waits: `offcpu.lock`.
    pub cause: String,
    /// The waits of fast intervals.
    pub fast: Lengths,
    /// The waits of slow intervals.
    pub slow: Lengths,
    /// The share of all slow intervals' time, from 0 to 1.
    pub slow_share: f64,
    /// The share of all fast intervals' time, from 0 to 1.
    pub fast_share: f64,
    /// The two kinds of waits, where there are two.
    pub modes: Option<Modes>,
}

/// Sums of one cause.
#[derive(Default)]
struct Sums {
    dominates: u64,
    outliers: u64,
    duration_ns: u64,
    excess_ns: u64,
}

impl View {
    /// Causes and stories of `outliers`; the rest is empty.
    pub fn of(outliers: &[OutlierReport]) -> View {
        View { causes: shares(outliers), stories: stories::stories(outliers), ..View::default() }
    }

    /// [`View::numa`] in words, a statement each.
    pub fn nodes(&self) -> Vec<String> {
        self.numa.as_ref().map_or_else(Vec::new, NumaView::words)
    }
}

/// What exceeds typical, by cause.
fn shares(outliers: &[OutlierReport]) -> Vec<CauseShare> {
    let mut sums: BTreeMap<&str, Sums> = BTreeMap::new();
    for outlier in outliers {
        for (place, total) in outlier.causes.iter().enumerate() {
            let sum = sums.entry(&total.cause).or_default();
            sum.duration_ns = sum.duration_ns.saturating_add(total.duration_ns);
            let Some(excess) = u64::try_from(total.excess_ns).ok().filter(|&excess| excess > 0) else {
                continue;
            };
            sum.excess_ns = sum.excess_ns.saturating_add(excess);
            sum.outliers += 1;
            sum.dominates += u64::from(place == 0);
        }
    }
    let whole: u128 = sums.values().map(|sum| u128::from(sum.excess_ns)).sum();
    let mut shares: Vec<CauseShare> = sums
        .into_iter()
        .map(|(cause, sum)| CauseShare {
            cause: cause.to_owned(),
            dominates: sum.dominates,
            outliers: sum.outliers,
            duration_ns: sum.duration_ns,
            excess_ns: sum.excess_ns,
            share: share(u128::from(sum.excess_ns), whole),
        })
        .collect();
    shares.sort_by_key(|share| (Reverse(share.excess_ns), Reverse(share.duration_ns)));
    shares
}

#[cfg(test)]
mod tests;
