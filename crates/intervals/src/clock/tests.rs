//! Joining clocks. The figures are worked out by hand.

use super::*;

fn pair(clock: Clock, tsc: u64, ns: u64) -> ClockPair {
    ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 10 }
}

fn clocks(pairs: &[(u64, u64)]) -> Clocks {
    let pairs = pairs.iter().map(|&(tsc, ns)| pair(Clock::Monotonic, tsc, ns)).collect();
    Clocks { pairs, ..Clocks::default() }
}

#[test]
fn interpolates_between_pairs_and_never_outside() {
    let join = clocks(&[(5_000, 2_000), (1_000, 1_000), (9_000, 4_000)])
        .join(Clock::Monotonic)
        .expect("three pairs");
    assert_eq!(join.tsc(1_000), Some(Tsc(1_000)));
    assert_eq!(join.tsc(1_500), Some(Tsc(3_000)));
    assert_eq!(join.tsc(2_000), Some(Tsc(5_000)));
    assert_eq!(join.tsc(3_000), Some(Tsc(7_000)));
    assert_eq!(join.tsc(4_000), Some(Tsc(9_000)));
    assert_eq!((join.tsc(999), join.tsc(4_001)), (None, None));
    assert_eq!(join.limits(), Some((1_000, 4_000)));
}

#[test]
fn states_the_bound_between_pairs() {
    // 100 ms between pairs: 100e6 ns * 500e-6 / 2 = 25 us, and 10 ns of reading, and one for rounding.
    let join = clocks(&[(0, 0), (260_000_000, 100_000_000)]).join(Clock::Monotonic).expect("two pairs");
    assert_eq!(join.bound_ns(), 25_011);
    let raw = Clocks {
        pairs: vec![pair(Clock::MonotonicRaw, 0, 0), pair(Clock::MonotonicRaw, 260_000_000, 100_000_000)],
        ..Clocks::default()
    };
    assert_eq!(raw.join(Clock::MonotonicRaw).expect("two pairs").bound_ns(), 10);
    assert_eq!(Clocks::default().join(Clock::Tsc).expect("itself").bound_ns(), 0);
}

#[test]
fn refuses_to_guess() {
    let refusal = |clocks: &Clocks| clocks.join(Clock::Monotonic).expect_err("not joined").to_string();
    assert!(refusal(&clocks(&[])).contains("0 {tsc, clock} pairs are known"));
    assert!(refusal(&clocks(&[(1, 1)])).contains("1 {tsc, clock} pair is known"));
    assert!(refusal(&clocks(&[(1, 1), (1, 1)])).contains("1 {tsc, clock} pair is known"));
    assert!(refusal(&clocks(&[(1, 9), (2, 3)])).contains("backwards"));
    assert!(refusal(&clocks(&[(1, 9), (1, 10)])).contains("backwards"));
    let other =
        Clocks { pairs: vec![pair(Clock::Realtime, 1, 1), pair(Clock::Realtime, 2, 2)], ..Clocks::default() };
    assert!(refusal(&other).contains("CLOCK_MONOTONIC"));
}

#[test]
fn refuses_a_clock_that_was_set() {
    // 1 tick = 1 ns.
    let conversion = TimeConversion::new(0, 1, 0);
    let of = |ns| Clocks { conversion, ..clocks(&[(0, 0), (1_000_000_000, ns)]) };
    assert!(of(1_000_400_000).join(Clock::Monotonic).is_ok());
    assert!(of(1_002_000_000).join(Clock::Monotonic).expect_err("set").to_string().contains("500 ppm"));
    assert!(of(998_000_000).join(Clock::Monotonic).is_err());
}

#[test]
fn extreme_pairs_do_not_overflow() {
    let join = clocks(&[(0, 0), (u64::MAX, u64::MAX)]).join(Clock::Monotonic).expect("two pairs");
    assert_eq!(join.tsc(u64::MAX), Some(Tsc(u64::MAX)));
    assert_eq!(join.tsc(u64::MAX - 1), Some(Tsc(u64::MAX - 1)));
    assert!(join.bound_ns() > 0);
}

#[test]
fn names() {
    for (name, clock) in [
        ("tsc", Clock::Tsc),
        ("RDTSC", Clock::Tsc),
        ("CLOCK_MONOTONIC_RAW", Clock::MonotonicRaw),
        ("monotonic-raw", Clock::MonotonicRaw),
        ("UTC", Clock::Realtime),
        ("perf", Clock::Perf),
    ] {
        assert_eq!(name.parse::<Clock>().expect("known"), clock);
    }
    assert!("cycles".parse::<Clock>().is_err());
}

/// By hand: 2,600 ticks are 1,000 ns, and the TSC reads 26,000 where the clock reads 5,000.
#[test]
fn a_line_goes_through_the_pairs() {
    let on_line = |second: u64| (26_000 + second * 2_600_000_000, 5_000 + second * 1_000_000_000);
    let clocks = clocks(&[0, 1, 2, 3, 4, 5, 6, 7].map(on_line));
    let line = clocks.line(Clock::Monotonic).expect("a line");
    assert_eq!((line.pairs, line.conversion.tsc_hz()), (8, 2_600_000_000));
    for second in [0, 3, 7, 60] {
        let (tsc, ns) = on_line(second);
        let at = line.conversion.to_perf_time(Tsc(tsc)).0;
        assert!(at.abs_diff(ns) <= 16, "{second} s: {at} and not {ns}");
    }
    // The reading error of the pairs, and the rounding.
    assert!((10..=12).contains(&line.bound_ns), "{line:?}");
}

#[test]
fn a_clock_that_was_slewed_or_set_is_no_line() {
    let refusal = |clocks: &Clocks| clocks.line(Clock::Monotonic).expect_err("no line").to_string();
    let slewed = clocks(&[(0, 0), (2_600_000_000, 1_000_100_000), (5_200_000_000, 2_000_000_000)]);
    assert!(refusal(&slewed).contains("set or slewed"), "{}", refusal(&slewed));
    assert!(refusal(&clocks(&[(5, 5)])).contains("1 {tsc, clock} pair is known"));
    assert!(refusal(&clocks(&[(5, 9), (6, 4)])).contains("backwards"));
    assert!(refusal(&clocks(&[(0, 0), (1, u64::MAX)])).contains("no rate"));
    // A counter slower than a nanosecond's clock is none that 32 bits of slope cannot hold.
    assert!(clocks(&[(0, 0), (u64::MAX, 1_000_000_000)]).line(Clock::Monotonic).is_ok());
}

/// Of the first and the last quarter the pair with the smallest reading error carries the line.
#[test]
fn a_pair_that_was_read_badly_carries_no_line() {
    let mut clocks =
        clocks(&[0, 1, 2, 3, 4, 5, 6, 7].map(|second| (second * 1_000_000_000, 1 + second * 1_000_000_000)));
    clocks.pairs[0] = ClockPair { ns: 9_001, error_ns: 9_500, ..clocks.pairs[0] };
    let line = clocks.line(Clock::Monotonic).expect("a line");
    assert_eq!(line.conversion.to_perf_time(Tsc(0)), PerfTime(1));
    assert!(line.bound_ns <= 11, "{line:?}");
}

/// Marks in the clock of the records need no pairs.
#[test]
fn the_records_own_clock_is_joined_by_their_conversion() {
    let conversion = TimeConversion::new(1, 1, 7);
    let clocks = Clocks { conversion, of_records: Some(Clock::MonotonicRaw), ..Clocks::default() };
    assert_eq!(clocks.join(Clock::MonotonicRaw).expect("joined").tsc(17), Some(Tsc(20)));
    assert!(clocks.join(Clock::Monotonic).is_err());
}

#[test]
fn times_outside_of_the_pairs_lie_on_the_line_through_them() {
    let pair = |tsc, ns| ClockPair { clock: Clock::Monotonic, tsc: Tsc(tsc), ns, error_ns: 0 };
    let clocks = Clocks { pairs: vec![pair(3_000, 1_000), pair(6_000, 2_000)], ..Clocks::default() };
    let join = clocks.join(Clock::Monotonic).expect("joined");
    assert_eq!([500, 1_000, 1_500, 3_000].map(|ns| join.nearest(ns).0), [1_500, 3_000, 4_500, 9_000]);
    assert_eq!([join.tsc(500), join.tsc(3_000)], [None, None]);
    // No reading below zero or above what a counter holds.
    let late = Clocks { pairs: vec![pair(3, 1_000), pair(u64::MAX, 1_001)], ..Clocks::default() };
    let join = late.join(Clock::Monotonic).expect("joined");
    assert_eq!([0, u64::MAX].map(|ns| join.nearest(ns).0), [0, u64::MAX]);
}
