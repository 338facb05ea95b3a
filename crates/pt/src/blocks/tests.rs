//! Blocks as the SDM's packet definitions spell them, by hand.

use super::*;

/// BBP of 8-byte items, an item, a CYC, an item, BEP.
const BLOCK: [u8; 24] =
    [0x02, 0x63, 0x01, 0x0c, 2, 0x33, 2, 0x63, 5, 6, 7, 8, 0xbb, 0x14, 2, 0xb3, 3, 4, 5, 6, 7, 8, 0x02, 0x33];

#[test]
fn a_block_becomes_padding_around_the_time_in_it() {
    let mut bytes = [&[0x06][..], &BLOCK, &[0x06]].concat();
    assert!(holds_blocks(&bytes));
    assert_eq!(blank(&mut bytes), Vec::<usize>::new());
    let mut expected = [0; 26];
    (expected[0], expected[13], expected[25]) = (0x06, 0xbb, 0x06);
    assert_eq!(bytes, expected);
    assert!(!holds_blocks(&bytes));
}

#[test]
fn an_end_with_an_address_keeps_the_address() {
    let mut bytes = vec![0x02, 0x63, 0x81, 0x0c, 1, 2, 3, 4, 0x02, 0xb3, 0x3d, 0x34, 0x12];
    assert_eq!(blank(&mut bytes), [8]);
    assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0xe2, 0x3d, 0x34, 0x12]);
}

#[test]
fn payloads_that_look_so_are_none() {
    // A PTWRITE of 0x6302_3302, and the same bytes cut off by what is no packet.
    for bytes in [[0x02, 0x12, 0x02, 0x33, 0x02, 0x63], [0x06, 0x05, 0x02, 0x63, 0x02, 0x33]] {
        let mut blanked = bytes;
        assert!(!holds_blocks(&bytes));
        assert_eq!(blank(&mut blanked), Vec::<usize>::new());
        assert_eq!(blanked, bytes);
    }
}
