//! Division by a number that stays the same for long, as a multiplication.
//!
//! ⌊n / d⌋ = ⌊n · ⌈2⁶⁴ / d⌉ / 2⁶⁴⌋ for all n · d < 2⁶⁴: the multiplier is too large by less than one, so the result is by
//! less than n / 2⁶⁴ < 1 / d (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994).

/// A divisor that is not zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    divisor: u64,
    multiplier: u64,
    /// Below it the multiplication is exact.
    end: u64,
}

impl Reciprocal {
    /// Division by `divisor`; by one in place of zero.
    pub(super) fn of(divisor: u64) -> Reciprocal {
        let divisor = divisor.max(1);
        // For one the multiplier would take 65 bits.
        let end = if divisor == 1 { 0 } else { u64::MAX / divisor };
        Reciprocal { divisor, multiplier: (u64::MAX / divisor).wrapping_add(1), end }
    }

    /// `dividend` divided by the divisor, rounded down.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half")]
    pub(super) fn divide(self, dividend: u64) -> u64 {
        if dividend < self.end {
            let product = u128::from(dividend) * u128::from(self.multiplier);
            (product >> 64) as u64
        } else {
            dividend / self.divisor
        }
    }

    /// The divisor times `factor`, if it fits.
    pub(super) fn multiply(self, factor: u64) -> Option<u64> {
        self.divisor.checked_mul(factor)
    }

    /// `one * other` divided by the divisor, rounded down; no more than fits.
    #[inline]
    pub(super) fn divide_product(self, one: u64, other: u64) -> u64 {
        match one.checked_mul(other) {
            Some(product) => self.divide(product),
            None => divide_wide(u128::from(one) * u128::from(other), self.divisor),
        }
    }
}

#[cold]
fn divide_wide(dividend: u128, divisor: u64) -> u64 {
    u64::try_from(dividend / u128::from(divisor)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_division() {
        let divisors = (1..=256).chain([1000, 24_000_000, u64::from(u32::MAX), 1 << 32, u64::MAX]);
        for divisor in divisors {
            let reciprocal = Reciprocal::of(divisor);
            let edges = [1, 2, 3, 1000, u64::MAX / divisor / divisor, u64::MAX / divisor];
            for quotient in edges {
                let multiple = quotient.wrapping_mul(divisor);
                for dividend in multiple.saturating_sub(2)..=multiple.saturating_add(2) {
                    assert_eq!(reciprocal.divide(dividend), dividend / divisor, "{dividend} / {divisor}");
                }
            }
            assert_eq!(reciprocal.divide(u64::MAX), u64::MAX / divisor);
            assert_eq!(reciprocal.divide_product(u64::MAX, divisor), u64::MAX);
        }
    }

    #[test]
    fn what_does_not_fit_is_the_most() {
        assert_eq!(Reciprocal::of(2).divide_product(u64::MAX, 3), u64::MAX);
        assert_eq!(Reciprocal::of(1 << 30).divide_product(1 << 40, 1 << 40), 1 << 50);
        assert_eq!(Reciprocal::of(0).divide(7), 7);
    }
}
