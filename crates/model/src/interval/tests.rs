//! What an interval takes, and what its details are where it has none.

use super::*;

fn plain() -> Interval {
    Interval::new(IntervalId(1), "order", TscRange::new(Tsc(10), Tsc(20)), None)
}

#[test]
fn ten_million_fit_in_a_gigabyte() {
    assert!(size_of::<Interval>() <= 72);
    let (one, other) = (plain(), plain());
    let copy = Interval { id: IntervalId(2), ..one.clone() };
    assert_eq!((copy.label.as_ptr(), &copy.label), (one.label.as_ptr(), &other.label));
}

#[test]
fn details_are_made_where_they_are_written() {
    let (mut written, untouched) = (plain(), plain());
    assert!(written.key.is_none() && written.details_mut().is_none());
    written.key = Some("A7".to_owned());
    assert_eq!(written.details_mut().map(|details| details.key.take()), Some(Some("A7".to_owned())));
    // Whether there is room for them does not matter.
    assert_eq!(written, untouched);
    let details = Details { connection: Some(3), ..Details::default() };
    assert_ne!(plain().with(details), untouched);
    assert!(plain().with(Details::default()).details.is_none());
}
