//! Which of the program's own counters correlate with slow intervals.
//!
//! Input: a population. Output: per label and counter the rank correlation of its values with the durations and,
//! where there are two modes, the threshold that separates fast from slow best. Each p is corrected for the number of
//! counters looked at (Bonferroni): of many counters one always looks good. `docs/statistics.md` has the formulas.

mod normal;
mod rank;
mod split;

use std::collections::{BTreeMap, HashMap};

use model::Number;

use crate::histogram::TwoModes;
use crate::outliers::positions_by_label;
use crate::population::Population;

pub(crate) use normal::two_sided;
pub use rank::RankCorrelation;
pub use split::{Side, Split};

/// Below this p a counter is reported as correlated with slow intervals.
const SIGNIFICANT: f64 = 0.05;

/// Values of a counter, each with its interval's duration.
type Pairs = Vec<(Number, u64)>;

/// How one counter relates to the durations of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterStatistics {
    /// The label of the intervals.
    pub label: String,
    /// The counter's name.
    pub name: String,
    /// How many of these intervals carry it with a finite value.
    pub count: u64,
    /// How its values and the durations go together; `None` where either is the same throughout.
    pub correlation: Option<RankCorrelation>,
    /// What separates the label's two modes best; `None` where there are not two, or the values are all the same.
    pub split: Option<Split>,
}

impl CounterStatistics {
    /// Whether correlation or split is more than chance explains, at 5 % for all counters together.
    pub fn is_significant(&self) -> bool {
        let by_rank = self.correlation.and_then(|correlation| correlation.p);
        let by_split = self.split.map(|split| split.p);
        by_rank.into_iter().chain(by_split).any(|p| p < SIGNIFICANT)
    }

    fn of(label: &str, name: &str, values: &[(Number, u64)], modes: Option<TwoModes>) -> CounterStatistics {
        CounterStatistics {
            label: label.to_owned(),
            name: name.to_owned(),
            count: values.len() as u64,
            correlation: RankCorrelation::of(values),
            split: modes.and_then(|modes| Split::best(values, modes.threshold)),
        }
    }

    fn correct_for(&mut self, tests: f64) {
        if let Some(p) = self.correlation.as_mut().and_then(|correlation| correlation.p.as_mut()) {
            *p = (*p * tests).min(1.0);
        }
        if let Some(split) = &mut self.split {
            split.p = (split.p * tests).min(1.0);
        }
    }

    /// Its strength, for sorting: how well it separates, then how strongly it correlates.
    fn strength(&self) -> (f64, f64) {
        let separation = self.split.map_or(0.0, |split| split.separation());
        (separation, self.correlation.map_or(0.0, |correlation| correlation.rho.abs()))
    }
}

impl Population<'_> {
    /// The figures of each counter of each label, the strongest correlation first.
    ///
    /// Values that are no finite number are left out, and so is what an interval says twice of one counter.
    #[allow(clippy::cast_precision_loss)] // a number of counters
    pub fn counters(&self) -> Vec<CounterStatistics> {
        let gathered = self.gather_counters();
        let tests = gathered.len() as f64;
        // Where there are none, as is usual, nothing is to be done.
        let labels = if gathered.is_empty() { HashMap::new() } else { positions_by_label(self.labels()) };
        let mut modes: BTreeMap<&str, Option<TwoModes>> = BTreeMap::new();
        let mut all: Vec<CounterStatistics> = gathered
            .iter()
            .map(|(&(label, name), values)| {
                let modes =
                    *modes.entry(label).or_insert_with(|| TwoModes::find(&self.sorted_at(&labels[label])));
                CounterStatistics::of(label, name, values, modes)
            })
            .collect();
        for counter in &mut all {
            counter.correct_for(tests);
        }
        all.sort_by(|a, b| {
            let ((separation_a, rho_a), (separation_b, rho_b)) = (a.strength(), b.strength());
            let by_strength = separation_b.total_cmp(&separation_a).then(rho_b.total_cmp(&rho_a));
            by_strength.then_with(|| (&a.label, &a.name).cmp(&(&b.label, &b.name)))
        });
        all
    }

    /// Values and durations by label and counter.
    fn gather_counters(&self) -> BTreeMap<(&str, &str), Pairs> {
        let mut gathered: BTreeMap<(&str, &str), (usize, Pairs)> = BTreeMap::new();
        for (position, (&index, &duration)) in self.members().iter().zip(self.durations()).enumerate() {
            let interval = &self.intervals()[index];
            for counter in interval.counters.iter().filter(|counter| counter.value.is_finite()) {
                let key = (interval.label.as_str(), counter.name.as_str());
                let (seen_at, values) = gathered.entry(key).or_insert((usize::MAX, Pairs::new()));
                if *seen_at != position {
                    *seen_at = position;
                    values.push((counter.value, duration));
                }
            }
        }
        gathered.into_iter().map(|(key, (_, values))| (key, values)).collect()
    }

    /// The durations at these positions in ascending order.
    fn sorted_at(&self, positions: &[usize]) -> Vec<u64> {
        let mut sorted: Vec<u64> = positions.iter().map(|&position| self.durations()[position]).collect();
        sorted.sort_unstable();
        sorted
    }
}

#[cfg(test)]
mod tests;
