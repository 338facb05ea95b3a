//! Numbers of 64 bits by their digits, the others by floating point.

use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
}

#[test]
fn digits_are_kept_where_floating_point_would_round() {
    for text in [
        "0",
        "9007199254740993",
        "-9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "2.5",
        "-0.125",
    ] {
        assert_eq!(number(text).to_string(), text);
    }
}

#[test]
fn each_number_has_one_form() {
    for (one, other) in [
        ("512", "512.0"),
        ("1000", "1e3"),
        ("0", "-0.0"),
        ("+7", "7"),
        ("-9223372036854775808", "-9223372036854775808.0"),
        // Beyond 64 bits there is floating point alone: 2^64, and one more.
        ("18446744073709551616", "18446744073709551617"),
    ] {
        assert_eq!(number(one), number(other), "{one} and {other}");
    }
    assert_eq!(number("18446744073709551616").as_whole(), None);
    assert_eq!(number("18446744073709551615").as_whole(), Some((1 << 64) - 1));
}

#[test]
fn what_is_no_number_is_refused() {
    for text in ["", " 1", "x", "NaN", "inf", "-inf", "1e999", "0x10", "1_000"] {
        assert_eq!(Number::parse(text), None, "{text:?}");
    }
}

#[test]
fn the_order_is_that_of_the_numbers() {
    let mut sorted: Vec<Number> = [
        "-1e30",
        "-9223372036854775808",
        "-9007199254740993",
        "-1.5",
        "-1",
        "-0.5",
        "0",
        "0.5",
        "1",
        "4503599627370495.5",
        "4503599627370496",
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
    ]
    .map(number)
    .into();
    sorted.extend([f64::INFINITY, f64::NAN].map(Number::from));
    for (at, one) in sorted.iter().enumerate() {
        for (place, other) in sorted.iter().enumerate() {
            assert_eq!(one.cmp(other), at.cmp(&place), "{one} and {other}");
        }
    }
}

proptest! {
    /// Against the decimal digits themselves.
    #[test]
    fn whole_numbers_of_64_bits_stay_as_they_are(value in any::<u64>(), signed in any::<i64>()) {
        prop_assert_eq!(number(&value.to_string()).to_string(), value.to_string());
        prop_assert_eq!(number(&signed.to_string()).to_string(), signed.to_string());
        prop_assert_eq!(Number::from(value).cmp(&Number::from(signed)), i128::from(value).cmp(&i128::from(signed)));
    }

    /// Finite floats of every size have the order that floating point has, and come back as they are.
    #[test]
    fn floats_keep_value_and_order(one in prop::num::f64::NORMAL, other in prop::num::f64::NORMAL) {
        prop_assert_eq!(Number::from(one).as_f64().to_bits(), one.to_bits());
        prop_assert_eq!(Some(Number::from(one).cmp(&Number::from(other))), one.partial_cmp(&other));
    }
}
