//! Cuts the blocks of a flow, which overlap where code is jumped into, into pieces that only ever run together.
//!
//! Input: instructions that ran, and blocks with their costs. Output: pieces in order, without overlap. A block's time is
//! shared among its pieces by their instructions, so the ticks of all pieces are those of all blocks.

use std::collections::BTreeSet;

use super::cost::{Cost, Span};

/// A block of the flow with its costs in the outlier, and in all baselines together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) span: Span,
    pub(super) own: Cost,
    pub(super) typical: Cost,
}

/// Instructions that only ever run together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where its instructions stand, from the function's start.
    pub(super) offsets: Vec<u64>,
    pub(super) own: Cost,
    pub(super) typical: Cost,
}

/// The pieces of `blocks`; `instructions` are all of theirs, in order: where each stands, and its length.
pub(super) fn pieces(instructions: &[(u64, u64)], blocks: &[Block]) -> Vec<Piece> {
    let firsts: BTreeSet<u64> = blocks.iter().map(|block| block.span.first).collect();
    let lasts: BTreeSet<u64> = blocks.iter().map(|block| block.span.last).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for &(offset, length) in instructions {
        let goes_on = before.is_some_and(|(last, end)| end == offset && !lasts.contains(&last));
        match pieces.last_mut().filter(|_| goes_on && !firsts.contains(&offset)) {
            Some(piece) => piece.offsets.push(offset),
            None => pieces.push(Piece { offsets: vec![offset], ..Piece::default() }),
        }
        before = Some((offset, offset.saturating_add(length)));
    }
    for block in blocks {
        share(block, &mut pieces);
    }
    pieces
}

/// Adds the costs of `block` to those of `pieces` that it runs through.
fn share(block: &Block, pieces: &mut [Piece]) {
    let from = pieces.partition_point(|piece| piece.offsets[0] < block.span.first);
    let count = pieces[from..].iter().take_while(|piece| piece.offsets[0] <= block.span.last).count();
    let pieces = &mut pieces[from..from + count];
    let whole: usize = pieces.iter().map(|piece| piece.offsets.len()).sum();
    let mut seen = 0;
    for piece in pieces {
        let before = seen;
        seen += piece.offsets.len();
        piece.own.add(&block.own.part(before, seen, whole));
        piece.typical.add(&block.typical.part(before, seen, whole));
    }
}

#[cfg(test)]
mod tests;
