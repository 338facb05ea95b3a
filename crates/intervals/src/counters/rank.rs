//! Spearman's rank correlation of a counter with durations, and how sure it is.
//!
//! Ranks (twice the mean rank among equals, so that they are whole) and their sums are integers: the order of the
//! intervals cannot change the result, not even in the last bit.

// The quotient of two sums of integers is the one thing that must be a float.
#![allow(clippy::cast_precision_loss)]

use model::Number;

use super::normal::two_sided;

/// With fewer intervals neither confidence nor p means much.
const FEWEST: usize = 10;
/// Quantile of the standard normal distribution for 95 %.
const Z95: f64 = 1.959_964;

/// How a counter and the durations go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankCorrelation {
    /// Spearman's coefficient, from -1 (the larger the faster) to 1 (the larger the slower).
    pub rho: f64,
    /// The interval that holds the true one with 95 %: Fisher's z, with the variance of Bonett and Wright (2000),
    /// (1 + rho²/2) / (n - 3). `None` with fewer than 10 intervals.
    pub confidence: Option<(f64, f64)>,
    /// The probability of such a coefficient, or a larger one, where nothing goes together: Fisher's z with variance
    /// 1.06 / (n - 3) (Fieller, Hartley and Pearson, 1957). `None` with fewer than 10 intervals.
    pub p: Option<f64>,
}

impl RankCorrelation {
    /// Of pairs of value and duration; `None` where all values or all durations are the same.
    pub(super) fn of(pairs: &[(Number, u64)]) -> Option<RankCorrelation> {
        let values: Vec<Number> = pairs.iter().map(|pair| pair.0).collect();
        let durations: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
        let by_value = doubled_ranks(&values);
        let by_duration = doubled_ranks(&durations);
        let rho = pearson(&by_value, &by_duration)?;
        let spread = (pairs.len() >= FEWEST).then(|| 1.0 / (pairs.len() as f64 - 3.0));
        let z = rho.clamp(-1.0 + f64::EPSILON, 1.0 - f64::EPSILON).atanh();
        Some(RankCorrelation {
            rho,
            confidence: spread.map(|spread| {
                let half = Z95 * (spread * (1.0 + rho * rho / 2.0)).sqrt();
                ((z - half).tanh(), (z + half).tanh())
            }),
            p: spread.map(|spread| two_sided(z / (1.06 * spread).sqrt())),
        })
    }
}

/// Twice the rank of each of `values`, from 2; equals share their mean.
fn doubled_ranks<T: Ord>(values: &[T]) -> Vec<i128> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&index| &values[index]);
    let mut ranks = vec![0; values.len()];
    let mut done = 0;
    for equals in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let doubled = (2 * done + equals.len() + 1) as i128;
        for &index in equals {
            ranks[index] = doubled;
        }
        done += equals.len();
    }
    ranks
}

/// Pearson's coefficient. With a billion ranks the sums stay below 2^127.
fn pearson(x: &[i128], y: &[i128]) -> Option<f64> {
    let n = x.len() as i128;
    let (sum_x, sum_y): (i128, i128) = (x.iter().sum(), y.iter().sum());
    let products = |a: &[i128], b: &[i128]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i128>();
    let covariance = n * products(x, y) - sum_x * sum_y;
    let (variance_x, variance_y) = (n * products(x, x) - sum_x * sum_x, n * products(y, y) - sum_y * sum_y);
    if variance_x == 0 || variance_y == 0 {
        return None;
    }
    let rho = covariance as f64 / ((variance_x as f64).sqrt() * (variance_y as f64).sqrt());
    Some(rho.clamp(-1.0, 1.0))
}
