use super::*;

fn bin(from_ns: u64, to_ns: u64, a: u64, b: u64) -> SharedBin {
    SharedBin { from_ns, to_ns, a, b }
}

/// The y of each step of a path: `V18.45H1000.0`.
fn steps(drawn: &str, side: &str) -> Vec<f64> {
    let path = drawn
        .split(&format!("class=\"{side}\" d=\""))
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a path");
    let y = |step: &str| step.split('H').next().and_then(|y| y.parse().ok());
    path.split('V').skip(1).filter_map(y).collect()
}

/// By hand: bins as narrow as 4 %, in which nearly all lie. Of A's 1000 are 900 in the first (90 %), 100 in the second (10 %), of
/// B's 50 all in the second: 100 %, the top. Shares per doubling were 1440 % and 160 %.
#[test]
fn a_height_is_a_share_of_the_intervals() {
    let drawn = overlay(&[bin(1000, 1044, 900, 0), bin(1044, 1090, 100, 50)], TimeUnit::Nanoseconds);
    // From half of 10 % to 100 %: 136 of the 140 are ln 20.
    let y = |share: f64| 140.0 - 136.0 * (share / 0.05).ln() / 20_f64.ln();
    let near = |found: Vec<f64>, wanted: [f64; 2]| {
        assert!(
            found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 0.01),
            "{found:?} {wanted:?}"
        );
    };
    near(steps(&drawn, "side-a"), [y(0.9), y(0.1)]);
    near(steps(&drawn, "side-b"), [140.0, 4.0]);
    assert!(drawn.contains(">100 %<") && drawn.contains(">10 %<") && !drawn.contains("000 %<"), "{drawn}");
    assert!(
        drawn.contains("share of a capture's intervals in each bin, a bin reaching to 1.04 times its begin"),
        "{drawn}"
    );
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
    let drawn = overlay(&[bin(0, 0, 0, 0), bin(0, 9, 0, 0)], TimeUnit::Nanoseconds);
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
}
