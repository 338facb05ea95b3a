//! Which intervals are typical.

use super::*;
use crate::outliers::OutlierRule;
use model::{IntervalId, ThreadId, Tsc, TscRange};
use proptest::prelude::*;

fn interval(id: u64, label: &str, duration: u64, tid: i32) -> Interval {
    let start = id * 1_000_000;
    Interval::new(
        IntervalId(id),
        label,
        TscRange::new(Tsc(start), Tsc(start + duration)),
        Some(ThreadId::new(1, tid)),
    )
}

#[test]
fn same_label_same_threads_spread_over_the_durations() {
    let intervals = [
        interval(0, "a", 100, 1),
        interval(1, "a", 104, 1),
        interval(2, "a", 101, 2),
        interval(3, "b", 101, 1),
        interval(4, "a", 900, 1),
        interval(5, "a", 97, 1),
        interval(6, "a", 0, 1),
        interval(7, "a", 102, 1),
        interval(8, "a", 100, 1),
    ];
    let population = Population::all(&intervals, None);
    let is_outlier: Vec<bool> = (0..9).map(|at| at == 4).collect();
    // Of thread 1: 97 (5), 100 (0), 100 (8), 102 (7), 104 (1), the median is 100. Of three parts the middles are the
    // places 5/6, 15/6 and 25/6: 97, 100 (8), 104.
    assert_eq!(baselines(&population, &is_outlier, 4, 3), [8, 5, 1]);
    assert_eq!(baselines(&population, &is_outlier, 4, 1), [8]);
    // All of them by distance; then the one of thread 2.
    assert_eq!(baselines(&population, &is_outlier, 4, 9), [0, 8, 7, 5, 1, 2]);
    assert_eq!(baselines(&population, &is_outlier, 4, 0), [0usize; 0]);
    assert_eq!(baselines(&population, &is_outlier, 99, 3), [0usize; 0]);
}

/// Nine intervals of 10 and three of 50: of four baselines, three are of the one kind and one of the other.
#[test]
fn both_modes_of_a_population_are_typical() {
    let intervals: Vec<Interval> =
        (0..12).map(|id| interval(id, "a", if id % 4 == 3 { 50 } else { 10 }, 1)).collect();
    let population = Population::all(&intervals, None);
    let found = baselines(&population, &[false; 12], 11, 4);
    let of = |duration| found.iter().filter(|&&index| population.durations()[index] == duration).count();
    assert_eq!((of(10), of(50)), (3, 1));
}

/// The candidates of one outlier on its threads, then on others: sorted, of n parts the middles, by distance from the median.
fn by_filtering(intervals: &[Interval], is_outlier: &[bool], slow: usize, count: usize) -> Vec<usize> {
    let mut chosen: Vec<(bool, usize)> = Vec::new();
    let mut median = None;
    for elsewhere in [false, true] {
        let fits = |&index: &usize| {
            let (one, other) = (&intervals[index], &intervals[slow]);
            let is_elsewhere = one.start_thread != other.start_thread;
            let duration = one.range.ticks().0;
            !is_outlier[index]
                && index != slow
                && duration > 0
                && one.label == other.label
                && is_elsewhere == elsewhere
        };
        let mut sorted: Vec<usize> = (0..intervals.len()).filter(fits).collect();
        sorted.sort_by_key(|&index| (intervals[index].range.ticks(), intervals[index].range.start));
        let (length, parts) = (sorted.len(), count - chosen.len());
        median = median.or(sorted.get(length / 2).map(|&index| intervals[index].range.ticks().0));
        let taken: Vec<usize> = if length <= parts {
            sorted
        } else {
            (0..parts).map(|part| sorted[(2 * part + 1) * length / (2 * parts)]).collect()
        };
        chosen.extend(taken.into_iter().map(|index| (elsewhere, index)));
    }
    chosen.sort_by_key(|&(elsewhere, index)| {
        let interval = &intervals[index];
        (elsewhere, interval.range.ticks().0.abs_diff(median.unwrap_or(0)), interval.range.start)
    });
    chosen.into_iter().map(|(_, index)| index).collect()
}

proptest! {
    /// Which places are taken does not depend on how they are found: here by sorting all.
    #[test]
    fn places_are_those_of_the_sorted(durations in prop::collection::vec(0u64..50, 0..200), count in 0usize..20) {
        let mut candidates: Vec<(u64, usize)> = durations.iter().copied().zip(0..).collect();
        let mut sorted = candidates.clone();
        sorted.sort_unstable();
        let length = sorted.len();
        let expected: Vec<(u64, usize)> = if length <= count {
            sorted.clone()
        } else {
            (0..count).map(|part| sorted[(2 * part + 1) * length / (2 * count)]).collect()
        };
        let (found, median) = spread(&mut candidates, count, Ord::cmp);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(median, sorted.get(length / 2).map(|candidate| candidate.0));
    }

    /// The rule as `baselines` states it, with each outlier's candidates filtered out of all and sorted.
    #[test]
    fn those_of_all_are_those_of_each(
        kinds in prop::collection::vec((0u64..6, 0i32..4, prop::bool::ANY, prop::bool::ANY), 1..80),
        count in 0usize..10,
    ) {
        let intervals: Vec<Interval> = (0..)
            .zip(&kinds)
            .map(|(id, &(duration, tid, is_b, _))| interval(id, if is_b { "b" } else { "a" }, duration, tid))
            .collect();
        let is_outlier: Vec<bool> = kinds.iter().map(|kind| kind.3).collect();
        let population = Population::all(&intervals, None);
        let all: Vec<usize> = (0..intervals.len()).collect();
        let found = baselines_of_all(&population, &is_outlier, &all, count);
        for (slow, found) in found.iter().enumerate() {
            prop_assert_eq!(found, &by_filtering(&intervals, &is_outlier, slow, count));
        }
    }

    #[test]
    fn never_outliers_never_itself(durations in prop::collection::vec(0u64..1000, 1..60), count in 0usize..10) {
        let intervals: Vec<Interval> =
            (0..).zip(&durations).map(|(id, &duration)| interval(id, "a", duration, (id % 2) as i32)).collect();
        let population = Population::all(&intervals, None);
        let judgement = population.judge(OutlierRule::default());
        for outlier in 0..intervals.len() {
            let found = baselines(&population, &judgement.is_outlier, outlier, count);
            prop_assert!(found.len() <= count);
            prop_assert!(found.iter().all(|&index| index != outlier && !judgement.is_outlier[index]));
            let all = baselines(&population, &judgement.is_outlier, outlier, usize::MAX);
            prop_assert_eq!(found.len(), all.len().min(count));
            prop_assert!(found.iter().all(|index| all.contains(index)));
        }
    }
}
