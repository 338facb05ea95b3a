//! Typical intervals to compare an outlier with: same label, around the median of the non-outliers.
//!
//! Input: intervals and the outliers among them. Output: indices, the most typical first; the same for the same input.

use std::collections::HashMap;

use model::Interval;

use crate::population::Population;

/// Up to `count` typical intervals for the outlier with index `outlier`, the most typical first.
///
/// Members of the population with the outlier's label that `is_outlier` does not name (a verdict per member) and that
/// are neither empty nor the outlier itself; those on the same threads come first, then those with the duration
/// nearest to the median, then the earlier ones.
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
    let mut known = HashMap::new();
    let intervals = population.intervals();
    let of_one = |&outlier: &usize| {
        let Some(slow) = intervals.get(outlier) else { return Vec::new() };
        let typical = known
            .entry((slow.label.as_str(), slow.start_thread, slow.stop_thread))
            // One more, for the outlier can be among them: the user may choose what no rule names.
            .or_insert_with(|| typical(population, is_outlier, slow, count.saturating_add(1)));
        typical.iter().copied().filter(|&index| index != outlier).take(count).collect()
    };
    outliers.iter().map(of_one).collect()
}

/// Up to `count` typical intervals like `slow`, the most typical first.
fn typical(population: &Population<'_>, is_outlier: &[bool], slow: &Interval, count: usize) -> Vec<usize> {
    let intervals = population.intervals();
    let candidate = |&(position, &index): &(usize, &usize)| {
        let typical = !is_outlier.get(position).copied().unwrap_or(false);
        typical && intervals[index].label == slow.label && population.durations()[position] > 0
    };
    let mut candidates: Vec<(u64, usize)> = population
        .members()
        .iter()
        .enumerate()
        .filter(candidate)
        .map(|(position, &index)| (population.durations()[position], index))
        .collect();
    let median = {
        let mut durations: Vec<u64> = candidates.iter().map(|candidate| candidate.0).collect();
        let half = durations.len() / 2;
        if durations.is_empty() { 0 } else { *durations.select_nth_unstable(half).1 }
    };
    let order = |&(duration, index): &(u64, usize)| {
        let interval = &intervals[index];
        (!same_threads(interval, slow), duration.abs_diff(median), interval.range.start, interval.id)
    };
    if candidates.len() > count && count > 0 {
        candidates.select_nth_unstable_by_key(count - 1, order);
    }
    candidates.truncate(count);
    candidates.sort_unstable_by_key(order);
    // Not `into_iter`: that would keep the room of all candidates.
    candidates.iter().map(|candidate| candidate.1).collect()
}

fn same_threads(one: &Interval, other: &Interval) -> bool {
    one.start_thread == other.start_thread && one.stop_thread == other.stop_thread
}

#[cfg(test)]
mod tests;
