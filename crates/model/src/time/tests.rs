//! Conversion between the clocks, by hand and by properties.

use super::*;
use proptest::prelude::*;

/// The numbers of a real 2.6 GHz guest; the expected values are worked out by hand:
/// 1443401205 * 825959061 >> 31 = 555156871; plus zero (2^64 - 36254312) = 518902559.
#[test]
fn converts_with_a_negative_zero() {
    let conversion = TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304).expect("usable");
    assert_eq!(conversion.to_perf_time(Tsc(1_443_401_205)), PerfTime(518_902_559));
    assert_eq!(conversion.tsc_hz(), 2_599_988_001);
}

#[test]
fn refuses_what_is_no_conversion() {
    assert_eq!(TimeConversion::new(31, 0, 1), None);
    assert_eq!(TimeConversion::new(64, 1, 1), None);
}

#[test]
fn perf_time_prints_as_perf_script_takes_it() {
    assert_eq!(PerfTime(7_002_363_887_524_638).to_string(), "7002363.887524638");
}

/// A guest's counter starts before its perf clock: by hand, 94 262 000 ticks of 2.6 GHz are 36 254 782 ns, 470 more than the
/// clock's zero lies after the counter's.
#[test]
fn readings_beyond_the_perf_clock_keep_their_order() {
    let conversion = TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304).expect("usable");
    let times = [0, 90_000_000, 94_262_000, u64::MAX].map(|tsc| conversion.to_perf_time(Tsc(tsc)));
    assert_eq!(times[..3], [PerfTime(0), PerfTime(0), PerfTime(470)]);
    assert!(times[3] > PerfTime(7_000_000_000_000_000_000), "{:?}", times[3]);
    // At half a GHz the last readings lie beyond 64 bits of nanoseconds.
    let slow = TimeConversion::new(0, 2, 0).expect("usable");
    assert_eq!(slow.to_perf_time(Tsc(u64::MAX)), PerfTime(u64::MAX));
    assert_eq!(slow.duration_ns(TscRange::new(Tsc(5), Tsc(u64::MAX))), u64::MAX - 10);
}

proptest! {
    #[test]
    fn a_later_reading_has_no_earlier_time(
        shift in 0u16..64, mult in 1u32.., zero in any::<u64>(), a in any::<u64>(), b in any::<u64>()
    ) {
        let conversion = TimeConversion::new(shift, mult, zero).expect("usable");
        let (first, last) = (Tsc(a.min(b)), Tsc(a.max(b)));
        prop_assert!(conversion.to_perf_time(first) <= conversion.to_perf_time(last));
        prop_assert!(conversion.to_tsc(PerfTime(first.0)) <= conversion.to_tsc(PerfTime(last.0)));
    }

    #[test]
    fn to_tsc_is_the_first_reading_of_its_nanosecond(
        mult in 100_000_000u32..4_000_000_000, zero in any::<u64>(), tsc in 1u64..(1 << 56)
    ) {
        let conversion = TimeConversion::new(31, mult, zero).expect("usable");
        let time = conversion.to_perf_time(Tsc(tsc));
        let back = conversion.to_tsc(time);
        // Readings before the perf clock's zero all have its first time.
        if back.0 != 0 && time.0 != 0 {
            prop_assert!(back.0 <= tsc);
            prop_assert_eq!(conversion.to_perf_time(back), time);
            prop_assert!(conversion.to_perf_time(Tsc(back.0 - 1)) != time);
        }
    }

    #[test]
    fn durations_of_neighbours_add_up(a in 0u64..1 << 50, b in 0u64..1 << 40, c in 0u64..1 << 40) {
        let conversion = TimeConversion::new(31, 825_959_061, 0).expect("usable");
        let (first, second) = (TscRange::new(Tsc(a), Tsc(a + b)), TscRange::new(Tsc(a + b), Tsc(a + b + c)));
        let both = TscRange::new(first.start, second.stop);
        prop_assert_eq!(
            conversion.duration_ns(first) + conversion.duration_ns(second),
            conversion.duration_ns(both)
        );
    }
}
