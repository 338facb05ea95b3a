//! Cuts an interval into exclusive pieces: at each tick the strongest claim wins.
//!
//! Input: the interval's range and claims in any order, overlapping as they like. Output: pieces in order, without
//! holes or overlaps, that cover the range; each names its claim, or none where nothing claims the ticks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::{Tsc, TscRange};

use crate::claim::Claim;
use crate::precedence::Rank;

/// An exclusive stretch and the claim that won it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// When.
    pub(crate) range: TscRange,
    /// Index of the claim; `None` where there is none.
    pub(crate) claim: Option<usize>,
}

/// The order among claims that cover the same tick; the smallest wins.
type Strength = (Rank, Reverse<usize>, Reverse<Tsc>, usize);

/// Cuts `range` by `claims`.
pub(crate) fn partition(range: TscRange, claims: &[Claim]) -> Vec<Piece> {
    let mut edges = Vec::with_capacity(claims.len() * 2);
    for (index, claim) in claims.iter().enumerate() {
        if let Some(inside) = claim.range.intersection(range) {
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
        let strength = strength(&claims[index], index);
        if begins {
            active.insert(strength);
        } else {
            active.remove(&strength);
        }
    }
    push_piece(&mut pieces, TscRange::new(position, range.stop), active.first());
    pieces
}

fn strength(claim: &Claim, index: usize) -> Strength {
    (claim.rank, Reverse(claim.depth), Reverse(claim.range.start), index)
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
mod tests {
    use super::*;
    use model::{Cause, Certainty};
    use proptest::prelude::*;

    fn claim(start: u64, stop: u64, rank: Rank, depth: usize) -> Claim {
        let range = TscRange::new(Tsc(start), Tsc(stop));
        Claim { depth, ..Claim::new(range, rank, Cause::Unexplained, Certainty::Unknown) }
    }

    fn cut(claims: &[Claim]) -> Vec<(u64, u64, Option<usize>)> {
        partition(TscRange::new(Tsc(0), Tsc(100)), claims)
            .into_iter()
            .map(|piece| (piece.range.start.0, piece.range.stop.0, piece.claim))
            .collect()
    }

    #[test]
    fn deepest_frame_wins_and_the_outer_one_goes_on_behind_it() {
        let claims =
            [claim(0, 100, Rank::User, 0), claim(10, 60, Rank::Kernel, 0), claim(20, 30, Rank::Kernel, 1)];
        let expected =
            [(0, 10, Some(0)), (10, 20, Some(1)), (20, 30, Some(2)), (30, 60, Some(1)), (60, 100, Some(0))];
        assert_eq!(cut(&claims), expected);
    }

    #[test]
    fn off_cpu_beats_loss_and_nothing_is_left_over() {
        let claims = [claim(20, 90, Rank::Loss, 0), claim(30, 50, Rank::OffCpu, 0)];
        let expected =
            [(0, 20, None), (20, 30, Some(0)), (30, 50, Some(1)), (50, 90, Some(0)), (90, 100, None)];
        assert_eq!(cut(&claims), expected);
    }

    fn any_rank() -> impl Strategy<Value = Rank> {
        prop_oneof![Just(Rank::OffCpu), Just(Rank::Kernel), Just(Rank::Loss), Just(Rank::User)]
    }

    proptest! {
        #[test]
        fn pieces_cover_the_range_and_each_tick_has_the_strongest_claim(
            specs in prop::collection::vec((0u64..130, 0u64..130, any_rank(), 0usize..3), 0..20)
        ) {
            let claims: Vec<Claim> = specs.iter().map(|&(a, b, rank, depth)| claim(a.min(b), a.max(b), rank, depth)).collect();
            let pieces = cut(&claims);
            let mut edge = 0;
            for &(start, stop, winner) in &pieces {
                prop_assert_eq!(start, edge);
                prop_assert!(stop > start);
                edge = stop;
                for tick in start..stop {
                    let strongest = claims
                        .iter()
                        .enumerate()
                        .filter(|(_, claim)| claim.range.contains(Tsc(tick)))
                        .min_by_key(|(index, claim)| strength(claim, *index))
                        .map(|(index, _)| index);
                    prop_assert_eq!(winner, strongest);
                }
            }
            prop_assert_eq!(edge, 100);
        }
    }
}
