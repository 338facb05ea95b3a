//! A number that a program recorded: whole numbers of 64 bits stay exact, all others are floating point.

use std::cmp::Ordering;
use std::fmt;

/// A number: whole from -2^63 to 2^64 - 1, else the nearest of 64-bit floating point.
///
/// Each value has one form, so that equal numbers are equal; the order is that of the numbers, NaN after all.
#[derive(Clone, Copy, Debug)]
pub struct Number(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    /// In the range above.
    Whole(i128),
    /// With a fraction, beyond that range, or no number at all.
    Float(f64),
}

impl Number {
    /// The number in `text`: decimal, with an optional sign, fraction and exponent; `None` where it is none, or not finite.
    pub fn parse(text: &str) -> Option<Number> {
        let whole = text.parse().ok().and_then(Number::whole);
        let number = whole.or_else(|| text.parse::<f64>().ok().map(Number::from))?;
        number.is_finite().then_some(number)
    }

    fn whole(value: i128) -> Option<Number> {
        (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(Number(Form::Whole(value)))
    }

    /// Whether it is neither infinite nor NaN.
    pub fn is_finite(self) -> bool {
        match self.0 {
            Form::Whole(_) => true,
            Form::Float(value) => value.is_finite(),
        }
    }

    /// It as a whole number, where it is one of 64 bits.
    pub fn as_whole(self) -> Option<i128> {
        match self.0 {
            Form::Whole(value) => Some(value),
            Form::Float(_) => None,
        }
    }

    /// The nearest number of floating point.
    #[allow(clippy::cast_precision_loss)] // what it is for
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Form::Whole(value) => value as f64,
            Form::Float(value) => value,
        }
    }
}

impl Default for Number {
    fn default() -> Number {
        Number(Form::Whole(0))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number(Form::Whole(value.into()))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number(Form::Whole(value.into()))
    }
}

impl From<f64> for Number {
    #[allow(clippy::cast_possible_truncation)] // without a fraction; what is too large saturates and is refused
    fn from(value: f64) -> Number {
        let whole = (value.trunc() - value).abs() <= 0.0;
        Some(value)
            .filter(|_| whole)
            .and_then(|value| Number::whole(value as i128))
            .unwrap_or(Number(Form::Float(value)))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.0, other.0) {
            (Form::Whole(one), Form::Whole(other)) => one.cmp(&other),
            (Form::Float(one), Form::Float(other)) => one
                .is_nan()
                .cmp(&other.is_nan())
                .then_with(|| one.partial_cmp(&other).unwrap_or(Ordering::Equal)),
            (Form::Whole(one), Form::Float(other)) => against(one, other),
            (Form::Float(one), Form::Whole(other)) => against(other, one).reverse(),
        }
    }
}

/// A whole number against one with a fraction, or beyond all whole ones: they are never equal.
#[allow(clippy::cast_possible_truncation)] // a floor; what is too large saturates beyond every whole one
fn against(whole: i128, float: f64) -> Ordering {
    if float.is_nan() || whole <= float.floor() as i128 { Ordering::Less } else { Ordering::Greater }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Whole(value) => value.fmt(f),
            Form::Float(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
