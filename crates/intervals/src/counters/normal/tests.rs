//! The normal distribution against printed tables.

use super::*;

/// Quantiles as every table of the normal distribution has them; the last from Abramowitz and Stegun, table 26.2.
#[test]
fn normal_tails_are_the_tables() {
    for (z, p) in [(0.0, 1.0), (0.674_490, 0.5), (1.959_964, 0.05), (2.575_829, 0.01), (5.0, 5.733_03e-7)] {
        assert!((two_sided(z) / p - 1.0).abs() < 1e-5, "{z}: {}", two_sided(z));
    }
}

#[test]
fn the_two_ways_to_erfc_meet() {
    let (series, fraction) = (1.0 - erf_series(FRACTION_FROM), erfc_fraction(FRACTION_FROM));
    assert!((series / fraction - 1.0).abs() < 1e-9);
}

/// Critical values of Kolmogorov's distribution: 1.358 at 5 %, 1.628 at 1 % (Smirnov, 1948). With samples of a
/// million the correction vanishes.
#[test]
fn kolmogorov_tails_are_the_tables() {
    let n: f64 = 2e12;
    for (lambda, p) in [(1.358_1, 0.05), (1.627_6, 0.01), (0.1, 1.0)] {
        let found = kolmogorov_smirnov(lambda / (n / 2.0).sqrt(), n, n);
        assert!((found - p).abs() < 1e-4, "{lambda}: {found}");
    }
}
