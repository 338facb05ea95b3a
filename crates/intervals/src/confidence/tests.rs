//! Ranks from tables of the sign test and by hand; means and ratios by hand.

use super::*;

/// Ten values, the median: P(X <= 1) = 11/1024 = 0.0107, with 2 it is 56/1024 = 0.0547. Half of 5 % is 0.025, so ranks 2
/// and 9; half of 2.5 % is 0.0125: the same ranks. (Tables of the sign test: n = 10, ranks 2 and 9, 97.9 %.)
#[test]
fn ranks_of_the_sign_test() {
    assert_eq!(ranks(10, 0.5, 0.05), Some((2, 9)));
    assert_eq!(ranks(10, 0.5, 0.025), Some((2, 9)));
    // n = 20: P(X <= 5) = 0.0207, P(X <= 4) = 0.0059: ranks 6 and 15 for 5 %, 5 and 16 for 1.5 %.
    assert_eq!(ranks(20, 0.5, 0.05), Some((6, 15)));
    assert_eq!(ranks(20, 0.5, 0.015), Some((5, 16)));
    // P(X = 0) = 1/32 > 0.025: five values say nothing of the median's place at 95 %.
    assert_eq!(ranks(5, 0.5, 0.05), None);
}

/// n = 1 000 000 must not underflow: 0.99^1000000 is 10^-4365.
#[test]
fn a_million_intervals_do_not_underflow() {
    let (low, high) = ranks(1_000_000, 0.99, 0.05).expect("ranks");
    // 990 000 ± 1.96 · √(10^6 · 0.99 · 0.01) = ± 195.
    assert!((989_800..=989_810).contains(&low) && (990_190..=990_200).contains(&high), "{low} to {high}");
}

/// Tables of the normal distribution.
#[test]
fn quantiles_of_the_normal_distribution() {
    assert!((quantile_of_normal(0.05) - 1.959_964).abs() < 1e-6);
    assert!((quantile_of_normal(0.025) - 2.241_403).abs() < 1e-6);
}

/// 1 to 10: mean 5.5, sum of squares 82.5, standard error √(82.5 / 9 / 10) = 0.957427; times 1.959964: 1.876522.
#[test]
fn a_mean_of_ten() {
    let (low, high) = of_mean(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ERROR).expect("ten are enough");
    assert!(
        (low - (5.5 - 1.876_522)).abs() < 1e-5 && (high - (5.5 + 1.876_522)).abs() < 1e-5,
        "{low} {high}"
    );
    assert_eq!(of_mean(&[1, 2, 3, 4, 5, 6, 7, 8, 9], ERROR), None);
}

/// Five pairs (1, 2), five (1, 4): the ratio is 10/30 = 1/3. Residuals 1/3 and -1/3: their squares sum to 10/9. The deviation of
/// the sum is √(10 · 10/9 / 9) = 1.111111, of the ratio that / 30 = 0.037037; times 1.959964: 0.072591.
#[test]
fn a_ratio_of_ten() {
    let pairs = [[(1.0, 2.0); 5], [(1.0, 4.0); 5]].concat();
    let (low, high) = of_ratio(&pairs, ERROR).expect("ten are enough");
    assert!((low - (1.0 / 3.0 - 0.072_591)).abs() < 1e-5, "{low}");
    assert!((high - (1.0 / 3.0 + 0.072_591)).abs() < 1e-5, "{high}");
    // Parts that are the same share of every whole leave no doubt.
    let (low, high) = of_ratio(&[(1.0, 2.0); 12], ERROR).expect("twelve are enough");
    assert!((low - 0.5).abs() < 1e-12 && (high - 0.5).abs() < 1e-12);
    assert_eq!(of_ratio(&[(0.0, 0.0); 12], ERROR), None);
}
