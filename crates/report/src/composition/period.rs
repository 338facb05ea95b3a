//! How the intervals changed while they were recorded.

use super::constituents::{Constituents, mean, mean_causes};
use crate::distribution::Lengths;

/// Parts of the time.
const MOST: usize = 24;
/// As few intervals are there in each, if they come evenly.
const FEWEST_EACH: usize = 8;

/// One of several equal parts of the time from the first interval's start to the last one's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Period {
    /// From the start of the first interval.
    pub from_ns: u64,
    /// Where the next one begins.
    pub to_ns: u64,
    /// How long the intervals are that began in it.
    pub lengths: Lengths,
    /// Their mean; 0 where none began.
    pub mean_ns: f64,
    /// Mean time by cause, the most first; they add up to the mean.
    pub causes: Vec<(String, f64)>,
}

/// None where there are too few intervals for two parts.
pub(super) fn of(intervals: &[Constituents]) -> Vec<Period> {
    let parts = (intervals.len() / FEWEST_EACH).min(MOST) as u64;
    let first = intervals.iter().map(|one| one.start_ns).min().unwrap_or(0);
    let last = intervals.iter().map(|one| one.start_ns).max().unwrap_or(0);
    let all = u128::from(last - first) + 1;
    if parts < 2 || all < u128::from(parts) {
        return Vec::new();
    }
    let mut members: Vec<Vec<&Constituents>> = (0..parts).map(|_| Vec::new()).collect();
    for one in intervals {
        let part = u128::from(one.start_ns - first) * u128::from(parts) / all;
        if let Some(members) = usize::try_from(part).ok().and_then(|part| members.get_mut(part)) {
            members.push(one);
        }
    }
    // The first time that lies in a part.
    let begin = |part: u64| {
        let after_first = (all * u128::from(part)).div_ceil(u128::from(parts));
        first.saturating_add(u64::try_from(after_first).unwrap_or(u64::MAX))
    };
    let period = |(part, members): (u64, Vec<&Constituents>)| {
        let sum = members.iter().map(|one| u128::from(one.duration_ns)).sum();
        Period {
            from_ns: begin(part),
            to_ns: begin(part + 1),
            lengths: Lengths::of(members.iter().map(|one| one.duration_ns).collect()),
            mean_ns: if members.is_empty() { 0.0 } else { mean(sum, members.len()) },
            causes: mean_causes(members.iter().copied()),
        }
    };
    (0..parts).zip(members).map(period).collect()
}
