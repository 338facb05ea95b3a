//! `user.spin` against the baselines: how much of an outlier's time in its spin-wait loops is expected.
//!
//! Input: loops by name, with their ticks and iterations, of the outlier and of each baseline. Certainty: that it was
//! too long is inferred.

use std::collections::{BTreeMap, HashMap};

use model::{Cause, Slower};

use crate::examine::examined::Examined;

/// This many iterations more than in any baseline are no accident. With `pause` they take half a microsecond.
const TELLING_ROUNDS: u64 = 8;

/// How much of an outlier's time in each spin-wait loop is expected: all of it where a baseline was in it as long,
/// else the baselines' mean.
#[derive(Debug, Default)]
pub(crate) struct SpinBudget {
    left: HashMap<String, u64>,
    /// The loops with no more iterations than in the baselines, with its ticks there beyond the expected ones: it was
    /// slow, but waited for no other thread.
    slow: BTreeMap<String, u64>,
}

impl SpinBudget {
    /// From the loops and ticks of the outlier and of each baseline.
    pub(crate) fn new(own: &[(&str, u64)], baselines: &[Vec<(&str, u64)>]) -> SpinBudget {
        let own = sums(own);
        let baselines: Vec<_> = baselines.iter().map(|spins| sums(spins)).collect();
        let of_loop = |name: &str, ticks: u64| {
            let usual = || baselines.iter().map(|sums| sums.get(name).copied().unwrap_or(0));
            let most = usual().max().unwrap_or(0);
            if ticks <= most { ticks } else { usual().sum::<u64>() / baselines.len().max(1) as u64 }
        };
        let left = own.iter().map(|(&name, &ticks)| (name.to_owned(), of_loop(name, ticks))).collect();
        SpinBudget { left, slow: BTreeMap::new() }
    }

    /// From the outlier and its baselines.
    pub(crate) fn of(outlier: &Examined, baselines: &[&Examined]) -> SpinBudget {
        let spins: Vec<_> = baselines.iter().map(|baseline| baseline.spins()).collect();
        let own = outlier.spins();
        let mut budget = SpinBudget::new(&own, &spins);
        for (name, ticks) in sums(&own) {
            let most = baselines.iter().filter_map(|baseline| baseline.rounds.get(name)).max();
            let looked = outlier.rounds.get(name).copied().unwrap_or(u64::MAX);
            if most.is_some_and(|&most| looked < most.saturating_add(TELLING_ROUNDS)) {
                let expected = budget.left.get(name).copied().unwrap_or(0);
                budget.slow.insert(name.to_owned(), ticks - expected);
            }
        }
        budget
    }

    /// The cause of time in the loop `name` that is not expected.
    pub(crate) fn excess(&self, name: &str) -> Cause {
        if self.slow.contains_key(name) { Cause::UserSlower(Slower::Other) } else { Cause::UserSpin }
    }

    /// How much it was slow in total.
    pub(crate) fn slow(&self) -> u64 {
        self.slow.values().sum()
    }

    /// Of the time in which it was slow, all but `real` is expected: the rest of the interval was faster by that
    /// amount.
    pub(crate) fn keep_slow(&mut self, real: u64) {
        let mut over = self.slow().saturating_sub(real);
        for (name, ticks) in &mut self.slow {
            let taken = over.min(*ticks);
            over -= taken;
            *ticks -= taken;
            *self.left.entry(name.clone()).or_default() += taken;
        }
    }

    /// How much in total is expected.
    pub(crate) fn total(&self) -> u64 {
        self.left.values().sum()
    }

    /// Takes `ticks` of the loop `name` from the budget; returns how many of them are expected.
    pub(crate) fn expected(&mut self, name: &str, ticks: u64) -> u64 {
        let Some(left) = self.left.get_mut(name) else { return 0 };
        let taken = ticks.min(*left);
        *left -= taken;
        taken
    }
}

fn sums<'a>(spins: &[(&'a str, u64)]) -> HashMap<&'a str, u64> {
    let mut sums = HashMap::new();
    for &(name, ticks) in spins {
        *sums.entry(name).or_default() += ticks;
    }
    sums
}

#[cfg(test)]
mod tests;
