//! Byte ranges by hand.

use super::*;

#[test]
fn ranges_that_touch_are_one() {
    assert_eq!(joined(vec![7..9, 1..3, 3..4, 2..3, 12..13]), [1..4, 7..9, 12..13]);
}

#[test]
fn only_what_was_read_meanwhile_is_noted() {
    let (notes, time) = (ReadNotes::default(), |from, to| PerfTime(from)..PerfTime(to));
    notes.note(&time(1, 2));
    notes.start();
    notes.note(&time(5, 6));
    notes.note(&time(6, 6));
    assert_eq!(notes.take(), [time(5, 6)]);
    notes.note(&time(8, 9));
    assert!(notes.take().is_empty());
}
