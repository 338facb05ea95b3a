//! Bins, and modes where there are two, and none where there are not.

use super::*;
use proptest::prelude::*;

fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

/// `count` durations around `center`, `spread` to each side, from a fixed linear congruence.
fn around(center: u64, spread: u64, count: usize) -> Vec<u64> {
    let mut state = 12345u64;
    let mut one = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Two draws added: a triangle, not a plateau.
        center - spread + ((state >> 33) % (spread + 1)) + ((state >> 13) % (spread + 1))
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn bins_cover_everything_once() {
    let values = sorted(vec![1, 1, 2, 3, 100, 1_000_000]);
    let bins = Histogram::of(&values).bins;
    assert_eq!(bins.first().expect("a bin").from, 1);
    assert!(bins.last().expect("a bin").to > 1_000_000);
    assert!(bins.windows(2).all(|two| two[0].to == two[1].from));
    assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 6);
    assert_eq!(Histogram::of(&[]).bins, []);
}

/// By hand: sixteen bins for each doubling from the shortest of either, 100; 2^(1/16) is 1.0443, 2^(15/16) is 1.915.
#[test]
fn two_populations_have_the_same_bins() {
    let [a, b] = Histogram::of_both(&[100, 104, 105, 191], &[192, 199, 200]);
    assert_eq!(a.bins.len(), 17);
    assert!(a.bins.iter().zip(&b.bins).all(|(a, b)| (a.from, a.to) == (b.from, b.to)));
    let counts =
        |one: &Histogram, from| one.bins.iter().find(|bin| bin.from == from).map(|bin| (bin.to, bin.count));
    assert_eq!((counts(&a, 100), counts(&a, 105)), (Some((105, 2)), Some((110, 1))));
    assert_eq!((counts(&a, 184), counts(&a, 192)), (Some((192, 1)), Some((200, 0))));
    assert_eq!((counts(&b, 192), counts(&b, 200)), (Some((200, 2)), Some((209, 1))));
    assert_eq!([&a, &b].map(|one| one.bins.iter().map(|bin| bin.count).sum::<u64>()), [4, 3]);
    assert_eq!(Histogram::of_both(&[], &[1]), [Histogram::default(), Histogram::default()]);
    assert_eq!(Histogram::of_both(&[1], &[]), [Histogram::default(), Histogram::default()]);
}

/// The waits of tcp-synchronization: 937 us and 200 ms.
#[test]
fn finds_the_seeds_two_kinds_of_waits() {
    let mut values = around(937_000, 90_000, 900);
    values.extend(around(200_000_000, 9_000_000, 100));
    let modes = TwoModes::find(&sorted(values)).expect("two modes");
    assert_eq!((modes.fast.count, modes.slow.count), (900, 100));
    assert!(modes.threshold > 1_100_000 && modes.threshold < 190_000_000);
    assert!((modes.fast.mean - 937_000.0).abs() < 10_000.0);
    assert!((modes.slow.mean - 200_000_000.0).abs() < 2_000_000.0);
}

#[test]
fn finds_two_constant_durations() {
    let mut values = vec![1_000; 50];
    values.extend([5_000; 50]);
    let modes = TwoModes::find(&values).expect("two modes");
    assert_eq!((modes.fast.count, modes.slow.count), (50, 50));
}

#[test]
fn one_mode_is_not_two() {
    assert_eq!(TwoModes::find(&[]), None);
    assert_eq!(TwoModes::find(&[5; 1000]), None);
    assert_eq!(TwoModes::find(&sorted(around(100_000, 30_000, 5000))), None);
    // A long tail: 1/x from 10 us to 10 ms.
    let tail: Vec<u64> = (1..=1000).map(|x| 10_000_000 / x).collect();
    assert_eq!(TwoModes::find(&sorted(tail)), None);
}

#[test]
fn few_slow_ones_are_outliers_not_a_mode() {
    let mut values = around(16_000, 2_000, 5000);
    values.extend([400_000; 7]);
    assert_eq!(TwoModes::find(&sorted(values)), None);
}

#[test]
fn the_teeth_of_a_coarse_clock_are_no_modes() {
    let values: Vec<u64> = [20, 30, 40, 50].into_iter().flat_map(|value| [value; 200]).collect();
    assert_eq!(TwoModes::find(&values), None);
}

proptest! {
    #[test]
    fn any_durations_are_counted_and_split_in_order(values in prop::collection::vec(any::<u64>(), 0..300)) {
        let values = sorted(values);
        let bins = Histogram::of(&values).bins;
        prop_assert!(bins.len() <= MOST_BINS + 1);
        for bin in &bins {
            let inside = values.iter().filter(|&&value| bin.from <= value && value < bin.to).count() as u64;
            // The last bin ends at u64::MAX where nothing longer can be written: that value is in it all the same.
            let at_end = values.iter().filter(|&&value| value == u64::MAX && bin.to == u64::MAX).count() as u64;
            prop_assert!(bin.count == inside || bin.count == inside + at_end);
        }
        if let Some(modes) = TwoModes::find(&values) {
            prop_assert_eq!(modes.fast.count + modes.slow.count, values.len() as u64);
            prop_assert!(modes.fast.mean < modes.slow.mean);
        }
    }
}

/// Ticks of an interval from the counter's zero to its end.
#[test]
fn the_longest_duration_there_can_be_is_counted() {
    let counted = |sorted: &[u64]| Histogram::of(sorted).bins.iter().map(|bin| bin.count).sum::<u64>();
    assert_eq!(counted(&[0, 1_000, u64::MAX]), 3);
    assert_eq!(counted(&[u64::MAX]), 1);
    assert_eq!(counted(&[u64::MAX - 1, u64::MAX]), 2);
}
