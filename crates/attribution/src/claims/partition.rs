//! Cuts an interval into exclusive pieces: at each tick the strongest claim wins.
//!
//! Input: the interval's range and claims in any order, overlapping in any way. Output: pieces in order, without
//! holes or overlaps, that cover the range; each names its claim, or none where no source claims the ticks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::{Tsc, TscRange};

use crate::claims::precedence::Rank;

/// What decides for a claim: its time and its strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bid {
    /// Its time.
    pub(crate) range: TscRange,
    /// Its strength against others.
    pub(crate) rank: Rank,
    /// How deep it is nested among claims of its rank.
    pub(crate) depth: usize,
}

/// An exclusive stretch and the claim that won it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its time.
    pub(crate) range: TscRange,
    /// Index of the bid; `None` where there is none.
    pub(crate) claim: Option<usize>,
}

/// The order among claims that cover the same tick; the smallest wins.
type Strength = (Rank, Reverse<usize>, Reverse<Tsc>, usize);

/// Cuts `range` by `bids`.
pub(crate) fn partition(range: TscRange, bids: &[Bid]) -> Vec<Piece> {
    let mut edges = Vec::with_capacity(bids.len() * 2);
    for (index, bid) in bids.iter().enumerate() {
        if let Some(inside) = bid.range.intersection(range) {
            edges.push((inside.start, true, index));
            edges.push((inside.stop, false, index));
        }
    }
    edges.sort_unstable();
    let mut pieces = Vec::new();
    let mut active: BTreeSet<Strength> = BTreeSet::new();
    let mut position = range.start;
    for (at, begins, index) in edges {
        push_piece(&mut pieces, TscRange::new(position, at), active.first());
        position = at;
        let strength = strength(&bids[index], index);
        if begins {
            active.insert(strength);
        } else {
            active.remove(&strength);
        }
    }
    push_piece(&mut pieces, TscRange::new(position, range.stop), active.first());
    pieces
}

fn strength(bid: &Bid, index: usize) -> Strength {
    (bid.rank, Reverse(bid.depth), Reverse(bid.range.start), index)
}

fn push_piece(pieces: &mut Vec<Piece>, range: TscRange, strongest: Option<&Strength>) {
    if range.is_empty() {
        return;
    }
    let claim = strongest.map(|strength| strength.3);
    match pieces.last_mut() {
        Some(last) if last.claim == claim => last.range.stop = range.stop,
        _ => pieces.push(Piece { range, claim }),
    }
}

#[cfg(test)]
mod tests;
