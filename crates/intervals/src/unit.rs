//! What durations are counted in, and how a person reads them.

/// What durations are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// TSC ticks: the capture holds no conversion.
    Ticks,
}

impl Unit {
    /// `value` with its unit, for people: `16.327 us`, `852 ns`, `1.200 s`, `4711 ticks`.
    pub fn show(self, value: u64) -> String {
        let scaled = |divisor: u64, name: &str| {
            let divisor = u128::from(divisor);
            let thousandths = (u128::from(value) * 1000 + divisor / 2) / divisor;
            format!("{}.{:03} {name}", thousandths / 1000, thousandths % 1000)
        };
        match (self, value) {
            (Unit::Ticks, _) => format!("{value} ticks"),
            (_, 0..1_000) => format!("{value} ns"),
            (_, 1_000..1_000_000) => scaled(1_000, "us"),
            // From here on rounding leads to the next unit.
            (_, 1_000_000..999_999_500) => scaled(1_000_000, "ms"),
            _ => scaled(1_000_000_000, "s"),
        }
    }

    /// `value`, which is not negative, cut to a whole unit, for people.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "durations, cut on purpose")]
    pub(crate) fn show_floor(self, value: f64) -> String {
        self.show(value as u64)
    }
}
