//! Why the outliers are slow: what their causes have in common, over all of them.
//!
//! Input: explained outliers, one by one. Output: per cause, object and place how many outliers it made slow, its share of all
//! excess, and whom it is due to. Figures of single outliers play no part, so that what belongs together comes together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::headline::clause::Clause;
use crate::outlier::OutlierReport;
use crate::units::share;

/// A cause with less than one part in so many of its outlier's excess (2 %) is not distinguished.
const SMALLEST_PART: u64 = 50;
/// A reason with a smaller share of all excess stands in the sum of the others, unless it made an outlier slow.
const SMALLEST_SHARE: f64 = 0.01;

/// See the module. Lengths are in the report's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasons {
    /// Outliers that were explained for this.
    pub explained: u64,
    /// All outliers; where there are more than `explained`, these were taken at equal distances in the order of their durations.
    pub outliers: u64,
    /// The largest share first.
    pub all: Vec<Reason>,
    /// Excess of causes with less than 2 % of their outlier's.
    pub smaller_ns: u64,
    /// That as a share of all excess, from 0 to 1; with those of `all` it adds up to 1 unless nothing exceeds.
    pub smaller_share: f64,
}

/// One cause, with object and place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The dotted name of the cause.
    pub cause: String,
    /// `waited for mutex lock in worker() lock.c:107`.
    pub what: String,
    /// In how many outliers it has the largest excess.
    pub first: u64,
    /// In how many it has any (2 % of theirs or more).
    pub outliers: u64,
    /// What it took above typical in all of them.
    pub excess_ns: u64,
    /// That as a share of all excess, from 0 to 1.
    pub share: f64,
    /// Whom it is due to, the largest excess first; no thread is named in what is missing of the sum.
    pub blamed: Vec<Blame>,
}

impl Reason {
    /// Whether it has a line of its own where a person reads; JSON has all.
    fn is_shown(&self) -> bool {
        self.first > 0 || self.share >= SMALLEST_SHARE
    }

    /// Whether `blame` has a line of its own where a person reads.
    fn shows(&self, blame: &Blame) -> bool {
        blame.first > 0 || self.share_of(blame) >= SMALLEST_SHARE
    }

    /// The foremost `most` of those it is due to, and all others as one; `None` where there are no others, or none that made an outlier
    /// slow or has a share to speak of. A single other one stands in its own words.
    pub(crate) fn blamed_up_to(&self, most: usize) -> (&[Blame], Option<Blame>) {
        let count = self.blamed.iter().take_while(|blame| self.shows(blame)).count();
        let most = if count == most + 1 { count } else { most.min(count) };
        let (shown, rest) = self.blamed.split_at(most);
        let sum = |of: fn(&Blame) -> u64| rest.iter().map(of).fold(0_u64, u64::saturating_add);
        let others = Blame {
            who: format!("{} more", rest.len()),
            first: sum(|blame| blame.first),
            excess_ns: sum(|blame| blame.excess_ns),
        };
        let is_shown = !rest.is_empty() && self.shows(&others);
        (shown, is_shown.then_some(others))
    }

    /// The share of all excess that the part of this reason due to `blame` has, from 0 to 1.
    pub(crate) fn share_of(&self, blame: &Blame) -> f64 {
        share(u128::from(blame.excess_ns), u128::from(self.excess_ns)) * self.share
    }
}

/// Whom a reason is due to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blame {
    /// `held by auditor, which slept in keep() lock.c:38`.
    pub who: String,
    /// In how many outliers the reason has the largest excess, and is due to this.
    pub first: u64,
    /// The part of the reason's excess.
    pub excess_ns: u64,
}

/// The reasons of one outlier.
#[derive(Clone, Debug, Default)]
pub struct OutlierReasons {
    /// Cause, what and who, with the excess; the largest first.
    parts: Vec<([String; 3], u64)>,
    smaller_ns: u64,
}

/// Sums of one reason, or of whom it is due to.
#[derive(Default)]
struct Sums {
    first: u64,
    outliers: u64,
    excess_ns: u64,
}

impl OutlierReasons {
    /// Those of `outlier`: what took longer than typical.
    pub fn of(outlier: &OutlierReport) -> OutlierReasons {
        let positive = |excess: i64| u64::try_from(excess).unwrap_or(0);
        let excesses = || outlier.causes.iter().map(|cause| (cause, positive(cause.excess_ns)));
        let whole = excesses().fold(0_u64, |sum, (_, excess)| sum.saturating_add(excess));
        let mut reasons = OutlierReasons::default();
        for (place, (cause, excess)) in excesses().filter(|&(_, excess)| excess > 0).enumerate() {
            if place > 0 && excess < whole / SMALLEST_PART {
                reasons.smaller_ns = reasons.smaller_ns.saturating_add(excess);
                continue;
            }
            let clause = Clause::in_common(outlier, cause);
            reasons.parts.push(([cause.cause.clone(), clause.what(), clause.who()], excess));
        }
        reasons
    }
}

impl OutlierReasons {
    /// What each took above typical, by cause and what happened, whomever it is due to.
    pub(crate) fn excesses(self) -> Vec<([String; 2], u64)> {
        self.parts.into_iter().map(|([cause, what, _], excess)| ([cause, what], excess)).collect()
    }
}

impl Reasons {
    /// Those of all `explained` ones of `outliers` together.
    pub fn of<'r>(explained: impl IntoIterator<Item = &'r OutlierReasons>, outliers: u64) -> Reasons {
        let mut sums: BTreeMap<[&str; 2], (Sums, BTreeMap<&str, Sums>)> = BTreeMap::new();
        let (mut count, mut smaller, mut whole) = (0, 0_u64, 0_u128);
        for outlier in explained {
            count += 1;
            smaller = smaller.saturating_add(outlier.smaller_ns);
            for (place, ([cause, what, who], excess)) in outlier.parts.iter().enumerate() {
                let (reason, blamed) = sums.entry([cause, what]).or_default();
                for sum in [reason, blamed.entry(who).or_default()] {
                    sum.first += u64::from(place == 0);
                    sum.outliers += 1;
                    sum.excess_ns = sum.excess_ns.saturating_add(*excess);
                }
                whole += u128::from(*excess);
            }
        }
        whole += u128::from(smaller);
        let reason = |([cause, what], (sum, blamed)): ([&str; 2], (Sums, BTreeMap<&str, Sums>))| Reason {
            cause: cause.to_owned(),
            what: what.to_owned(),
            first: sum.first,
            outliers: sum.outliers,
            excess_ns: sum.excess_ns,
            share: share(u128::from(sum.excess_ns), whole),
            blamed: Blame::of(blamed),
        };
        let mut all: Vec<Reason> = sums.into_iter().map(reason).collect();
        all.sort_by_key(|reason| (Reverse(reason.excess_ns), Reverse(reason.first)));
        let smaller_share = share(u128::from(smaller), whole);
        Reasons { explained: count, outliers, all, smaller_ns: smaller, smaller_share }
    }

    /// The foremost `most` of those that a person reads, and the others in sum: in how many outliers one of them has the largest excess,
    /// and their share of all excess. `None` where they have neither.
    pub(crate) fn foremost(&self, most: usize) -> (Vec<&Reason>, Vec<&Reason>, Option<(u64, f64)>) {
        let (mut shown, mut rest) = (Vec::new(), Vec::new());
        for reason in &self.all {
            if shown.len() < most && reason.is_shown() { shown.push(reason) } else { rest.push(reason) }
        }
        let first = rest.iter().map(|reason| reason.first).sum();
        let part = rest.iter().map(|reason| reason.share).sum::<f64>() + self.smaller_share;
        (shown, rest, (first > 0 || part > 0.0).then_some((first, part)))
    }
}

impl Blame {
    fn of(sums: BTreeMap<&str, Sums>) -> Vec<Blame> {
        let named = sums.into_iter().filter(|(who, _)| !who.is_empty());
        let blame = |(who, sum): (&str, Sums)| Blame {
            who: who.to_owned(),
            first: sum.first,
            excess_ns: sum.excess_ns,
        };
        let mut blamed: Vec<Blame> = named.map(blame).collect();
        blamed.sort_by_key(|blame| (Reverse(blame.excess_ns), Reverse(blame.first)));
        blamed
    }
}

#[cfg(test)]
mod tests;
