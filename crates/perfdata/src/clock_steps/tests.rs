//! Steps of the recorded clock, by hand.

use super::*;
use crate::record::Label;

#[test]
fn what_an_interrupt_overtakes_is_no_step() {
    let mut backwards = Backwards::default();
    let times = [5_000_000, 0, 4_500_000, 6_000_000, 4_999_999, 5_000_000];
    for (offset, time) in times.into_iter().enumerate() {
        backwards.see(IndexEntry { time, offset: FileOffset(offset as u64), label: Label::default() });
    }
    let found: Vec<_> = backwards.pairs.iter().map(|(_, behind)| behind.offset.0).collect();
    assert_eq!(found, [4]);
}
