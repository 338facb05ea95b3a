//! Calculated by hand; the larger example is a textbook's.

use super::*;

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() < within, "{found} is not {expected}");
}

/// A = 1, 2, 4; B = 3, 5, 6. Pairs in which B is longer: 3 beats 1 and 2; 5 and 6 beat all three: 8 of 9. Without ties the
/// variance is 3·3·7/12 = 5.25; z = (8 - 4.5 - 0.5) / 2.2913 = 1.3093; two-sided p = 0.1904.
#[test]
fn without_ties() {
    let change = Change::between(&[4, 1, 2], &[6, 3, 5]).expect("both hold something");
    close(change.u, 8.0, 1e-12);
    close(change.b_longer, 8.0 / 9.0, 1e-12);
    close(change.z, 1.309_307, 1e-6);
    close(change.p, 0.190_430, 1e-5);
}

/// A = 1, 2, 2; B = 2, 3. The 2 of B beats the 1 and ties twice: 1 + 2/2 = 2; the 3 beats three: U = 5 of 6. Ties: three
/// twos, 27 - 3 = 24; variance = 6/12 · (6 - 24/20) = 2.4; z = (5 - 3 - 0.5) / 1.549193 = 0.968246.
#[test]
fn ties_make_the_variance_smaller() {
    let change = Change::between(&[1, 2, 2], &[2, 3]).expect("both hold something");
    close(change.u, 5.0, 1e-12);
    close(change.z, 0.968_246, 1e-6);
}

/// Swapping the two turns the sign and leaves p.
#[test]
fn the_other_way_round() {
    let (a, b) = ([10, 20, 20, 30, 50], [20, 40, 60, 70]);
    let (there, back) = (Change::between(&a, &b).expect("change"), Change::between(&b, &a).expect("change"));
    close(there.u + back.u, 20.0, 1e-12);
    close(there.z, -back.z, 1e-12);
    close(there.p, back.p, 1e-12);
}

#[test]
fn all_alike_is_no_change() {
    let change = Change::between(&[7; 20], &[7; 30]).expect("both hold something");
    assert_eq!((change.z, change.p, change.b_longer), (0.0, 1.0, 0.5));
    assert_eq!(change.quantiles[0].confidence, Some((0, 0)));
    assert_eq!(Change::between(&[], &[1]), None);
}

/// The highest of 100 values is above the 99th percentile with 1 - 0.99^100 = 63 % only.
#[test]
fn too_few_for_a_high_percentile() {
    let a: Vec<u64> = (0..100).collect();
    let b: Vec<u64> = (0..100).map(|value| value + 1000).collect();
    let change = Change::between(&a, &b).expect("change");
    let p99 = change.quantiles.iter().find(|one| (one.percent - 99.0).abs() < 0.1).expect("p99");
    assert_eq!((p99.a, p99.b, p99.confidence), (98, 1098, None));
    // The median moved by 1000, and the interval says so.
    let (low, high) = change.quantiles[0].confidence.expect("enough for the median");
    assert!(low <= 1000 && 1000 <= high && low > 950 && high < 1050, "{low} to {high}");
}
