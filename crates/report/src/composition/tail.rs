//! What the slowest intervals have more of than the fast ones: by cause, over all explained intervals.

use std::collections::BTreeSet;

use super::constituents::{Constituents, mean};
use crate::distribution::nearest_rank;

/// The slow ones: of so many one, the slowest; at least one.
const SLOWEST: usize = 100;

/// The slowest hundredth of the intervals against the faster half.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// How many are fast: those up to the median.
    pub fast: u64,
    /// How many are slow.
    pub slow: u64,
    /// By cause; what makes most of the difference first. None where there are not two intervals.
    pub causes: Vec<TailCause>,
}

/// One cause, in slow ones and in fast ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TailCause {
    /// Its dotted name.
    pub cause: String,
    /// The mean of the fast ones.
    pub fast_ns: f64,
    /// The mean of the slow ones.
    pub slow_ns: f64,
    /// The difference of these means, as a part of that of the durations; those of all causes add up to 1.
    pub share: f64,
    /// How often a slow one has more of it than a fast one, over all pairs; equal ones count half. 0.5 distinguishes nothing
    /// (the area under the ROC curve, U / mn of Mann and Whitney, Annals of Mathematical Statistics 18 (1), 1947).
    pub more_often: f64,
}

impl Tail {
    /// Of intervals in the order of their durations.
    pub(super) fn of(ordered: &[Constituents]) -> Tail {
        let fast = nearest_rank(ordered.len(), 50.0) + 1;
        let slow = ordered.len().div_ceil(SLOWEST).min(ordered.len().saturating_sub(fast));
        if slow == 0 {
            return Tail::default();
        }
        let (fast, slow) = (&ordered[..fast], &ordered[ordered.len() - slow..]);
        let difference = mean_of(slow, |one| one.duration_ns) - mean_of(fast, |one| one.duration_ns);
        let names: BTreeSet<&String> = fast.iter().chain(slow).flat_map(|one| one.causes.keys()).collect();
        let cause = |cause: &String| {
            let of = |one: &Constituents| one.of_cause(cause);
            let (fast_ns, slow_ns) = (mean_of(fast, of), mean_of(slow, of));
            let share = if difference > 0.0 { (slow_ns - fast_ns) / difference } else { 0.0 };
            TailCause {
                cause: cause.clone(),
                fast_ns,
                slow_ns,
                share,
                more_often: more_often(fast, slow, of),
            }
        };
        let mut causes: Vec<TailCause> = names.into_iter().map(cause).collect();
        causes.sort_by(|a, b| b.share.total_cmp(&a.share));
        Tail { fast: fast.len() as u64, slow: slow.len() as u64, causes }
    }
}

fn mean_of(intervals: &[Constituents], time: impl Fn(&Constituents) -> u64) -> f64 {
    mean(intervals.iter().map(|one| u128::from(time(one))).sum(), intervals.len())
}

/// Of all pairs of a slow and a fast one, the part in which the slow one has more.
fn more_often(fast: &[Constituents], slow: &[Constituents], of: impl Fn(&Constituents) -> u64) -> f64 {
    let mut of_fast: Vec<u64> = fast.iter().map(&of).collect();
    of_fast.sort_unstable();
    let halves = slow.iter().map(|one| {
        let time = of(one);
        let (below, up_to) =
            (of_fast.partition_point(|&other| other < time), of_fast.partition_point(|&other| other <= time));
        (below + up_to) as u128
    });
    mean(halves.sum(), 2 * fast.len() * slow.len())
}
