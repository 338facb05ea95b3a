//! Typical intervals by path, where all of the population were decoded.
//!
//! Input: the paths of the intervals that may be typical, and that of an outlier. Output: the typical intervals of the path nearest to its own.
//! Where one path has too few, those of the next ones, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use intervals::{Population, baselines_of_all};
use model::{Interval, TimeConversion};

use super::same_path::{Counted, Path, distance};

/// The intervals of each label, by path.
pub(super) struct PathClasses<'a> {
    intervals: &'a [Interval],
    conversion: Option<TimeConversion>,
    labels: HashMap<&'a str, OfLabel>,
}

struct OfLabel {
    counted: Counted,
    /// The intervals by what of their path counts.
    classes: BTreeMap<Path, Vec<usize>>,
}

impl<'a> PathClasses<'a> {
    /// Those of `typical`, each with what it entered, by index into `intervals`.
    pub(super) fn of<'p>(
        intervals: &'a [Interval],
        conversion: Option<TimeConversion>,
        typical: impl IntoIterator<Item = Entered<'p>>,
    ) -> PathClasses<'a> {
        let mut by_label: HashMap<&str, Vec<Entered<'p>>> = HashMap::new();
        for (index, path) in typical {
            by_label.entry(&intervals[index].label).or_default().push((index, path));
        }
        let labels = by_label.into_iter().map(|(label, typical)| (label, OfLabel::of(typical))).collect();
        PathClasses { intervals, conversion, labels }
    }

    /// Up to `count` typical intervals for each of `outliers`, chosen among those of its label that are nearest to its path in the way in
    /// which [`intervals::baselines`] chooses among all.
    pub(super) fn typical(
        &self,
        outliers: impl IntoIterator<Item = (usize, Path)>,
        count: usize,
    ) -> BTreeMap<usize, Vec<usize>> {
        let mut alike: HashMap<(&str, Path), Vec<usize>> = HashMap::new();
        for (outlier, path) in outliers {
            let label = self.intervals[outlier].label.as_str();
            let counting = self.labels.get(label).map(|of_label| of_label.counted.in_path(&path));
            alike.entry((label, counting.unwrap_or_default())).or_default().push(outlier);
        }
        let chosen = alike.into_iter().flat_map(|((label, path), outliers)| {
            let nearest = self.labels.get(label).map(|of_label| of_label.nearest(&path, count));
            let nearest = Population::of(self.intervals, nearest.unwrap_or_default(), self.conversion);
            let chosen = baselines_of_all(&nearest, &[], &outliers, count);
            outliers.into_iter().zip(chosen)
        });
        chosen.collect()
    }
}

/// An interval and the functions that it entered.
type Entered<'p> = (usize, &'p [Arc<str>]);

impl OfLabel {
    fn of(typical: Vec<Entered<'_>>) -> OfLabel {
        let counted = Counted::of(typical.iter().map(|(_, path)| *path));
        let mut classes: BTreeMap<Path, Vec<usize>> = BTreeMap::new();
        for (index, path) in typical {
            classes.entry(counted.in_path(path)).or_default().push(index);
        }
        OfLabel { counted, classes }
    }

    /// All intervals of the classes nearest to `path`, as many classes as it takes for `enough` of them.
    fn nearest(&self, path: &Path, enough: usize) -> Vec<usize> {
        let mut by_distance: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (of_class, members) in &self.classes {
            by_distance.entry(distance(path, of_class)).or_default().extend(members);
        }
        let mut nearest = Vec::new();
        for members in by_distance.into_values() {
            if nearest.len() >= enough {
                break;
            }
            nearest.extend(members);
        }
        nearest
    }
}

#[cfg(test)]
mod tests;
