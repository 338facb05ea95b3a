use proptest::prelude::*;

use super::*;

fn range(start: u64, stop: u64) -> TscRange {
    TscRange::new(Tsc(start), Tsc(stop))
}

#[test]
fn takes_the_best_the_capture_allows() {
    let conversion = TimeConversion::new(31, 825_959_061, 0);
    assert!(matches!(Timebase::new(conversion, Some(1)), Timebase::Perf(_)));
    assert_eq!(Timebase::new(None, Some(2_600_000_000)), Timebase::Hertz(2_600_000_000));
    assert_eq!(Timebase::new(None, Some(0)), Timebase::Ticks);
    assert_eq!(Timebase::new(None, None).unit(), TimeUnit::Ticks);
}

/// At 2 GHz two ticks are a nanosecond; at 3 GHz the first of three adjacent ones gets 0, by the edges 0, 1, 2, 3.
#[test]
fn converts_by_frequency() {
    assert_eq!(Timebase::Hertz(2_000_000_000).duration(range(1_000, 3_000)), 1_000);
    let at_3_ghz: Vec<u64> =
        (0..3).map(|at| Timebase::Hertz(3_000_000_000).duration(range(at, at + 1))).collect();
    assert_eq!(at_3_ghz, [0, 0, 1]);
    assert_eq!(Timebase::Ticks.duration(range(5, 9)), 4);
    assert_eq!(Timebase::Hertz(1).duration(range(0, u64::MAX)), u64::MAX);
}

proptest! {
    #[test]
    fn neighbours_add_up(hertz in 1u64..10_000_000_000, a in 0u64..1 << 60, b in 0u64..1 << 40, c in 0u64..1 << 40) {
        for timebase in [Timebase::Hertz(hertz), Timebase::Ticks] {
            prop_assert_eq!(
                timebase.duration(range(a, a + b)) + timebase.duration(range(a + b, a + b + c)),
                timebase.duration(range(a, a + b + c))
            );
        }
    }
}
