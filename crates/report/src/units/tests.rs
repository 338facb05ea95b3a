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
