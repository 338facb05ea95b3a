//! Sums per cause, in the outlier and in its baselines, that add up exactly.
//!
//! Typical = mean over the baselines, a cause absent from one counting zero. Means are rarely whole, so they are
//! apportioned by largest remainder (Hamilton's method): each gets its floor, and the units still missing to the
//! rounded mean of the whole go to the largest remainders. Hence Σ excess = duration - baselines' mean, as printed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::{Attribution, Certainty, Segment};

use crate::timebase::Timebase;

/// What one cause took in the outlier and takes in its baselines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTotal {
    /// Its dotted name.
    pub cause: String,
    /// In the outlier.
    pub duration_ns: u64,
    /// The mean over the baselines (absent is zero), to whole units so that these add up to the baselines' mean.
    pub typical_ns: u64,
    /// `duration_ns - typical_ns`.
    pub excess_ns: i64,
    /// How many times it occurred in the outlier; an occurrence cut in pieces counts once.
    pub count: u64,
    /// The weakest certainty that a tenth of its time has: a sliver of a boundary does not lower it.
    pub certainty: Certainty,
    /// The particulars that took most of its time, and how many others there are.
    pub detail: String,
}

/// What is gathered of one cause before means are taken.
struct Tally {
    duration_ns: u64,
    baselines_ns: u128,
    occurrences: BTreeSet<u64>,
    /// Time by certainty: of the outlier, else of the baselines.
    certainties: BTreeMap<Certainty, u64>,
    details: BTreeMap<String, u64>,
}

/// The causes of `outlier` and `baselines`, largest excess first, and the baselines' mean duration.
pub(crate) fn cause_totals<B: std::borrow::Borrow<Attribution>>(
    outlier: &Attribution,
    baselines: &[B],
    timebase: Timebase,
) -> (Vec<CauseTotal>, Option<u64>) {
    let mut tallies = BTreeMap::new();
    for segment in outlier.segments() {
        add_of_outlier(&mut tallies, segment, timebase);
    }
    for segment in baselines.iter().flat_map(|baseline| baseline.borrow().segments()) {
        let tally = tally_of(&mut tallies, segment);
        tally.baselines_ns += u128::from(timebase.duration(segment.range));
    }
    let sums: Vec<u128> = tallies.values().map(|tally| tally.baselines_ns).collect();
    let (typical, mean) = apportion(&sums, baselines.len());
    let mut totals: Vec<CauseTotal> = tallies
        .into_iter()
        .zip(typical)
        .map(|((cause, tally), typical)| tally.total(cause, typical))
        .collect();
    totals.sort_by_key(|total| Reverse((total.excess_ns, total.duration_ns)));
    (totals, mean)
}

fn tally_of<'a>(tallies: &'a mut BTreeMap<String, Tally>, segment: &Segment) -> &'a mut Tally {
    tallies.entry(segment.cause.to_string()).or_insert_with(|| Tally {
        duration_ns: 0,
        baselines_ns: 0,
        occurrences: BTreeSet::new(),
        certainties: BTreeMap::from([(segment.certainty, 0)]),
        details: BTreeMap::new(),
    })
}

fn add_of_outlier(tallies: &mut BTreeMap<String, Tally>, segment: &Segment, timebase: Timebase) {
    let duration_ns = timebase.duration(segment.range);
    let tally = tally_of(tallies, segment);
    tally.duration_ns = tally.duration_ns.saturating_add(duration_ns);
    tally.occurrences.insert(segment.occurrence);
    *tally.certainties.entry(segment.certainty).or_default() += duration_ns;
    if !segment.detail.is_empty() {
        *tally.details.entry(segment.detail.clone()).or_default() += duration_ns;
    }
}

impl Tally {
    fn total(self, cause: String, typical_ns: u64) -> CauseTotal {
        CauseTotal {
            cause,
            duration_ns: self.duration_ns,
            typical_ns,
            excess_ns: signed_difference(self.duration_ns, typical_ns),
            count: self.occurrences.len() as u64,
            certainty: weakest(&self.certainties, self.duration_ns),
            detail: foremost(&self.details, self.duration_ns),
        }
    }
}

/// The weakest certainty that, with all that are weaker, has a tenth of `whole`.
fn weakest(certainties: &BTreeMap<Certainty, u64>, whole: u64) -> Certainty {
    let mut sum = 0u64;
    let found = certainties.iter().find(|(_, time)| {
        sum = sum.saturating_add(**time);
        sum.saturating_mul(10) >= whole
    });
    found.map_or(Certainty::Unknown, |(certainty, _)| *certainty)
}

/// The detail that took most of `whole` (the first by name among equals), and how many more there are. Below half of `whole`
/// the text says so: "different" of several, "in part" of a single one.
fn foremost(details: &BTreeMap<String, u64>, whole: u64) -> String {
    let Some((detail, &time)) = details.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))) else {
        return String::new();
    };
    match details.len() - 1 {
        0 if time < whole / 2 => format!("in part: {detail}"),
        0 => detail.clone(),
        others if time < whole / 2 => format!("{} different, foremost: {detail}", others + 1),
        1 => format!("{detail} (and 1 other)"),
        others => format!("{detail} (and {others} others)"),
    }
}

/// `a - b`; lengths beyond 2^63 (centuries of nanoseconds) stay at the limit.
pub(crate) fn signed_difference(a: u64, b: u64) -> i64 {
    let difference = i128::from(a) - i128::from(b);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Each of `sums` divided by `count` to a whole number, so that they add up to the total's rounded quotient, which
/// is returned beside them; zeros and `None` where `count` is zero.
pub(crate) fn apportion(sums: &[u128], count: usize) -> (Vec<u64>, Option<u64>) {
    if count == 0 {
        return (vec![0; sums.len()], None);
    }
    let count = count as u128;
    let mean = (sums.iter().sum::<u128>() + count / 2) / count;
    let mut shares: Vec<u128> = sums.iter().map(|sum| sum / count).collect();
    let missing = mean.saturating_sub(shares.iter().sum());
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by_key(|&at| Reverse(sums[at] % count));
    for &at in order.iter().take(usize::try_from(missing).unwrap_or(usize::MAX)) {
        shares[at] += 1;
    }
    (shares.into_iter().map(saturate).collect(), Some(saturate(mean)))
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
