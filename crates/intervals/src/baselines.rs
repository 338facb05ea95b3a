//! Typical intervals to compare an outlier with: same label, spread over the durations of the non-outliers.
//!
//! Input: intervals and the outliers among them. Output: indices, the most typical first; the same for the same input.

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
        let mut found: Vec<(u64, usize)> = population
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
            .collect();
        found.sort_unstable_by_key(|&(duration, index)| {
            (duration, intervals[index].range.start, intervals[index].id)
        });
        found
    };
    let own = candidates(true);
    let median = own.get(own.len() / 2).map(|candidate| candidate.0);
    let mut chosen = spread(&own, count);
    let (missing, others) =
        (count - chosen.len(), if chosen.len() < count { candidates(false) } else { Vec::new() });
    let median = median.or_else(|| others.get(others.len() / 2).map(|candidate| candidate.0)).unwrap_or(0);
    chosen.extend(spread(&others, missing));
    chosen.sort_unstable_by_key(|&(duration, index)| {
        let interval = &intervals[index];
        let elsewhere = !same_threads(interval, &intervals[slow]);
        (elsewhere, duration.abs_diff(median), interval.range.start, interval.id)
    });
    chosen.into_iter().map(|candidate| candidate.1).collect()
}

/// `count` of `sorted`, evenly apart; all where there are no more.
fn spread(sorted: &[(u64, usize)], count: usize) -> Vec<(u64, usize)> {
    if sorted.len() <= count {
        return sorted.to_vec();
    }
    // The middle of each of `count` equal parts.
    let at = |part: usize| (2 * part as u128 + 1) * sorted.len() as u128 / (2 * count as u128);
    (0..count).filter_map(|part| sorted.get(usize::try_from(at(part)).ok()?).copied()).collect()
}

fn same_threads(one: &Interval, other: &Interval) -> bool {
    one.start_thread == other.start_thread && one.stop_thread == other.stop_thread
}

#[cfg(test)]
mod tests;
