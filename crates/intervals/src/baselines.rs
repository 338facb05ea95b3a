//! Typical intervals to compare an outlier with: same label, spread over the durations of the non-outliers.
//!
//! Input: intervals and the outliers among them. Output: indices, the most typical first; the same for the same input.

use std::cmp::Ordering;
use std::collections::HashMap;

use model::Interval;

use crate::population::Population;

/// Up to `count` typical intervals for the outlier with index `outlier`, the most typical first.
///
/// Candidates are the members of the population with the outlier's label that `is_outlier` does not name (a verdict per
/// member) and that are neither empty nor the outlier itself; those on other threads only where its own have too few.
/// Of the candidates in order of duration, every n-th is taken: where a population has two modes, both are typical.
/// The result is in order of distance from the median, the earlier ones first where that is equal.
pub fn baselines(
    population: &Population<'_>,
    is_outlier: &[bool],
    outlier: usize,
    count: usize,
) -> Vec<usize> {
    baselines_of_all(population, is_outlier, &[outlier], count).pop().unwrap_or_default()
}

/// [`baselines`] of each of `outliers`, in their order. Outliers of the same label and threads have the same typical
/// intervals, which are looked for once.
pub fn baselines_of_all(
    population: &Population<'_>,
    is_outlier: &[bool],
    outliers: &[usize],
    count: usize,
) -> Vec<Vec<usize>> {
    let mut known: HashMap<_, Vec<usize>> = HashMap::new();
    let intervals = population.intervals();
    let of_one = |&outlier: &usize| {
        let Some(slow) = intervals.get(outlier) else { return Vec::new() };
        let key = (slow.label.as_str(), slow.start_thread, slow.stop_thread);
        let typical = known.entry(key).or_insert_with(|| typical(population, is_outlier, outlier, count));
        if !typical.contains(&outlier) {
            return typical.clone();
        }
        // Chosen though no rule names it, and typical for another one.
        self::typical(population, is_outlier, outlier, count)
    };
    outliers.iter().map(of_one).collect()
}

/// Up to `count` typical intervals for the one with index `slow`, the most typical first.
fn typical(population: &Population<'_>, is_outlier: &[bool], slow: usize, count: usize) -> Vec<usize> {
    let intervals = population.intervals();
    let candidates = |same_threads: bool| {
        population
            .members()
            .iter()
            .zip(population.durations())
            .enumerate()
            .filter(|&(position, (&index, &duration))| {
                let typical = !is_outlier.get(position).copied().unwrap_or(false);
                let alike = intervals[index].label == intervals[slow].label;
                let threads = self::same_threads(&intervals[index], &intervals[slow]) == same_threads;
                typical && alike && threads && duration > 0 && index != slow
            })
            .map(|(_, (&index, &duration))| (duration, index))
            .collect::<Vec<(u64, usize)>>()
    };
    // Only where durations are equal does anything else count: looking there costs a miss of the caches each.
    let order = |a: &(u64, usize), b: &(u64, usize)| {
        let further = |index: usize| (intervals[index].range.start, intervals[index].id);
        a.0.cmp(&b.0).then_with(|| further(a.1).cmp(&further(b.1)))
    };
    let (mut chosen, median) = spread(candidates(true), count, order);
    let (others, others_median) = match count - chosen.len() {
        0 => (Vec::new(), None),
        missing => spread(candidates(false), missing, order),
    };
    let median = median.or(others_median).unwrap_or(0);
    chosen.extend(others);
    chosen.sort_unstable_by_key(|&(duration, index)| {
        let interval = &intervals[index];
        let elsewhere = !same_threads(interval, &intervals[slow]);
        (elsewhere, duration.abs_diff(median), interval.range.start, interval.id)
    });
    chosen.into_iter().map(|candidate| candidate.1).collect()
}

/// `count` of `candidates`, evenly apart in their order, and the median duration; all where there are no more.
fn spread(
    mut candidates: Vec<(u64, usize)>,
    count: usize,
    order: impl Fn(&(u64, usize), &(u64, usize)) -> Ordering,
) -> (Vec<(u64, usize)>, Option<u64>) {
    let length = candidates.len();
    // The middle of each of `count` equal parts.
    let at = |part: usize| (2 * part as u128 + 1) * length as u128 / (2 * count as u128);
    let mut ranks: Vec<usize> = if length <= count {
        (0..length).collect()
    } else {
        (0..count).filter_map(|part| usize::try_from(at(part)).ok()).collect()
    };
    let middle = length / 2;
    let own = ranks.partition_point(|&rank| rank < middle);
    let is_added = length > 0 && ranks.get(own) != Some(&middle);
    if is_added {
        ranks.insert(own, middle);
    }
    bring_to_place(&mut candidates, 0, &ranks, &order);
    let median = candidates.get(middle).map(|candidate| candidate.0);
    if is_added {
        ranks.remove(own);
    }
    (ranks.into_iter().map(|rank| candidates[rank]).collect(), median)
}

/// Moves to each of the ascending `ranks` what stands there in order; `part` begins at rank `first`. The middle rank
/// first, then either side by itself: log n steps through all, where sorting a million takes twenty.
fn bring_to_place(
    part: &mut [(u64, usize)],
    first: usize,
    ranks: &[usize],
    order: &impl Fn(&(u64, usize), &(u64, usize)) -> Ordering,
) {
    let (before, behind) = ranks.split_at(ranks.len() / 2);
    let [rank, behind @ ..] = behind else { return };
    let (below, _, above) = part.select_nth_unstable_by(rank - first, order);
    bring_to_place(below, first, before, order);
    bring_to_place(above, rank + 1, behind, order);
}

fn same_threads(one: &Interval, other: &Interval) -> bool {
    one.start_thread == other.start_thread && one.stop_thread == other.stop_thread
}

#[cfg(test)]
mod tests;
