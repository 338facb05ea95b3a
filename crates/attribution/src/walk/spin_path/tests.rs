//! Paths by hand: each letter is a block, in the order of the code, and a block before the last one is a jump back.

use pt::{Block, BlockEnd, TimeBounds};

use super::{LONGEST, Path, jumps_back};

fn block(ip: u64) -> Block {
    Block {
        ip,
        end_ip: ip + 11,
        instructions: 4,
        end: BlockEnd::ConditionalBranch,
        bits: 64,
        kernel: false,
        thread: None,
        time: TimeBounds::default(),
        aux_offset: 0,
    }
}

fn blocks(ran: &str) -> Vec<Block> {
    ran.bytes().map(|letter| block(16 * u64::from(letter))).collect()
}

/// What is kept of `ran`, and of inner loops one round each.
fn kept(ran: &str) -> (String, Vec<String>) {
    let path = path(ran);
    let letter = |block: &Block| char::from(u8::try_from(block.ip / 16).expect("a letter"));
    let name = |blocks: &[Block]| blocks.iter().map(letter).collect();
    (name(&path.blocks), path.rounds().map(name).collect())
}

fn path(ran: &str) -> Path {
    let ran = blocks(ran);
    let mut path = Path::default().anew(&ran[0]);
    ran[1..].iter().for_each(|block| path.push(block));
    path.end_round();
    path
}

#[test]
fn of_rounds_alike_one_is_kept() {
    assert_eq!(kept("abbbbc"), ("abc".into(), vec!["b".into()]));
    assert_eq!(kept("abcbcbcbcd"), ("abcd".into(), vec!["bc".into()]));
    assert_eq!(kept("abcd"), ("abcd".into(), vec![]));
}

/// The third round shows that the second was one; until then both stay.
#[test]
fn two_rounds_are_no_loop_yet() {
    assert_eq!(kept("abbc"), ("abbc".into(), vec![]));
    assert_eq!(kept("abcbcd"), ("abcbcd".into(), vec![]));
}

#[test]
fn a_round_that_ends_early_is_kept_as_far_as_it_ran() {
    assert_eq!(kept("abcdbcdbcdbce"), ("abcdbce".into(), vec!["bcd".into()]));
    assert_eq!(kept("abcbcbcb"), ("abcb".into(), vec!["bc".into()]));
}

#[test]
fn rounds_that_differ_are_all_kept() {
    assert_eq!(kept("abcbdbcbd"), ("abcbdbcbd".into(), vec![]));
}

/// A loop within a loop, each of several rounds: of the outer one two rounds are kept, however many ran.
#[test]
fn loops_within_loops_are_kept_twice() {
    let twice = ("abcdbcde".into(), vec!["c".into(), "bcd".into(), "c".into()]);
    assert_eq!(kept("abccccdbccccdbccccde"), twice);
    assert_eq!(kept("abccccdbcccdbccccdbccccccdbcccdbcccccde"), twice);
    assert_eq!(kept("abbbbcddddef"), ("abcdef".into(), vec!["b".into(), "d".into()]));
}

/// The hash is that of what is kept, so that an answer for few rounds is one for many.
#[test]
fn the_number_of_rounds_does_not_change_the_hash() {
    assert_eq!(path("abbbc").hash, path("abbbbbbbbc").hash);
    assert_eq!(path("abbbc").hash, Path::of(&blocks("abc")).hash);
    assert_ne!(path("abbbc").hash, path("abdc").hash);
}

#[test]
fn all_that_ran_is_counted() {
    assert_eq!(path("abbbbbbbbc").ran(), 10);
    assert_eq!(Path::of(&blocks("abc")).ran(), 3);
    let anew = path("abbbbbbbbc").anew(&block(0x700));
    assert_eq!((anew.ran(), anew.blocks.len(), anew.has_rounds()), (1, 1, false));
}

#[test]
fn a_far_jump_or_a_call_makes_no_loop() {
    let (head, near, far) = (block(0x1000), block(0x1000 + LONGEST - 12), block(0x1000 + LONGEST));
    assert!(jumps_back(&near, &head));
    assert!(!jumps_back(&far, &head));
    assert!(!jumps_back(&Block { end: BlockEnd::Call, ..near }, &head));
    assert!(!jumps_back(&head, &near), "ahead");
}
