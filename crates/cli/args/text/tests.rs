use super::*;

#[test]
fn durations_are_exact() {
    for (text, ns) in [
        ("10us", 10_000),
        ("1.5ms", 1_500_000),
        ("800ns", 800),
        ("2s", 2_000_000_000),
        ("7", 7),
        (".5us", 500),
    ] {
        assert_eq!(duration_ns(text).ok(), Some(ns), "{text}");
    }
    for text in ["", "us", "1.2.3us", "-1us", "1h", "99999999999s"] {
        assert!(duration_ns(text).is_err(), "{text}");
    }
}

#[test]
fn cpu_lists_are_perfs() {
    assert_eq!(cpus(Some("0,2-3")).ok(), Some(vec![Cpu(0), Cpu(2), Cpu(3)]));
    for text in ["x", "3-1", "0-99999999", "1-"] {
        assert!(cpus(Some(text)).is_err(), "{text}");
    }
}
