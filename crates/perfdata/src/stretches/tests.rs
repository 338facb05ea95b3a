//! Records that cross from one stretch of a file to the next.

use super::*;

/// A record of type 14 (SWITCH) and this size.
fn record(size: u16) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(size)];
    bytes[0] = 14;
    bytes[6..8].copy_from_slice(&size.to_le_bytes());
    bytes
}

fn copied(stretches: &mut Stretches, at: usize, from: &[u8]) -> bool {
    stretches.copy(at, from.len(), |bytes| {
        bytes.copy_from_slice(from);
        true
    })
}

#[test]
fn a_record_is_found_where_it_lies_in_the_file() {
    let mut stretches = Stretches::default();
    assert!(copied(&mut stretches, 1000, &[record(16), record(24)].concat()));
    assert!(copied(&mut stretches, 5000, &record(32)));
    let size = |at| stretches.record(at, &mut LastFound::default()).map(<[u8]>::len);
    // The rest of the stretch comes with it.
    assert_eq!([size(1000), size(1016), size(5000)], [Some(40), Some(24), Some(32)]);
    // Before all, after a stretch, in its last bytes.
    assert_eq!([size(992), size(1040), size(5032), size(5028)], [None; 4]);
}

#[test]
fn a_record_that_reaches_over_the_end_is_not_in_the_copy() {
    let mut stretches = Stretches::default();
    assert!(copied(&mut stretches, 0, &record(64)[..40]));
    assert!(stretches.record(0, &mut LastFound::default()).is_none());
}

#[test]
fn what_could_not_be_read_leaves_nothing() {
    let mut stretches = Stretches::default();
    assert!(!stretches.copy(0, 16, |_| false));
    assert!(stretches.record(0, &mut LastFound::default()).is_none() && stretches.bytes.is_empty());
    assert!(!stretches.would_take(LONGEST + 1));
}

#[test]
fn the_order_of_questions_changes_no_answer() {
    let mut stretches = Stretches::default();
    for number in 0..4 {
        assert!(copied(&mut stretches, 1000 * (number + 1), &record(16)));
    }
    let places = [500, 1000, 1016, 2000, 3000, 3500, 4000, 9000];
    let expected = [None, Some(16), None, Some(16), Some(16), None, Some(16), None];
    for first in places {
        for (&place, expected) in places.iter().zip(expected) {
            let mut last = LastFound::default();
            stretches.record(first, &mut last);
            assert_eq!(
                stretches.record(place, &mut last).map(<[u8]>::len),
                expected,
                "{place} after {first}"
            );
        }
    }
}
