//! Which intervals are explained: the outliers that the user requested, longest first, and the rule in words.
//!
//! Input: a population and criteria. Output: indices and the rule with its thresholds. Several criteria must all hold;
//! `top` then takes the longest of what is left. Without any criterion: robust z-score above 3.5, the 10 longest.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::histogram::TwoModes;
use crate::outliers::OutlierRule;
use crate::population::{Population, nearest_rank};
use crate::unit::Unit;

/// How many the default selection takes at most.
pub const DEFAULT_MOST: usize = 10;

/// What the user requested; all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The longest so many (of those that the other criteria leave).
    pub top: Option<usize>,
    /// Strictly longer than so many nanoseconds.
    pub over_ns: Option<u64>,
    /// Strictly longer than this percentile (nearest rank), from 0 to 100.
    pub percentile: Option<f64>,
    /// Robust z-score above this, within the interval's label.
    pub mad: Option<f64>,
    /// The slow one of two modes.
    pub slow_mode: bool,
    /// One of these ids.
    pub ids: Vec<u64>,
}

/// The intervals to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Indices into the population's intervals, longest first, ties by start and then by id.
    pub indices: Vec<usize>,
    /// Why these, in words, with the thresholds that resulted.
    pub rule: String,
    /// Ids that were requested and are not in the population.
    pub missing_ids: Vec<u64>,
}

/// The positions that are left, all where there are none yet, and the reasons so far.
struct Choice<'p, 'a> {
    population: &'p Population<'a>,
    positions: Option<Vec<usize>>,
    reasons: Vec<String>,
}

impl Selection {
    /// Whether nothing was requested, so that the default holds.
    pub fn is_default(&self) -> bool {
        *self == Selection::default()
    }

    /// Selects from `population`.
    ///
    /// Without a conversion `over_ns` cannot be compared with ticks: nothing is selected, and the rule says so.
    pub fn select(&self, population: &Population<'_>) -> Selected {
        if self.is_default() {
            let rule = OutlierRule::default();
            return Selection { mad: Some(rule.k), top: Some(DEFAULT_MOST), ..Selection::default() }
                .select(population);
        }
        let mut choice = Choice { population, positions: None, reasons: Vec::new() };
        let missing_ids = choice.keep_ids(&self.ids);
        choice.keep_over(self.over_ns);
        choice.keep_percentile(self.percentile);
        choice.keep_mad(self.mad);
        choice.keep_slow_mode(self.slow_mode);
        choice.keep_longest(self.top);
        let indices = choice.indices();
        Selected { indices, rule: choice.reasons.join("; "), missing_ids }
    }

    /// Whether single intervals are meant, and not a kind of them.
    pub fn is_by_id(&self) -> bool {
        !self.ids.is_empty()
    }

    /// All that the criteria find, of which `top` takes the longest; where there is none but that, the outliers by the default rule.
    pub fn select_all(&self, population: &Population<'_>) -> Selected {
        let all = Selection { top: None, ..self.clone() };
        if all.is_default() {
            return Selection { mad: Some(OutlierRule::default().k), ..all }.select(population);
        }
        all.select(population)
    }

    /// The rule by which the population's own outliers are counted: the user's `mad`, or the default.
    pub fn outlier_rule(&self) -> OutlierRule {
        self.mad.map_or_else(OutlierRule::default, |k| OutlierRule { k })
    }
}

impl Choice<'_, '_> {
    fn keep(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let is_wanted = |position: &usize| is_wanted(*position);
        if let Some(positions) = &mut self.positions {
            positions.retain(is_wanted);
        } else {
            let all = 0..self.population.durations().len();
            self.positions = Some(all.filter(is_wanted).collect());
        }
    }

    fn keep_longer_than(&mut self, threshold: u64) {
        let durations = self.population.durations();
        self.keep(|position| durations[position] > threshold);
    }

    /// Keeps these ids, and returns those that are not there.
    fn keep_ids(&mut self, ids: &[u64]) -> Vec<u64> {
        if ids.is_empty() {
            return Vec::new();
        }
        let mut wanted: BTreeSet<u64> = ids.iter().copied().collect();
        let shown: Vec<String> = wanted.iter().take(20).map(u64::to_string).collect();
        let more = if wanted.len() > shown.len() { ", …" } else { "" };
        self.reasons.push(format!("id {}{more}", shown.join(", ")));
        let (intervals, members) = (self.population.intervals(), self.population.members());
        let id = |position: usize| intervals[members[position]].id.0;
        self.keep(|position| wanted.contains(&id(position)));
        for &position in self.positions.iter().flatten() {
            wanted.remove(&id(position));
        }
        wanted.into_iter().collect()
    }

    fn keep_over(&mut self, over_ns: Option<u64>) {
        let Some(over) = over_ns else { return };
        match self.population.unit() {
            Unit::Nanoseconds => {
                self.keep_longer_than(over);
                self.reasons.push(format!("longer than {}", Unit::Nanoseconds.show(over)));
            }
            Unit::Ticks => {
                self.positions = Some(Vec::new());
                self.reasons.push(format!(
                    "longer than {}, which cannot be checked: the capture has no TSC conversion",
                    Unit::Nanoseconds.show(over)
                ));
            }
        }
    }

    fn keep_percentile(&mut self, percentile: Option<f64>) {
        let Some(percentile) = percentile else { return };
        let Some(value) = nearest_rank(self.population.sorted_durations(), percentile) else {
            self.positions = Some(Vec::new());
            self.reasons.push(format!("longer than p{percentile}, which there is none of"));
            return;
        };
        self.keep_longer_than(value);
        let shown = self.population.unit().show(value);
        self.reasons.push(format!("longer than p{percentile} ({shown}, nearest rank)"));
    }

    fn keep_mad(&mut self, k: Option<f64>) {
        let Some(k) = k else { return };
        let judgement = self.population.judge(OutlierRule { k });
        self.keep(|position| judgement.is_outlier[position]);
        self.reasons.push(judgement.rule);
    }

    fn keep_slow_mode(&mut self, slow_mode: bool) {
        if !slow_mode {
            return;
        }
        let Some(modes) = TwoModes::find(self.population.sorted_durations()) else {
            self.positions = Some(Vec::new());
            self.reasons.push("the slow one of two modes: there are no two modes".to_owned());
            return;
        };
        self.keep_longer_than(modes.threshold);
        let shown = self.population.unit().show(modes.threshold);
        self.reasons.push(format!("the slow one of two modes: longer than {shown}"));
    }

    fn keep_longest(&mut self, top: Option<usize>) {
        let (intervals, members) = (self.population.intervals(), self.population.members());
        let order = |position: usize| {
            let interval = &intervals[members[position]];
            (Reverse(self.population.durations()[position]), interval.range.start, interval.id)
        };
        let mut positions = self.positions.take().unwrap_or_else(|| (0..members.len()).collect());
        let found = positions.len();
        // Of a million the ten longest: there is no need to order the others.
        if let Some(top) = top.filter(|&top| top < found) {
            positions.select_nth_unstable_by_key(top, |&position| order(position));
            positions.truncate(top);
        }
        positions.sort_by_key(|&position| order(position));
        self.positions = Some(positions);
        let Some(top) = top else { return };
        if self.reasons.is_empty() {
            self.reasons.push(format!("the {top} longest of {found}"));
        } else if found > top {
            self.reasons.push(format!("the {top} longest of the {found} found"));
        }
    }

    fn indices(&self) -> Vec<usize> {
        self.positions.iter().flatten().map(|&position| self.population.members()[position]).collect()
    }
}

#[cfg(test)]
mod tests;
