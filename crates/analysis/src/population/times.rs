//! How long slow and fast intervals lasted together, and shares of that.

use intervals::Population;

/// The sums of all durations, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) slow: u128,
    pub(super) fast: u128,
}

impl Times {
    /// Those of `population`, whose members are slow as `is_slow` says.
    pub(super) fn of(population: &Population<'_>, is_slow: &[bool]) -> Times {
        let of = |slow: bool| {
            let own = population.durations().iter().zip(is_slow).filter(|(_, is_slow)| **is_slow == slow);
            own.map(|(&duration, _)| u128::from(duration)).sum()
        };
        Times { slow: of(true), fast: of(false) }
    }
}

/// `part` of `whole`, from 0 to 1; 0 of nothing.
#[allow(clippy::cast_precision_loss)] // a share to be shown
pub(super) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
