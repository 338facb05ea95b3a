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
fn same_label_same_threads_around_the_median() {
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
    // Of 100 104 101 97 102 100 the upper middle is 101; thread 1 first: 100 (0), 102 (7), 100 (8), 104, 97; then 2.
    assert_eq!(baselines(&population, &is_outlier, 4, 3), [0, 7, 8]);
    assert_eq!(baselines(&population, &is_outlier, 4, 9), [0, 7, 8, 1, 5, 2]);
    assert_eq!(baselines(&population, &is_outlier, 4, 0), [0usize; 0]);
    assert_eq!(baselines(&population, &is_outlier, 99, 3), [0usize; 0]);
}

proptest! {
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
            prop_assert_eq!(&found[..], &all[..found.len()]);
        }
    }
}
