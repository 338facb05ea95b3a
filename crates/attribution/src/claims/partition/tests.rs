//! Each tick goes to the strongest bid, by rank, depth and start.

use super::*;
use proptest::prelude::*;

fn bid(start: u64, stop: u64, rank: Rank, depth: usize) -> Bid {
    Bid { range: TscRange::new(Tsc(start), Tsc(stop)), rank, depth }
}

fn cut(bids: &[Bid]) -> Vec<(u64, u64, Option<usize>)> {
    partition(TscRange::new(Tsc(0), Tsc(100)), bids)
        .into_iter()
        .map(|piece| (piece.range.start.0, piece.range.stop.0, piece.claim))
        .collect()
}

#[test]
fn deepest_frame_wins_and_the_outer_one_goes_on_behind_it() {
    let bids = [bid(0, 100, Rank::User, 0), bid(10, 60, Rank::Kernel, 0), bid(20, 30, Rank::Kernel, 1)];
    let expected =
        [(0, 10, Some(0)), (10, 20, Some(1)), (20, 30, Some(2)), (30, 60, Some(1)), (60, 100, Some(0))];
    assert_eq!(cut(&bids), expected);
}

#[test]
fn nothing_is_left_over() {
    let bids = [bid(20, 90, Rank::Loss, 0), bid(30, 50, Rank::OffCpu, 0)];
    let expected = [(0, 20, None), (20, 30, Some(0)), (30, 50, Some(1)), (50, 90, Some(0)), (90, 100, None)];
    assert_eq!(cut(&bids), expected);
}

/// Every row of the table of precedence (`docs/attribution.md`, section 3) against the next.
#[test]
fn each_row_of_the_table_beats_the_next() {
    let rows = [
        Rank::IdleExit,
        Rank::OffCpu,
        Rank::StandStill,
        Rank::Kernel,
        Rank::KernelByRecord,
        Rank::Loss,
        Rank::Untraced,
        Rank::User,
        Rank::Uncovered,
    ];
    for pair in rows.windows(2) {
        let (stronger, weaker) = (bid(40, 60, pair[0], 0), bid(0, 100, pair[1], 0));
        let expected = [(0, 40, Some(0)), (40, 60, Some(1)), (60, 100, Some(0))];
        assert_eq!(cut(&[weaker, stronger]), expected, "{:?} against {:?}", pair[0], pair[1]);
        let covered = bid(0, 100, pair[0], 0);
        assert_eq!(cut(&[covered, bid(40, 60, pair[1], 9)]), [(0, 100, Some(0))], "{:?}", pair[0]);
    }
}

fn any_rank() -> impl Strategy<Value = Rank> {
    prop_oneof![Just(Rank::OffCpu), Just(Rank::Kernel), Just(Rank::Loss), Just(Rank::User)]
}

proptest! {
    #[test]
    fn pieces_cover_the_range_and_each_tick_has_the_strongest_bid(
        specs in prop::collection::vec((0u64..130, 0u64..130, any_rank(), 0usize..3), 0..20)
    ) {
        let bids: Vec<Bid> =
            specs.iter().map(|&(a, b, rank, depth)| bid(a.min(b), a.max(b), rank, depth)).collect();
        let pieces = cut(&bids);
        let mut edge = 0;
        for &(start, stop, winner) in &pieces {
            prop_assert_eq!(start, edge);
            prop_assert!(stop > start);
            edge = stop;
            for tick in start..stop {
                // Strongest by rank, then depth, then later start, then order.
                let strongest = bids
                    .iter()
                    .enumerate()
                    .filter(|(_, bid)| bid.range.contains(Tsc(tick)))
                    .min_by(|(i, a), (j, b)| {
                        a.rank
                            .cmp(&b.rank)
                            .then(b.depth.cmp(&a.depth))
                            .then(b.range.start.cmp(&a.range.start))
                            .then(i.cmp(j))
                    })
                    .map(|(index, _)| index);
                prop_assert_eq!(winner, strongest);
            }
        }
        prop_assert_eq!(edge, 100);
    }
}
