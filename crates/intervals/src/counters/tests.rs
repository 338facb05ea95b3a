//! Test that counters that correlate with slow intervals are found and chance is not, by calculations made by hand.

use model::{Counter, Details, Interval, IntervalId, Tsc, TscRange};
use proptest::prelude::*;

use super::*;

/// An interval of `duration` ticks with these counters.
fn interval(id: u64, label: &str, duration: u64, counters: &[(&str, f64)]) -> Interval {
    let range = TscRange::new(Tsc(id * 1_000_000), Tsc(id * 1_000_000 + duration));
    let counter = |&(name, value): &(&str, f64)| Counter { name: name.to_owned(), value: value.into() };
    let counters = counters.iter().map(counter).collect();
    Interval::new(IntervalId(id), label, range, None).with(Details { counters, ..Details::default() })
}

fn intervals(pairs: &[(f64, u64)]) -> Vec<Interval> {
    let one = |(id, &(value, duration)): (usize, &(f64, u64))| {
        interval(id as u64, "send", duration, &[("bytes", value)])
    };
    pairs.iter().enumerate().map(one).collect()
}

fn counters(intervals: &[Interval]) -> Vec<CounterStatistics> {
    Population::all(intervals, None).counters()
}

fn numbers(pairs: &[(f64, u64)]) -> Pairs {
    pairs.iter().map(|&(value, duration)| (value.into(), duration)).collect()
}

fn correlation(pairs: &[(f64, u64)]) -> Option<RankCorrelation> {
    RankCorrelation::of(&numbers(pairs))
}

fn best_split(pairs: &[(f64, u64)], slow_from: u64) -> Option<Split> {
    Split::best(&numbers(pairs), slow_from)
}

/// Two values that floating point takes for one: 2^53 is fast, 2^53 + 1 is slow.
#[test]
fn values_that_floating_point_takes_for_one_are_two() {
    let (low, high) = (1_u64 << 53, (1_u64 << 53) + 1);
    let pairs: Pairs =
        (0..40).map(|n| if n % 2 == 0 { (low.into(), 10 + n) } else { (high.into(), 1_000 + n) }).collect();
    let split = Split::best(&pairs, 500).expect("they differ");
    assert_eq!((split.side, split.threshold.to_string()), (Side::Above, "9007199254740992".to_owned()));
    assert_eq!((split.slow_matched, split.fast_matched), (20, 0));
    assert!(RankCorrelation::of(&pairs).is_some_and(|found| found.rho > 0.8));
}

/// The textbook case of IQ and hours of television: 1 - 6 Σd²/(n(n²-1)) = 1 - 6 · 194/990 = -29/165. Fisher's z is
/// -0.1776; ± 1.96 · √(1.01544/7) back through tanh; p = erfc(0.1776/√(1.06/7)/√2).
#[test]
fn the_textbooks_rank_correlation() {
    let pairs = [
        (106.0, 7),
        (86.0, 0),
        (100.0, 27),
        (101.0, 50),
        (99.0, 28),
        (103.0, 29),
        (97.0, 20),
        (113.0, 12),
        (112.0, 6),
        (110.0, 17),
    ];
    let found = correlation(&pairs).expect("values differ");
    assert!((found.rho + 29.0 / 165.0).abs() < 1e-12);
    let (low, high) = found.confidence.expect("ten pairs");
    assert!((low + 0.727_814).abs() < 1e-4 && (high - 0.514_483).abs() < 1e-4, "{low} {high}");
    assert!((found.p.expect("ten pairs") - 0.648_2).abs() < 1e-3, "{:?}", found.p);
}

/// Ranks of x: 1.5 1.5 3 4, of y: 1 2.5 2.5 4. Distances from 2.5 multiplied: 3.75 / √(4.5 · 4.5).
#[test]
fn equals_share_their_rank() {
    let found = correlation(&[(1.0, 10), (1.0, 20), (2.0, 20), (3.0, 30)]).expect("values differ");
    assert!((found.rho - 3.75 / 4.5).abs() < 1e-12);
    assert_eq!((found.confidence, found.p), (None, None), "four pairs say nothing for sure");
}

#[test]
fn what_never_changes_correlates_with_nothing() {
    assert_eq!(correlation(&[(1.0, 10), (1.0, 20)]), None);
    assert_eq!(correlation(&[(1.0, 10), (2.0, 10)]), None);
    assert_eq!(correlation(&[]), None);
}

/// The seed's case: 98 small sends of which 97 are slow, 400 large ones of which one is. Slow is beyond 1 ms.
#[test]
fn small_sends_are_slow() {
    let mut pairs: Vec<(f64, u64)> = (0..97).map(|n| (f64::from(100 + n), 200_000_000)).collect();
    pairs.push((1_000.0, 937_000));
    pairs.extend((0..400u32).map(|n| (f64::from(1_448 + n), 937_400 - u64::from(n))));
    pairs.push((9_000.0, 200_000_000));
    let intervals = intervals(&pairs);
    let found = counters(&intervals);
    let split = found[0].split.expect("two modes and a counter");
    // Below 1000: 97 of 98 slow and no fast one. That beats below 1448, which takes a fast one in.
    assert_eq!((split.side, split.threshold.as_f64()), (Side::Below, 1_000.0));
    assert_eq!((split.slow_matched, split.slow, split.fast_matched, split.fast), (97, 98, 0, 401));
    assert!(split.p < 1e-6 && found[0].is_significant());
    assert!(found[0].correlation.expect("values differ").rho < 0.0);
}

/// Threshold by hand: slow at 5 and 9, fast at 1, 2 and 7. Above 2: both slow ones, one fast: J = 1 - 1/3. Above 7:
/// 1/2 - 0. Below 2, 5, 7, 9: never more slow than fast.
#[test]
fn the_best_threshold_by_hand() {
    let pairs = [(1.0, 1), (2.0, 2), (5.0, 100), (7.0, 3), (9.0, 101)];
    let split = best_split(&pairs, 50).expect("both kinds");
    assert_eq!((split.side, split.threshold.as_f64()), (Side::Above, 2.0));
    assert_eq!((split.slow_matched, split.slow, split.fast_matched, split.fast), (2, 2, 1, 3));
    assert!((split.separation() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(best_split(&pairs, 1000), None, "nothing is slow");
    assert_eq!(best_split(&[(1.0, 1), (1.0, 100)], 50), None, "one value separates nothing");
}

/// 40 counters of noise: without the correction two of them would look significant at 5 %.
#[test]
fn of_many_counters_chance_makes_none_significant() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 40).expect("24 bits"))
    };
    let names: Vec<String> = (0..40).map(|n| format!("c{n}")).collect();
    let intervals: Vec<Interval> = (0..300)
        .map(|id| {
            let values: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), random())).collect();
            let duration = if id % 10 == 0 { 100_000 } else { 1_000 + id };
            interval(id, "x", duration, &values)
        })
        .collect();
    let found = counters(&intervals);
    assert_eq!(found.len(), 40);
    assert_eq!(found.iter().filter(|counter| counter.is_significant()).count(), 0);
}

#[test]
fn labels_are_looked_at_apart_and_values_once() {
    let intervals = [
        interval(0, "a", 10, &[("n", 1.0), ("n", 7.0), ("bad", f64::NAN)]),
        interval(1, "b", 20, &[("n", 2.0)]),
        interval(2, "a", 30, &[("n", 3.0)]),
    ];
    let found = counters(&intervals);
    let names: Vec<(&str, &str, u64)> =
        found.iter().map(|counter| (&*counter.label, &*counter.name, counter.count)).collect();
    assert_eq!(names, [("a", "n", 2), ("b", "n", 1)]);
    assert_eq!(found[0].correlation.map(|correlation| correlation.rho), Some(1.0));
    assert_eq!(found[1].correlation, None);
}

prop_compose! {
    fn some_pairs()(pairs in prop::collection::vec((-50i32..50, 1u64..2_000), 0..60)) -> Vec<(f64, u64)> {
        pairs.into_iter().map(|(value, duration)| (f64::from(value), duration)).collect()
    }
}

proptest! {
    /// The order of the intervals is no matter, to the last bit; upside down only the sign changes.
    #[test]
    fn order_does_not_matter(pairs in some_pairs(), turn in 0usize..60, slow_from in 0u64..2_000) {
        let mut turned = pairs.clone();
        if !turned.is_empty() {
            turned.rotate_left(turn % pairs.len());
        }
        prop_assert_eq!(correlation(&turned), correlation(&pairs));
        prop_assert_eq!(best_split(&turned, slow_from), best_split(&pairs, slow_from));
        let upside_down: Vec<(f64, u64)> = pairs.iter().map(|&(value, duration)| (-value, duration)).collect();
        let rho = |pairs: &[(f64, u64)]| correlation(pairs).map(|found| found.rho);
        prop_assert_eq!(rho(&upside_down).map(|rho| -rho), rho(&pairs));
    }

    /// No threshold that occurs beats the one that is found, by plain counting.
    #[test]
    fn no_threshold_is_better(pairs in some_pairs(), slow_from in 0u64..2_000) {
        let Some(split) = best_split(&pairs, slow_from) else { return Ok(()) };
        let number = |count: usize| f64::from(u32::try_from(count).expect("few pairs"));
        let share = |matches: &dyn Fn(f64) -> bool, slow: bool| {
            let of_kind = pairs.iter().filter(|pair| (pair.1 > slow_from) == slow);
            let all = number(of_kind.clone().count());
            number(of_kind.filter(|pair| matches(pair.0)).count()) / all
        };
        let separation = |matches: &dyn Fn(f64) -> bool| share(matches, true) - share(matches, false);
        for &(border, _) in &pairs {
            prop_assert!(separation(&|value| value < border) <= split.separation() + 1e-12);
            prop_assert!(separation(&|value| value > border) <= split.separation() + 1e-12);
        }
        let own = |value: f64| match split.side {
            Side::Below => value < split.threshold.as_f64(),
            Side::Above => value > split.threshold.as_f64(),
        };
        prop_assert!((separation(&own) - split.separation()).abs() < 1e-12);
    }

    /// Confidence holds the coefficient, p is a probability.
    #[test]
    fn figures_stay_in_their_bounds(pairs in some_pairs()) {
        let Some(found) = correlation(&pairs) else { return Ok(()) };
        prop_assert!((-1.0..=1.0).contains(&found.rho));
        if let Some((low, high)) = found.confidence {
            prop_assert!(low <= found.rho + 1e-9 && found.rho <= high + 1e-9 && low >= -1.0 && high <= 1.0);
            prop_assert!(found.p.is_some_and(|p| (0.0..=1.0).contains(&p)));
        }
    }
}
