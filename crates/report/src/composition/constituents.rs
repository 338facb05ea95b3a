//! One explained interval, as far as it counts in what the time of all is made of; means over several.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use model::CallLayer;

use crate::calls::CallTree;
use crate::outlier::OutlierReport;
use crate::reasons::OutlierReasons;

/// One explained interval, as far as it counts here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constituents {
    pub(super) duration_ns: u64,
    /// From the start of the first interval.
    pub(super) start_ns: u64,
    pub(super) causes: BTreeMap<String, u64>,
    /// Functions of the program that it entered, sorted.
    pub(super) entered: Vec<Arc<str>>,
    /// By cause and what happened: excess over typical intervals.
    pub(super) reasons: Vec<([String; 2], u64)>,
}

impl Constituents {
    /// Of an interval that was not compared: its causes with their times, which add up to its duration.
    pub fn of_causes(causes: impl IntoIterator<Item = (String, u64)>) -> Constituents {
        let mut sums = BTreeMap::new();
        for (cause, duration_ns) in causes {
            let sum: &mut u64 = sums.entry(cause).or_default();
            *sum = sum.saturating_add(duration_ns);
        }
        let duration_ns = sums.values().fold(0_u64, |sum, &time| sum.saturating_add(time));
        Constituents { duration_ns, causes: sums, ..Constituents::default() }
    }

    /// Of an outlier that was compared with typical intervals.
    pub fn of(outlier: &OutlierReport) -> Constituents {
        let causes = outlier.causes.iter().map(|cause| (cause.cause.clone(), cause.duration_ns));
        let reasons = OutlierReasons::of(outlier).excesses();
        Constituents { reasons, ..Constituents::of_causes(causes) }.entering(entered(&outlier.calls))
    }

    /// The same, begun so long after the first interval.
    #[must_use]
    pub fn starting(self, start_ns: u64) -> Constituents {
        Constituents { start_ns, ..self }
    }

    /// The same, in which these functions of the program were entered.
    #[must_use]
    pub fn entering(self, functions: impl IntoIterator<Item = Arc<str>>) -> Constituents {
        let mut entered: Vec<Arc<str>> = functions.into_iter().collect();
        entered.sort_unstable();
        entered.dedup();
        Constituents { entered, ..self }
    }

    /// The functions of the program that it entered, each once, in order.
    pub fn entered(&self) -> &[Arc<str>] {
        &self.entered
    }

    pub(super) fn of_cause(&self, cause: &str) -> u64 {
        self.causes.get(cause).copied().unwrap_or(0)
    }

    pub(super) fn of_reason(&self, cause: &str, what: &str) -> u64 {
        let matching = self.reasons.iter().filter(|([of, this], _)| of == cause && this == what);
        matching.fold(0_u64, |sum, (_, excess)| sum.saturating_add(*excess))
    }
}

/// The functions of the program that an outlier entered.
fn entered(calls: &CallTree) -> impl Iterator<Item = Arc<str>> {
    let own = calls.nodes.iter().filter(|node| node.layer == CallLayer::User && node.calls > 0);
    own.map(|node| node.name.as_str().into())
}

/// The mean of each cause, the most first.
pub(super) fn mean_causes<'a>(intervals: impl IntoIterator<Item = &'a Constituents>) -> Vec<(String, f64)> {
    let (mut sums, mut count): (BTreeMap<&str, u128>, usize) = (BTreeMap::new(), 0);
    for one in intervals {
        count += 1;
        for (cause, &time) in &one.causes {
            *sums.entry(cause).or_default() += u128::from(time);
        }
    }
    let mut causes: Vec<(&str, u128)> = sums.into_iter().collect();
    causes.sort_by_key(|&(_, sum)| Reverse(sum));
    causes.into_iter().map(|(cause, sum)| (cause.to_owned(), mean(sum, count))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "of lengths, for people")]
pub(super) fn mean(sum: u128, count: usize) -> f64 {
    sum as f64 / count as f64
}
