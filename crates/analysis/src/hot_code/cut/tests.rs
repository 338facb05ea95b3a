//! Blocks of instructions that are four bytes long each.

use super::*;

fn block(first: u64, instructions: u32, ticks: u64, executions: u64) -> Block {
    let span = Span { first, last: first + 4 * u64::from(instructions - 1), instructions };
    let own = Cost { ticks, ratio_ticks: u128::from(ticks) * 30, ticks_without_ratio: 0, executions };
    Block { span, own, typical: Cost::default() }
}

fn four_bytes_each(count: u64) -> Vec<(u64, u64)> {
    (0..count).map(|at| (at * 4, 4)).collect()
}

fn told(pieces: &[Piece]) -> Vec<(u64, usize, u64, u64)> {
    pieces
        .iter()
        .map(|piece| (piece.offsets[0], piece.offsets.len(), piece.own.ticks, piece.own.executions))
        .collect()
}

/// The first block runs 8 instructions twice (80 ticks), the second one its last 2 of them five times (10 ticks): the
/// last piece has 80 * 2 / 8 + 10 = 30.
#[test]
fn a_jump_into_a_block_cuts_it() {
    let found = pieces(&four_bytes_each(8), &[block(0, 8, 80, 2), block(24, 2, 10, 5)]);
    assert_eq!(told(&found), [(0, 6, 60, 2), (24, 2, 30, 7)]);
    assert_eq!(found[1].own.cycles(30), Some(30));
}

/// A conditional branch after the third instruction: once taken, once not.
#[test]
fn an_end_within_a_block_cuts_it() {
    let found = pieces(&four_bytes_each(5), &[block(0, 3, 30, 1), block(0, 5, 50, 1)]);
    assert_eq!(told(&found), [(0, 3, 60, 2), (12, 2, 20, 1)]);
}

/// Code between that did not run separates.
#[test]
fn a_hole_separates() {
    let found = pieces(&[(0, 4), (4, 4), (12, 4)], &[block(0, 2, 7, 1), block(12, 1, 1, 1)]);
    assert_eq!(told(&found), [(0, 2, 7, 1), (12, 1, 1, 1)]);
}

/// 7 ticks over three pieces of one instruction: 2, 2, 3, and none is lost.
#[test]
fn no_tick_is_lost() {
    let blocks = [block(0, 3, 7, 1), block(4, 1, 0, 1), block(8, 1, 0, 1)];
    let found = pieces(&four_bytes_each(3), &blocks);
    assert_eq!(told(&found), [(0, 1, 2, 1), (4, 1, 2, 2), (8, 1, 3, 2)]);
}

/// 100 TSC ticks at half the nominal ratio are 50 core cycles; with a tick of unknown ratio they are unknown.
#[test]
fn cycles_need_the_ratio() {
    let mut cost = Cost { ticks: 100, ratio_ticks: 100 * 15, ticks_without_ratio: 0, executions: 1 };
    assert_eq!(cost.cycles(30), Some(50));
    assert_eq!(cost.cycles(0), None);
    cost.ticks_without_ratio = 1;
    assert_eq!(cost.cycles(30), None);
}
