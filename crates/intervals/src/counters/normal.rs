//! Tails of the distributions that the tests of counters need.
//!
//! Series and continued fraction of erfc: Abramowitz and Stegun, 7.1.6 and 7.1.14.

use std::f64::consts::{PI, SQRT_2};

/// Here the series and the continued fraction are equally good: both to 1e-13.
const FRACTION_FROM: f64 = 3.0;

/// The probability that a standard normal variable lies further from zero than `z`, to either side.
pub(crate) fn two_sided(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    if x < FRACTION_FROM { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

/// 2/√π · e^(-x²) · Σ 2^n x^(2n+1) / (1·3·…·(2n+1)): every term is positive, so nothing cancels.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..100 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// e^(-x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))), from the inside out.
fn erfc_fraction(x: f64) -> f64 {
    let denominator = (1..100).rev().fold(x, |inner, n| x + f64::from(n) / 2.0 / inner);
    (-x * x).exp() / PI.sqrt() / denominator
}

/// The probability that two samples of one distribution, `n` and `m` values, have empirical distributions `distance`
/// apart somewhere, or more: Kolmogorov's series with Stephens' correction for small samples (Numerical Recipes,
/// 14.3). Equal values make it too large, that is careful.
pub(super) fn kolmogorov_smirnov(distance: f64, n: f64, m: f64) -> f64 {
    let root = (n * m / (n + m)).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    if lambda < 0.2 {
        return 1.0; // 1 - 1e-12 and the series converges slowly
    }
    let term = |j: i32| {
        let sign = if j % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(j * j) * lambda * lambda).exp()
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
