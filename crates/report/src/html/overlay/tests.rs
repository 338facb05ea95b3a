use super::*;

fn bin(from_ns: u64, to_ns: u64, count: u64) -> Bin {
    Bin { from_ns, to_ns, count }
}

/// By hand: 900 of 1000 in one doubling, 100 in two.
#[test]
fn shares_are_per_doubling() {
    let shares: Vec<f64> = densities(&[bin(10, 20, 900), bin(20, 80, 100)]).collect();
    assert!((shares[0] - 0.9).abs() < 1e-9 && (shares[1] - 0.05).abs() < 1e-9, "{shares:?}");
}

/// One of a million stays visible: half of the smallest share is the bottom.
#[test]
fn the_rarest_is_visible() {
    let heights = Heights::of([1.0, 1e-6, 0.0].into_iter());
    assert!((heights.y(1.0) - 4.0).abs() < 1e-9);
    assert!((heights.y(0.0) - HIGH).abs() < 1e-9);
    // ln 2 of ln 2e6 of 136.
    assert!((heights.y(1e-6) - (HIGH - 136.0 * 2_f64.ln() / 2e6_f64.ln())).abs() < 1e-9);
    let rules = heights.rules();
    for label in [">100 %<", ">10 %<", ">1 %<", ">0.1 %<", ">0.01 %<", ">0.001 %<", ">0.0001 %<"] {
        assert!(rules.contains(label), "{label} in {rules}");
    }
    assert!(!rules.contains(">1000 %<"));
}

/// Nothing in either: no figure that is no number.
#[test]
fn empty_bins_are_drawn_at_the_bottom() {
    let drawn = overlay(&[bin(0, 0, 0)], &[bin(5, 9, 0)], TimeUnit::Nanoseconds);
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
}
