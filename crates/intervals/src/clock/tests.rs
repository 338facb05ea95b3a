//! Joining clocks. The figures are worked out by hand.

use super::*;

fn pair(clock: Clock, tsc: u64, ns: u64) -> ClockPair {
    ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 10 }
}

fn clocks(pairs: &[(u64, u64)]) -> Clocks {
    let pairs = pairs.iter().map(|&(tsc, ns)| pair(Clock::Monotonic, tsc, ns)).collect();
    Clocks { conversion: None, pairs }
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
        conversion: None,
        pairs: vec![pair(Clock::MonotonicRaw, 0, 0), pair(Clock::MonotonicRaw, 260_000_000, 100_000_000)],
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
        Clocks { conversion: None, pairs: vec![pair(Clock::Realtime, 1, 1), pair(Clock::Realtime, 2, 2)] };
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
