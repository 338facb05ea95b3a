//! What the intervals' time is made of at each percentile of their durations, what distinguishes slow ones from fast ones, by which paths
//! they went, how all that changed over time, and what the percentiles would be without a cause.
//!
//! Input: explained intervals, one by one, fast ones and slow ones. Output: at each percentile the mean of the intervals around it, by
//! cause; and per cause, and per object and place of it, the percentiles of all durations less its time. The latter are estimates: what
//! queues after a slow interval would be faster, too, and that is not followed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::distribution::nearest_rank;

mod constituents;
mod path;
mod period;
mod tail;

use constituents::{mean, mean_causes};

pub use constituents::Constituents;
pub use path::PathClass;
pub use period::Period;
pub use tail::{Tail, TailCause};

/// The percentiles that are shown; the last one is the longest interval.
pub(crate) const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];
/// Around a percentile, the intervals of so many percent on either side stand for it; fewer where it is nearer to the end.
const AROUND: f64 = 1.0;
/// What shortens no percentile by one part in so many of it is not distinguished.
const SMALLEST_GAIN: u64 = 50;
/// Objects and places of one cause.
const MOST_PARTS: usize = 8;
/// The program's own work, and time of which nothing is known: there is no "without".
const NOT_REMOVABLE: [&str; 4] = ["user.expected", "trace.", "unexplained", "kernel.unknown"];

/// See the module. Lengths are in the report's unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composition {
    /// Intervals that were explained for this.
    pub explained: u64,
    /// All intervals; where there are more than `explained`, these were taken at equal distances in the order of their durations, the
    /// longest among them.
    pub intervals: u64,
    /// One each for 50, 90, 99, 99.9 and 100 %; none where nothing was explained.
    pub points: Vec<CompositionPoint>,
    /// The same in small steps: each tenth of all intervals, of the slowest tenth, of the slowest hundredth, and so on, and the longest.
    pub curve: Vec<CompositionPoint>,
    /// What the slowest ones have more of than the fast ones.
    pub tail: Tail,
    /// By which functions they went: the most frequent path first, then what took most more than the median.
    pub paths: Vec<PathClass>,
    /// Equal parts of the time, in order.
    pub periods: Vec<Period>,
    /// Per cause the whole of it, then its objects and places; what shortens the longest interval most first.
    pub without: Vec<Without>,
}

/// The intervals around a percentile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompositionPoint {
    /// From 0 to 100.
    pub percentile: f64,
    /// How many intervals stand for it.
    pub intervals: u64,
    /// The percentile itself, by nearest rank.
    pub duration_ns: u64,
    /// The mean duration of these intervals; the means of `causes` add up to it.
    pub mean_ns: f64,
    /// Mean time by cause, the most first.
    pub causes: Vec<(String, f64)>,
}

impl CompositionPoint {
    /// `p99.9`; the last one is the longest, the first the shortest.
    pub fn name(&self) -> String {
        if self.percentile >= 100.0 {
            "longest".to_owned()
        } else if self.percentile <= 0.0 {
            "shortest".to_owned()
        } else {
            format!("p{}", self.percentile)
        }
    }
}

/// What the percentiles would be without a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// Its dotted name.
    pub cause: String,
    /// `waited for mutex lock in worker() lock.c:107`, where one object or place is meant: what it took above typical is taken off. Empty
    /// for the whole time of the cause.
    pub what: String,
    /// In the order of [`Composition::points`], by nearest rank.
    pub percentiles_ns: Vec<u64>,
}

impl Composition {
    /// Of all `explained` ones of `intervals` together.
    pub fn of(mut explained: Vec<Constituents>, intervals: u64) -> Composition {
        explained.sort_by_key(|one| one.duration_ns);
        Composition {
            explained: explained.len() as u64,
            intervals,
            points: points(&explained, &PERCENTILES),
            curve: points(&explained, &steps(explained.len())),
            tail: Tail::of(&explained),
            paths: path::of(&explained),
            periods: period::of(&explained),
            without: without(&explained),
        }
    }
}

/// In the order of `percentiles`; none of nothing.
fn points(ordered: &[Constituents], percentiles: &[f64]) -> Vec<CompositionPoint> {
    if ordered.is_empty() {
        return Vec::new();
    }
    let point = |&percentile: &f64| {
        let rank = nearest_rank(ordered.len(), percentile);
        let around = &ordered[around(ordered.len(), rank, percentile)];
        CompositionPoint {
            percentile,
            intervals: around.len() as u64,
            duration_ns: ordered[rank].duration_ns,
            mean_ns: mean(around.iter().map(|one| u128::from(one.duration_ns)).sum(), around.len()),
            causes: mean_causes(around),
        }
    };
    percentiles.iter().map(point).collect()
}

/// The percentiles of the curve: 0, 10, … 90, 91, … 99, 99.1, … as far as `count` intervals distinguish them, and 100.
fn steps(count: usize) -> Vec<f64> {
    let mut found = vec![0.0];
    // Nearest ranks are by thousandths of a percent.
    for parts in
        [10_u32, 100, 1_000, 10_000, 100_000].into_iter().take_while(|&parts| parts as usize <= count)
    {
        found.extend((1..10).rev().map(|above| f64::from((parts - above) * 100) / f64::from(parts)));
    }
    found.push(100.0);
    found
}

/// The ranks that stand for a percentile: as many on either side.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a part of `count`
fn around(count: usize, rank: usize, percentile: f64) -> std::ops::Range<usize> {
    let percent = AROUND.min((100.0 - percentile) / 2.0);
    let side = count.saturating_mul((percent * 1000.0).round() as usize) / 100_000;
    let side = side.min(rank).min(count - 1 - rank);
    rank - side..rank + side + 1
}

/// Per cause the whole of it, and then its objects and places; the largest gain first.
fn without(ordered: &[Constituents]) -> Vec<Without> {
    let measured = percentiles(ordered, |_| 0);
    let counts = |one: &Without| {
        let gained = measured.iter().zip(&one.percentiles_ns);
        gained.into_iter().any(|(with, without)| without < with && with - without >= with / SMALLEST_GAIN)
    };
    // The less is left of the longest, the larger the gain.
    let by_gain = |a: &Without, b: &Without| a.percentiles_ns.iter().rev().cmp(b.percentiles_ns.iter().rev());
    let mut groups: Vec<Vec<Without>> = Vec::new();
    for (cause, whats) in removable(ordered) {
        let whole = percentiles(ordered, |one| one.of_cause(cause));
        let whole = Without { cause: cause.to_owned(), what: String::new(), percentiles_ns: whole };
        let part = |what: &str| Without {
            cause: cause.to_owned(),
            what: what.to_owned(),
            percentiles_ns: percentiles(ordered, |one| one.of_reason(cause, what)),
        };
        let mut parts: Vec<Without> = whats.into_iter().map(part).filter(counts).collect();
        parts.sort_by(by_gain);
        groups.extend(counts(&whole).then(|| [whole].into_iter().chain(parts).collect()));
    }
    groups.sort_by(|a, b| by_gain(&a[0], &b[0]));
    groups.into_iter().flatten().collect()
}

/// The causes that an interval can be without, and of each what happened, as far as that took most of the excess.
fn removable(ordered: &[Constituents]) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for one in ordered {
        for cause in one.causes.keys() {
            found.entry(cause).or_default();
        }
        for ([cause, what], excess) in one.reasons.iter().filter(|([_, what], _)| !what.is_empty()) {
            let sum = found.entry(cause).or_default().entry(what).or_default();
            *sum = sum.saturating_add(*excess);
        }
    }
    found.retain(|cause, _| !NOT_REMOVABLE.iter().any(|name| cause.starts_with(name)));
    found.into_iter().map(|(cause, whats)| (cause, foremost(whats))).collect()
}

fn foremost(whats: BTreeMap<&str, u64>) -> Vec<&str> {
    let mut whats: Vec<(&str, u64)> = whats.into_iter().collect();
    whats.sort_by_key(|&(_, excess)| Reverse(excess));
    whats.into_iter().take(MOST_PARTS).map(|(what, _)| what).collect()
}

/// The percentiles of all durations less what `part` gives of each.
fn percentiles(ordered: &[Constituents], part: impl Fn(&Constituents) -> u64) -> Vec<u64> {
    let mut rest: Vec<u64> = ordered.iter().map(|one| one.duration_ns.saturating_sub(part(one))).collect();
    rest.sort_unstable();
    PERCENTILES
        .iter()
        .filter_map(|&percentile| rest.get(nearest_rank(rest.len(), percentile)).copied())
        .collect()
}

#[cfg(test)]
mod tests;
