//! How far a figure of a sample may lie from that of the source the sample comes from: confidence intervals.
//!
//! Quantiles: between two order statistics, which assumes nothing of the distribution (David and Nagaraja, Order Statistics, 2003,
//! section 7.1). Means and ratios of sums: the normal approximation, for a ratio with the variance of the linearized
//! estimator (Cochran, Sampling Techniques, 1977, section 6.3). `docs/statistics.md`.

// Counts and sums of durations as floats: 2^53 ns are 104 days.
#![allow(clippy::cast_precision_loss)]

use crate::counters::two_sided;

/// The error of an interval that holds the true figure with 95 %.
pub const ERROR: f64 = 0.05;
/// Fewer values say too little of their variance.
const FEWEST: usize = 10;

/// Between which of the ascending `sorted` their source's quantile lies, but for `error`; `None` where there are too few.
pub fn of_quantile(sorted: &[u64], percent: f64, error: f64) -> Option<(u64, u64)> {
    if !(percent > 0.0 && percent < 100.0) {
        return None;
    }
    let (low, high) = ranks(sorted.len(), percent / 100.0, error)?;
    Some((sorted[low - 1], sorted[high - 1]))
}

/// Between which two values the mean of the source of `values` lies, but for `error`; `None` where there are fewer than ten.
pub fn of_mean(values: &[u64], error: f64) -> Option<(f64, f64)> {
    of_ratio(&values.iter().map(|&value| (value as f64, 1.0)).collect::<Vec<_>>(), error)
}

/// Between which two values Σ part / Σ whole of the source of these pairs (part, whole) lies, but for `error`; `None` where there are
/// fewer than ten, or the whole is nothing.
pub fn of_ratio(pairs: &[(f64, f64)], error: f64) -> Option<(f64, f64)> {
    let count = pairs.len() as f64;
    let (part, whole) = pairs.iter().fold((0.0, 0.0), |(part, whole), pair| (part + pair.0, whole + pair.1));
    if pairs.len() < FEWEST || whole <= 0.0 {
        return None;
    }
    let ratio = part / whole;
    let squares: f64 = pairs.iter().map(|(part, whole)| (part - ratio * whole).powi(2)).sum();
    let deviation = (count * squares / (count - 1.0)).sqrt() / whole;
    let reach = quantile_of_normal(error) * deviation;
    Some((ratio - reach, ratio + reach))
}

/// Farther from zero than this lies a standard normal variable with the probability `error`.
fn quantile_of_normal(error: f64) -> f64 {
    // Sixty halvings of an interval of ten leave 1e-17.
    let halved = |(low, high): (f64, f64), _| {
        let middle = f64::midpoint(low, high);
        if two_sided(middle) > error { (middle, high) } else { (low, middle) }
    };
    (0..60).fold((0.0, 10.0), halved).0
}

/// The ranks (from 1) of the order statistics of `n` values between which the `share` quantile lies but for `error`: at
/// most half of it to either side. `None` where even the outermost are not far enough.
///
/// The number of values below the quantile is binomial (n, share); rank l is too high with P(X < l), rank h too low with
/// P(X >= h) (David and Nagaraja, Order Statistics, 2003, section 7.1).
fn ranks(n: usize, share: f64, error: f64) -> Option<(usize, usize)> {
    let mass = binomial(n, share);
    let half = error / 2.0;
    let (mut below, mut low) = (0.0, 0);
    for (successes, probability) in mass.iter().enumerate() {
        below += probability;
        if below > half {
            low = successes;
            break;
        }
    }
    let (mut above, mut high) = (0.0, n + 1);
    for (successes, probability) in mass.iter().enumerate().rev() {
        above += probability;
        if above > half {
            high = successes + 1;
            break;
        }
    }
    (low >= 1 && high <= n).then_some((low, high))
}

/// The probabilities of 0 to `n` successes: each from the adjacent one, from the likeliest one outwards, so that nothing
/// underflows where it matters.
fn binomial(n: usize, share: f64) -> Vec<f64> {
    let odds = share / (1.0 - share);
    let up = |successes: usize| (n - successes) as f64 / (successes + 1) as f64 * odds;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below n
    let peak = ((n as f64 * share) as usize).min(n);
    let mut mass = vec![0.0; n + 1];
    mass[peak] = 1.0;
    for successes in peak..n {
        mass[successes + 1] = mass[successes] * up(successes);
    }
    for successes in (0..peak).rev() {
        mass[successes] = mass[successes + 1] / up(successes);
    }
    let whole: f64 = mass.iter().sum();
    mass.into_iter().map(|weight| weight / whole).collect()
}

#[cfg(test)]
mod tests;
