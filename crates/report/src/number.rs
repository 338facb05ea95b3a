//! How a counter's number stands in JSON: whole numbers of 64 bits with all their digits.
//!
//! Readers that hold numbers as floating point (JavaScript, jq before 1.7) round those above 2^53.

use model::Number;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number in JSON.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JsonNumber {
    /// Whole, from 0 on.
    Unsigned(u64),
    /// Whole.
    Signed(i64),
    /// Any other.
    Float(f64),
}

impl From<Number> for JsonNumber {
    fn from(number: Number) -> JsonNumber {
        let whole = number.as_whole();
        let unsigned = whole.and_then(|whole| whole.try_into().ok()).map(JsonNumber::Unsigned);
        let signed = || whole.and_then(|whole| whole.try_into().ok()).map(JsonNumber::Signed);
        unsigned.or_else(signed).unwrap_or_else(|| JsonNumber::Float(number.as_f64()))
    }
}

impl From<JsonNumber> for Number {
    fn from(number: JsonNumber) -> Number {
        match number {
            JsonNumber::Unsigned(value) => value.into(),
            JsonNumber::Signed(value) => value.into(),
            JsonNumber::Float(value) => value.into(),
        }
    }
}

/// For `serde(with)`.
pub(crate) fn serialize<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    JsonNumber::from(*number).serialize(serializer)
}

/// For `serde(with)`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
    JsonNumber::deserialize(deserializer).map(Number::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: impl Into<Number>) -> String {
        serde_json::to_string(&JsonNumber::from(number.into())).expect("JSON")
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        assert_eq!(written(512.0), "512");
        assert_eq!(written((1_u64 << 53) + 1), "9007199254740993");
        assert_eq!(written(i64::MIN), "-9223372036854775808");
        assert_eq!(written(u64::MAX), "18446744073709551615");
        assert_eq!(written(-2.5), "-2.5");
    }

    proptest! {
        /// Through JSON and back, against the digits of the number itself.
        #[test]
        fn digits_survive(unsigned in any::<u64>(), signed in any::<i64>(), float in prop::num::f64::NORMAL) {
            prop_assert_eq!(written(unsigned), unsigned.to_string());
            prop_assert_eq!(written(signed), signed.to_string());
            for number in [Number::from(unsigned), Number::from(signed), Number::from(float)] {
                let read: JsonNumber = serde_json::from_str(&written(number)).expect("a number");
                prop_assert_eq!(Number::from(read), number);
            }
        }
    }
}
