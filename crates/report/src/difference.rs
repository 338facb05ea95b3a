//! Two captures side by side: before and after a change, one host and the next.
//!
//! Input: the reports on both sides' intervals and the test of their durations. Output: a [`Difference`], from which
//! every format is rendered. Means are over all examined intervals of a side, absent counting zero, so that a side's
//! causes add up to its mean length.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
mod tables;
pub(crate) mod text;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::Diagnostic;

use crate::calls::{CallReport, CallTree};
use crate::causes::{apportion, signed_difference};
use crate::outlier::OutlierReport;
use crate::report::{CaptureFacts, PopulationSummary, SelectionSummary};
use crate::timebase::TimeUnit;
use crate::units::{self, Digits};

/// Below this p the durations are reported as different.
const SIGNIFICANT: f64 = 0.05;

/// Capture A against capture B.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Before, or the host to compare with.
    pub a: Side,
    /// After, or the other host.
    pub b: Side,
    /// The durations of all intervals of both, in the same bins of equal ratio; empty where one side has no interval.
    pub bins: Vec<SharedBin>,
    /// The test on the durations of all intervals; `None` where one side has no interval.
    pub change: Option<DurationChange>,
    /// The typical intervals of both.
    pub typical: Contrast,
    /// The chosen intervals of both.
    pub outliers: Contrast,
    /// The unit of all lengths.
    pub time_unit: TimeUnit,
    /// What is wrong with the inputs.
    pub diagnostics: Vec<Diagnostic>,
}

/// One of the two captures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Where and how it was made.
    pub capture: CaptureFacts,
    /// All its intervals, in figures.
    pub population: PopulationSummary,
    /// Which of them are explained.
    pub selection: SelectionSummary,
}

/// One bin of both histograms: durations from `from_ns` to below `to_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedBin {
    /// The shortest duration in it.
    pub from_ns: u64,
    /// The shortest duration no longer in it.
    pub to_ns: u64,
    /// How many intervals of A.
    pub a: u64,
    /// How many intervals of B.
    pub b: u64,
}

/// The test of Mann and Whitney and the quantiles, from A to B.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DurationChange {
    /// Pairs of an interval of each side in which B's is longer; equals count half.
    pub u: f64,
    /// U over all pairs: the probability that one of B takes longer than one of A.
    pub b_longer: f64,
    /// U in standard deviations from what chance gives, corrected for ties and continuity.
    pub z: f64,
    /// The chance of such a U, or one farther off, where nothing differs.
    pub p: f64,
    /// The quantiles, the lowest first.
    pub quantiles: Vec<QuantileShift>,
}

/// What became of one quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuantileShift {
    /// 50 for the median.
    pub percent: f64,
    /// In A.
    pub a_ns: u64,
    /// In B.
    pub b_ns: u64,
    /// Holds the true difference with at least 95 %; `None` with too few intervals.
    pub confidence_ns: Option<(i64, i64)>,
}

/// Intervals of A against intervals of B.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contrast {
    /// How many of A.
    pub a_count: u64,
    /// How many of B.
    pub b_count: u64,
    /// Their causes, the largest change first.
    pub causes: Vec<CauseChange>,
    /// Their functions: `self_ns` is B's mean, `typical_self_ns` A's.
    pub calls: CallTree,
}

/// What one cause takes on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CauseChange {
    /// Its dotted name.
    pub cause: String,
    /// In A.
    pub a: Spread,
    /// In B.
    pub b: Spread,
    /// The mean of B less that of A.
    pub change_ns: i64,
}

/// A cause's time in the intervals of one side; those without it count zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The mean, rounded half up.
    pub mean_ns: u64,
    /// The population standard deviation, rounded.
    pub stdev_ns: u64,
    /// In how many intervals it is.
    pub intervals: u64,
}

impl Contrast {
    /// Of reports on intervals; only their causes' durations and calls count, not what they were compared with.
    pub fn between(a: &[OutlierReport], b: &[OutlierReport]) -> Contrast {
        let mut durations: BTreeMap<&str, [Vec<u64>; 2]> = BTreeMap::new();
        for (side, reports) in [a, b].into_iter().enumerate() {
            for cause in
                reports.iter().flat_map(|report| &report.causes).filter(|cause| cause.duration_ns > 0)
            {
                durations.entry(&cause.cause).or_default()[side].push(cause.duration_ns);
            }
        }
        let change = |(cause, [in_a, in_b]): (&str, [Vec<u64>; 2])| {
            let (a, b) = (Spread::of(&in_a, a.len()), Spread::of(&in_b, b.len()));
            CauseChange { cause: cause.to_owned(), a, b, change_ns: signed_difference(b.mean_ns, a.mean_ns) }
        };
        let mut causes: Vec<CauseChange> = durations.into_iter().map(change).collect();
        causes.sort_by_key(|change| Reverse(change.change_ns.unsigned_abs()));
        Contrast { a_count: a.len() as u64, b_count: b.len() as u64, causes, calls: merged(a, b) }
    }
}

impl Spread {
    /// Of `count` intervals, all but those in `durations` zero.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a deviation to be shown
    fn of(durations: &[u64], count: usize) -> Spread {
        if count == 0 {
            return Spread::default();
        }
        let sum: u128 = durations.iter().map(|&duration| u128::from(duration)).sum();
        let whole = count as u128;
        let mean = sum as f64 / count as f64;
        let squares: f64 = durations.iter().map(|&duration| (duration as f64 - mean).powi(2)).sum();
        let squares = squares + mean * mean * (count.saturating_sub(durations.len())) as f64;
        Spread {
            mean_ns: u64::try_from((sum + whole / 2) / whole).unwrap_or(u64::MAX),
            stdev_ns: (squares / count as f64).sqrt().round() as u64,
            intervals: durations.len() as u64,
        }
    }
}

/// One tree of all calls, with the means of both sides.
fn merged(a: &[OutlierReport], b: &[OutlierReport]) -> CallTree {
    let mut tree = CallTree::default();
    let mut sums: Vec<[u128; 2]> = Vec::new();
    let mut known = BTreeMap::new();
    for (side, report) in a.iter().map(|report| (0, report)).chain(b.iter().map(|report| (1, report))) {
        let mut places: Vec<usize> = Vec::with_capacity(report.calls.nodes.len());
        for node in &report.calls.nodes {
            let parent = node.parent.and_then(|parent| places.get(parent)).copied();
            let next = tree.nodes.len();
            let place = *known.entry((parent, node.layer as u8, node.name.clone())).or_insert(next);
            if place == next {
                let (name, layer) = (node.name.clone(), node.layer);
                tree.nodes.push(CallReport { parent, name, layer, ..CallReport::default() });
                sums.push([0; 2]);
            }
            sums[place][side] += u128::from(node.self_ns);
            places.push(place);
        }
    }
    let of =
        |side: usize, count: usize| apportion(&sums.iter().map(|sum| sum[side]).collect::<Vec<_>>(), count).0;
    for (node, (a, b)) in tree.nodes.iter_mut().zip(of(0, a.len()).into_iter().zip(of(1, b.len()))) {
        (node.typical_self_ns, node.self_ns) = (a, b);
    }
    tree
}

/// What the durations say, in one sentence; not escaped.
fn verdict(difference: &Difference) -> String {
    let unit = difference.time_unit;
    let Some(change) = &difference.change else {
        let empty = if difference.a.population.count == 0 { "A" } else { "B" };
        return format!("nothing to compare: {empty} has no interval");
    };
    let p = units::chance(change.p);
    let median = change.quantiles.first().map_or_else(String::new, |median| {
        let moved = units::signed_length(signed_difference(median.b_ns, median.a_ns), unit);
        let digits = Digits::of([median.a_ns, median.b_ns], unit);
        format!("; p50 {} to {} ({moved})", digits.show(median.a_ns), digits.show(median.b_ns))
    });
    let percent = units::percent(change.b_longer);
    let odds = format!("one of B takes longer than one of A with {percent}, {p}");
    match (change.p < SIGNIFICANT, change.b_longer > 0.5) {
        (true, true) => format!("B is slower{median}; {odds}"),
        (true, false) => format!("B is faster{median}; {odds}"),
        (false, _) => format!("no difference beyond chance{median}; {odds}"),
    }
}

#[cfg(test)]
mod tests;
