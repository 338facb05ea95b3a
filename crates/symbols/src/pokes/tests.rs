//! Bytes before, between and after pokes.

use super::*;

const TEXT: u64 = 0xffff_ffff_8100_0000;

fn poke(at: u64, address: u64, old: &[u8], new: &[u8]) -> (Tsc, MapEvent) {
    (Tsc(at), MapEvent::TextPoke { address, old_bytes: old.to_vec(), new_bytes: new.to_vec() })
}

#[test]
fn a_byte_is_old_before_its_first_poke_and_new_from_then_on() {
    let pokes = Pokes::new(&[poke(10, TEXT, &[1, 2], &[3, 4]), poke(20, TEXT + 1, &[4, 7], &[5, 8])]);
    let read = |at| [TEXT, TEXT + 1, TEXT + 2].map(|address| pokes.byte(address, Tsc(at)));
    assert_eq!(read(9), [Some(1), Some(2), Some(7)]);
    assert_eq!(read(10), [Some(3), Some(4), Some(7)]);
    assert_eq!(read(20), [Some(3), Some(5), Some(8)]);
    assert_eq!(pokes.byte(TEXT + 3, Tsc(20)), None);
}

#[test]
fn poked_neighbours_make_one_hole() {
    let pokes = Pokes::new(&[poke(1, TEXT + 8, &[0; 4], &[1; 4]), poke(2, TEXT + 4, &[0; 4], &[1; 4])]);
    assert_eq!(pokes.hole_from(TEXT), Some(&(TEXT + 4..TEXT + 12)));
    assert_eq!(pokes.hole_from(TEXT + 11), Some(&(TEXT + 4..TEXT + 12)));
    assert_eq!(pokes.hole_from(TEXT + 12), None);
}

#[test]
fn code_that_came_or_went_is_known_while_it_was_there() {
    let pokes = Pokes::new(&[poke(10, TEXT, &[], &[9]), poke(20, TEXT, &[9], &[])]);
    assert_eq!([9, 10, 20].map(|at| pokes.byte(TEXT, Tsc(at))), [None, Some(9), None]);
}

#[test]
fn of_two_pokes_at_one_time_the_later_record_wins() {
    let pokes = Pokes::new(&[poke(10, TEXT, &[1], &[2]), poke(10, TEXT, &[2], &[3])]);
    assert_eq!(pokes.byte(TEXT, Tsc(10)), Some(3));
    assert_eq!(pokes.byte(TEXT, Tsc(9)), Some(1));
}

#[test]
fn user_addresses_and_wraps_are_no_kernel_code() {
    let pokes = Pokes::new(&[poke(1, 0x40_0000, &[1], &[2]), poke(1, u64::MAX - 1, &[1; 8], &[2; 8])]);
    assert_eq!(pokes.hole_from(0), Some(&(u64::MAX - 1..u64::MAX)));
}
