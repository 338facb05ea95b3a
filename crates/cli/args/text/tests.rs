use super::*;

#[test]
fn durations_are_exact() {
    for (text, ns) in
        [("10us", 10_000), ("1.5ms", 1_500_000), ("800ns", 800), ("2s", 2_000_000_000), (".5us", 500)]
    {
        assert_eq!(duration_ns(text).ok(), Some(ns), "{text}");
    }
    for text in ["", "us", "1.2.3us", "-1us", "1h", "7", "1.5", "99999999999s"] {
        assert!(duration_ns(text).is_err(), "{text}");
    }
}

#[test]
fn a_number_without_a_unit_is_shown_with_units() {
    let error = duration_ns("10").expect_err("no unit").to_string();
    assert_eq!(error, "'10' has no unit, and is no duration: write 10ns, 10us, 10ms or 10s");
}

#[test]
fn percentiles_are_read_as_people_write_them() {
    for (text, expected) in [("99", 99.0), ("99.9", 99.9), ("p99.9", 99.9), ("P50", 50.0), ("p99,9", 99.9)] {
        assert_eq!(percentile(text), Ok(expected), "{text}");
    }
    for text in ["", "p", "median", "99.9.9", "pp99", "99 %"] {
        assert!(percentile(text).is_err(), "{text}");
    }
}

#[test]
fn cpu_lists_are_perfs() {
    assert_eq!(cpus(Some("0,2-3")).ok(), Some(vec![Cpu(0), Cpu(2), Cpu(3)]));
    for text in ["x", "3-1", "0-99999999", "1-"] {
        assert!(cpus(Some(text)).is_err(), "{text}");
    }
}
