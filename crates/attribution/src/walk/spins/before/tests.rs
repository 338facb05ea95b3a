//! Where a loop was entered, by blocks made by hand.

use super::*;

/// By last instruction and time, in turn.
fn ran(blocks: &[(u64, u64)]) -> Vec<Ran> {
    blocks.iter().rev().map(|&(end_ip, at)| Ran { end_ip, at: Tsc(at), ..Ran::default() }).collect()
}

/// A lock is tried at 0x10, and the delay between two attempts at 0x30 grows: the first attempt belongs to the wait, and the caller does not.
#[test]
fn the_first_attempt_is_of_the_wait() {
    let known = [(0x10, 0x1a), (0x1c, 0x1f), (0x30, 0x35)];
    let before =
        ran(&[(0x99, 5), (0x1a, 10), (0x1f, 20), (0x35, 30), (0x1a, 40), (0x1f, 50), (0x35, 60), (0x35, 65)]);
    let any = |_: &Ran| true;
    assert_eq!(entered(&before, &known, Tsc(65), any), Tsc(10));
    assert_eq!(entered(&before, &known[..1], Tsc(65), any), Tsc(65));
    assert_eq!(entered(&[], &known, Tsc(65), any), Tsc(65));
    // The delay pauses.
    assert_eq!(entered(&before, &known, Tsc(65), |ran| ran.end_ip == 0x35), Tsc(30));
}

#[test]
fn the_last_blocks_are_kept() {
    let mut before = Before::default();
    let blocks = 2 * MOST_BEFORE as u64 + 7;
    for at in 0..blocks {
        before.keep(Ran { at: Tsc(at), ..Ran::default() });
    }
    let kept: Vec<u64> = before.up_to(Tsc(blocks - 3)).iter().map(|ran| ran.at.0).collect();
    assert_eq!(kept, (blocks - MOST_BEFORE as u64..=blocks - 3).rev().collect::<Vec<_>>());
    before.clear();
    assert!(before.up_to(Tsc(blocks)).is_empty());
}
