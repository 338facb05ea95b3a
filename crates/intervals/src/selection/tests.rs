//! Selections by hand, and what holds for any.

use super::*;
use model::{Interval, IntervalId, TimeConversion, Tsc, TscRange};
use proptest::prelude::*;

/// 1 tick = 1 ns.
fn nanoseconds() -> Option<TimeConversion> {
    TimeConversion::new(0, 1, 0)
}

/// Intervals one after the other, 1 us apart at least, with these durations in ns.
fn intervals(durations: &[u64]) -> Vec<Interval> {
    let one = |(id, &duration): (u64, &u64)| {
        let start = id * 1_000_000;
        Interval::new(IntervalId(id), "x", TscRange::new(Tsc(start), Tsc(start + duration)), None)
    };
    (0..).zip(durations).map(one).collect()
}

fn select(selection: &Selection, durations: &[u64]) -> Selected {
    let intervals = intervals(durations);
    selection.select(&Population::all(&intervals, nanoseconds()))
}

#[test]
fn top_longest_first_ties_by_start() {
    let selected = select(&Selection { top: Some(3), ..Selection::default() }, &[5, 9, 7, 9, 1]);
    assert_eq!(selected.indices, [1, 3, 2]);
    assert_eq!(selected.rule, "the 3 longest of 5");
}

#[test]
fn over_is_strict() {
    let selected = select(&Selection { over_ns: Some(7), ..Selection::default() }, &[7, 8, 6, 9]);
    assert_eq!(selected.indices, [3, 1]);
    assert_eq!(selected.rule, "longer than 7 ns");
}

#[test]
fn over_needs_nanoseconds() {
    let intervals = intervals(&[7, 8]);
    let selected =
        Selection { over_ns: Some(1), ..Selection::default() }.select(&Population::all(&intervals, None));
    assert_eq!(selected.indices, [0usize; 0]);
    assert!(selected.rule.contains("no TSC conversion"));
}

#[test]
fn percentile_takes_the_slowest_share() {
    let durations: Vec<u64> = (1..=200).collect();
    let selected = select(&Selection { percentile: Some(99.0), ..Selection::default() }, &durations);
    assert_eq!(selected.indices, [199, 198]);
    assert_eq!(selected.rule, "longer than p99 (198 ns, nearest rank)");
}

#[test]
fn default_is_mad_and_at_most_ten() {
    let mut durations = [100, 101, 99, 100, 102, 98].repeat(10);
    durations.extend(1000..1015);
    let selected = select(&Selection::default(), &durations);
    assert_eq!(selected.indices, (65..75).rev().collect::<Vec<_>>());
    assert!(selected.rule.starts_with("robust z-score above 3.5: longer than "));
    assert!(selected.rule.ends_with("; the 10 longest of the 15 found"));
}

#[test]
fn ids_and_those_that_are_missing() {
    let selected = select(&Selection { ids: vec![2, 9, 0], ..Selection::default() }, &[5, 6, 7]);
    assert_eq!((selected.indices, selected.missing_ids), (vec![2, 0], vec![9]));
    assert_eq!(selected.rule, "id 0, 2, 9");
}

#[test]
fn criteria_must_all_hold() {
    let selection = Selection { over_ns: Some(5), ids: vec![0, 1, 3], top: Some(1), ..Selection::default() };
    let selected = select(&selection, &[5, 6, 7, 8]);
    assert_eq!(selected.indices, [3]);
    assert_eq!(selected.rule, "id 0, 1, 3; longer than 5 ns; the 1 longest of the 2 found");
}

#[test]
fn slow_mode_where_there_is_one() {
    let mut durations = vec![937_000; 90];
    durations.extend([200_000; 10].map(|us| us * 1000));
    let slow = Selection { slow_mode: true, ..Selection::default() };
    assert_eq!(select(&slow, &durations).indices.len(), 10);
    let selected = select(&slow, &[5; 50]);
    assert_eq!(
        (selected.indices.len(), selected.rule.as_str()),
        (0, "the slow one of two modes: there are no two modes")
    );
}

proptest! {
    #[test]
    fn more_criteria_never_select_more(
        durations in prop::collection::vec(0u64..5_000, 0..80),
        over_ns in prop::option::of(0u64..5_000), percentile in prop::option::of(0.0f64..=100.0),
        mad in prop::option::of(0.1f64..10.0), top in prop::option::of(0usize..20),
    ) {
        let intervals = intervals(&durations);
        let population = Population::all(&intervals, nanoseconds());
        let selection = Selection { over_ns, percentile, mad, ..Selection::default() };
        prop_assume!(!selection.is_default());
        let all = selection.select(&population).indices;
        let single = [
            Selection { over_ns, ..Selection::default() },
            Selection { percentile, ..Selection::default() },
            Selection { mad, ..Selection::default() },
        ];
        for one in single.iter().filter(|one| !one.is_default()) {
            let alone = one.select(&population).indices;
            prop_assert!(all.iter().all(|index| alone.contains(index)));
        }
        let lengths: Vec<u64> = all.iter().map(|&index| durations[index]).collect();
        prop_assert!(lengths.windows(2).all(|two| two[0] >= two[1]));
        let limited = Selection { top, ..selection }.select(&population).indices;
        prop_assert_eq!(&limited[..], &all[..top.unwrap_or(all.len()).min(all.len())]);
    }
}
