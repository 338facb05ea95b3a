//! The map against an array with one cell per address.
#![allow(clippy::cast_possible_truncation)] // Small numbers, made here.

use proptest::prelude::*;

use super::*;

const SIZE: u64 = 64;

/// `None` removes.
fn changes() -> impl Strategy<Value = Vec<(Range<u64>, Option<u32>)>> {
    let range = (0..SIZE, 0..SIZE).prop_map(|(a, b)| a.min(b)..a.max(b));
    proptest::collection::vec((range, proptest::option::weighted(0.8, 0u32..1000)), 0..60)
}

fn check(map: &RangeMap<u32>, cells: &[Option<u32>]) {
    for address in 0..SIZE {
        let found = map.get(address);
        assert_eq!(found.map(|(_, value)| *value), cells[address as usize], "at {address}");
        assert!(found.is_none_or(|(range, _)| range.contains(&address)));
    }
    let pieces: Vec<Range<u64>> = map.iter().map(|(range, _)| range.clone()).collect();
    assert!(pieces.iter().all(|range| range.start < range.end), "{pieces:?}");
    assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start), "{pieces:?}");
}

proptest! {
    #[test]
    fn newer_ranges_hide_older_ones_and_copies_stay(changes in changes()) {
        let mut map = RangeMap::default();
        let mut cells = vec![None; SIZE as usize];
        let mut copies = Vec::new();
        for (range, value) in changes {
            copies.push((map.clone(), cells.clone()));
            match value {
                Some(value) => map.insert(range.clone(), value),
                None => map.remove(&range),
            }
            for address in range {
                cells[address as usize] = value;
            }
            check(&map, &cells);
        }
        for (map, cells) in copies {
            check(&map, &cells);
        }
    }
}

#[test]
fn reaches_the_ends_of_the_address_space() {
    let mut map = RangeMap::default();
    map.insert(0..u64::MAX, 1);
    map.insert(5..10, 2);
    map.remove(&(u64::MAX - 1..u64::MAX));
    let pieces: Vec<(Range<u64>, i32)> = map.iter().map(|(range, value)| (range.clone(), *value)).collect();
    assert_eq!(pieces, [(0..5, 1), (5..10, 2), (10..u64::MAX - 1, 1)]);
}

#[test]
fn many_pieces_in_order_make_no_deep_tree() {
    let mut map = RangeMap::default();
    for index in 0..200_000u64 {
        map.insert(index * 16..index * 16 + 8, index);
    }
    assert_eq!(map.get(16 * 123_456 + 3).map(|(_, value)| *value), Some(123_456));
    assert_eq!(map.iter().count(), 200_000);
}
