use super::*;

#[test]
fn counts_are_grouped_by_thousands() {
    let all = [0, 999, 1000, 704_268, 2_000_000, u64::MAX].map(grouped);
    assert_eq!(all, ["0", "999", "1,000", "704,268", "2,000,000", "18,446,744,073,709,551,615"]);
}

const NS: TimeUnit = TimeUnit::Nanoseconds;

#[test]
fn lengths_have_three_or_four_digits() {
    for (nanoseconds, expected) in [
        (0, "0 ns"),
        (1, "1 ns"),
        (45, "45 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (1_234, "1.23 us"),
        (1_235, "1.24 us"),
        (9_994, "9.99 us"),
        (9_995, "10.0 us"),
        (16_300, "16.3 us"),
        (412_300, "412.3 us"),
        (999_949, "999.9 us"),
        (999_950, "1.00 ms"),
        (999_960, "1.00 ms"),
        (1_000_000, "1.00 ms"),
        (200_025_000, "200.0 ms"),
        (999_949_999, "999.9 ms"),
        (999_950_000, "1.00 s"),
        (12_345_678_901, "12.3 s"),
        (u64::MAX, "18446744073.7 s"),
    ] {
        assert_eq!(length(nanoseconds, NS), expected, "{nanoseconds}");
    }
}

/// Offsets of an interval of 44 ms, by hand: the fewest decimals with which the two nearest differ.
#[test]
fn times_show_the_digits_that_distinguish_them() {
    for (times, expected) in [
        (vec![44_012_345, 44_012_346], vec!["44.012345 ms", "44.012346 ms"]),
        (vec![44_012_345, 44_012_400], vec!["44.0123 ms", "44.0124 ms"]),
        (vec![0, 44_000_000, 44_100_000], vec!["0 ns", "44.0 ms", "44.1 ms"]),
        // Equal ones need not differ.
        (vec![44_012_345, 44_012_345], vec!["44.0 ms", "44.0 ms"]),
        (vec![1_234_567, 1_234_568, 999], vec!["1.234567 ms", "1.234568 ms", "999 ns"]),
        (vec![9_999, 10_001], vec!["9.999 us", "10.00 us"]),
        (vec![u64::MAX - 1, u64::MAX], vec!["18446744073.70955161 s", "18446744073.70955162 s"]),
    ] {
        let digits = Digits::of(times.iter().copied(), NS);
        let shown: Vec<String> = times.iter().map(|&time| digits.show(time)).collect();
        assert_eq!(shown, expected);
    }
    assert_eq!(Digits::of([7, 8], TimeUnit::Ticks).show(7), "7 ticks");
}

proptest::proptest! {
    #[test]
    fn different_times_look_different(times in proptest::collection::vec(proptest::num::u64::ANY, 0..20), gap in 0u64..50) {
        let near = times.iter().map(|time| time.saturating_add(gap));
        let mut all: Vec<u64> = times.iter().copied().chain(near).collect();
        all.sort_unstable();
        all.dedup();
        let digits = Digits::of(all.iter().copied(), NS);
        let shown: std::collections::BTreeSet<String> = all.iter().map(|&time| digits.show(time)).collect();
        proptest::prop_assert_eq!(shown.len(), all.len());
    }
}

#[test]
fn ticks_are_never_scaled() {
    assert_eq!(length(123_456, TimeUnit::Ticks), "123456 ticks");
    assert_eq!(microseconds(123_456, TimeUnit::Ticks), "123456");
}

#[test]
fn signs() {
    assert_eq!(signed_length(389_100, NS), "+389.1 us");
    assert_eq!(signed_length(-20, NS), "-20 ns");
    assert_eq!(signed_length(0, NS), "0 ns");
    assert_eq!(signed_length(i64::MIN, NS), "-9223372036.9 s");
}

#[test]
fn microseconds_keep_every_nanosecond() {
    assert_eq!(microseconds(45, NS), "0.045");
    assert_eq!(microseconds(852_247_954, NS), "852247.954");
}

#[test]
fn sizes_and_rates() {
    for (value, expected) in [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (18_874_368, "18.0 MiB"),
        (1_048_575, "1.0 MiB"),
        (10_737_418_240, "10.0 GiB"),
        (u64::MAX, "16384 PiB"),
    ] {
        assert_eq!(bytes(value), expected, "{value}");
    }
    assert_eq!(hertz(2_599_988_001), "2.600 GHz");
    assert_eq!(hertz(24_000_000), "24.000 MHz");
    assert_eq!(hertz(999_999_999), "1.000 GHz");
}

#[test]
fn percentages_do_not_round_to_nothing_or_all() {
    for (part, whole, expected) in [
        (0, 100, "0 %"),
        (1, 1_000, "<1 %"),
        (5, 1_000, "1 %"),
        (944, 1_000, "94 %"),
        (999, 1_000, ">99 %"),
        (1_000, 1_000, "100 %"),
        (1, 0, "-"),
    ] {
        assert_eq!(percentage(part, whole), expected);
    }
}

#[test]
fn counts_have_a_plural() {
    assert_eq!(counted(1, "interval"), "1 interval");
    assert_eq!(counted(0, "interval"), "0 intervals");
}
