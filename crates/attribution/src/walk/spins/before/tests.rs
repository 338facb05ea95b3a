//! Where a loop was entered, by blocks made by hand.

use super::*;
use crate::testing::code::Code;

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
    assert_eq!(entered(&before, &known, Tsc(65), any).at, Tsc(10));
    assert_eq!(entered(&before, &known[..1], Tsc(65), any).at, Tsc(65));
    assert_eq!(entered(&[], &known, Tsc(65), any).at, Tsc(65));
    // The delay pauses.
    assert_eq!(entered(&before, &known, Tsc(65), |ran| ran.end_ip == 0x35).at, Tsc(30));
}

/// Three blocks of the loop have the time of two before it; the next time is 20, or later than all that is known. What ran before took 4 for two blocks.
#[test]
fn other_code_may_have_the_time_of_the_first_attempt() {
    let known = [(0x10, 0x1a)];
    let any = |_: &Ran| true;
    let at = Tsc(10);
    let first = [(0x95, 6), (0x99, 6), (0x95, 10), (0x99, 10), (0x1a, 10), (0x1a, 10), (0x1a, 10)];
    let entered_by = |blocks: &[(u64, u64)]| entered(&ran(blocks), &known, Tsc(65), any);
    let shares = Some(Shares { blocks: 3, led: Ticks(4) });
    assert_eq!(entered_by(&first), Entered { at, shares, next: None });
    let next = [&first[..], &[(0x1a, 20), (0x1a, 30)]].concat();
    assert_eq!(entered_by(&next), Entered { at, shares, next: Some(Tsc(20)) });
    assert_eq!(entered_by(&next[2..]).shares, None, "nothing is known of the pace before");
    assert_eq!(entered_by(&next[4..]), Entered { at, shares: None, next: Some(Tsc(20)) });
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

/// `lea -8(%rsp),%r8; nop`, `mov (%rbx),%r8; nop` and `nop`.
const CODE: Code<'_> = Code(&[&[0x4c, 0x8d, 0x44, 0x24, 0xf8, 0x90], &[0x4c, 0x8b, 0x03, 0x90], &[0x90]]);
const ONTO_STACK: (u64, u64) = (0, 5);
const ELSEWHERE: (u64, u64) = (0x10, 0x13);
const HEAD: (u64, u64) = (0x20, 0x20);

#[test]
fn registers_point_to_the_stack_for_as_long_as_no_iteration_changes_them() {
    let r8 = 1 << 8;
    let asks = |before: &mut Before| before.point_to_stack(r8, Pid(1), Tsc(0), &CODE);
    let ran = |before: &mut Before, blocks: &[(u64, u64)]| {
        for &(ip, end_ip) in blocks {
            before.keep(Ran { ip, end_ip, ..Ran::default() });
        }
    };
    let mut before = Before::default();
    ran(&mut before, &[ONTO_STACK, HEAD]);
    assert!(asks(&mut before));
    ran(&mut before, &[HEAD; MOST_BEFORE]);
    assert!(asks(&mut before), "what set it is forgotten, and it is known");
    before.keep_registers(!r8);
    assert!(!asks(&mut before), "an iteration changed it");

    let mut before = Before::default();
    ran(&mut before, &[ELSEWHERE, HEAD]);
    assert!(!asks(&mut before));
    ran(&mut before, &[ONTO_STACK, HEAD]);
    assert!(!asks(&mut before), "it is not asked again at once");
    ran(&mut before, &vec![HEAD; ASKED_AGAIN]);
    ran(&mut before, &[ONTO_STACK, HEAD]);
    assert!(asks(&mut before));
}
