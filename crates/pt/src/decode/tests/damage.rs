//! Packets in any order, flipped bits, cuts: decoding ends, and what it yields is in order.

use proptest::prelude::*;

use super::borders::long_trace;
use super::*;

/// Decodes whatever it is; items must come in order, and end.
fn check_any(kind: EngineKind, bytes: &[u8], cut: usize) -> Result<(), TestCaseError> {
    let piece =
        |from, to| Piece { bytes: &bytes[from..to], aux_offset: from as u64, file_offset: FileOffset(0) };
    let (stream, _) = PtStream::new(None, None, [piece(0, cut), piece(cut, bytes.len())], false);
    let flow = decode(kind, &stream, ALL, &[], &UNPATCHED);
    let mut reached = None;
    for item in &flow.items {
        let time = match item {
            FlowItem::Block(block) => block.time,
            FlowItem::Event(event) => event.time,
            FlowItem::Gap(gap) => {
                prop_assert!(Some(gap.resumed_at) > reached && gap.resumed_at >= gap.aux_offset, "{gap:x?}");
                reached = Some(gap.resumed_at);
                gap.time
            }
        };
        prop_assert!(time.not_before <= time.likely && time.likely <= time.not_after);
    }
    Ok(())
}

/// Packets, and things that are nearly packets.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (any::<u16>(), any::<bool>()).prop_map(|(tsc, on)| psb(u64::from(tsc), on.then_some(0x1000))),
        (0u16..20).prop_map(|at| tip(0x1000 + at)),
        (0u16..20).prop_map(|at| ip_packet(0x11, 0x1000 + at)),
        (0u16..20).prop_map(|at| ip_packet(0x1d, 0x1000 + at)),
        Just(vec![TAKEN]),
        Just(vec![NOT_TAKEN]),
        Just(vec![TIP_PGD]),
        (0u8..32).prop_map(cyc),
        any::<u8>().prop_map(|bits| vec![0x99, bits]),
        any::<[u8; 5]>().prop_map(|body| [vec![0x02, 0x73], body.to_vec()].concat()),
        any::<[u8; 2]>().prop_map(|body| [vec![0x02, 0x03], body.to_vec()].concat()),
        Just(vec![0x02, 0xf3]),
        Just(vec![0x02, 0x12, 1, 0, 0, 0]),
        proptest::collection::vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn any_packets_in_any_order_end(
        fragments in proptest::collection::vec(fragment(), 0..40),
        cut in any::<proptest::sample::Index>(),
    ) {
        let bytes = [psb(0x10000, Some(0x1000)), fragments.concat()].concat();
        for kind in KINDS {
            check_any(kind, &bytes, cut.index(bytes.len()))?;
        }
    }

    #[test]
    fn flipped_bits_and_cuts_end_in_order(
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), 0u8..8), 0..6),
        cut in any::<proptest::sample::Index>(),
        length in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = long_trace();
        let whole = bytes.len();
        for (at, bit) in flips {
            bytes[at.index(whole)] ^= 1 << bit;
        }
        bytes.truncate(length.index(whole) + 1);
        for kind in KINDS {
            check_any(kind, &bytes, cut.index(bytes.len()))?;
        }
    }
}

/// Sync periods of 100 ticks, in each a turn of the loop, which gives the time by CYC.
fn timed_periods() -> Vec<u8> {
    let turn = [cyc(10), vec![TAKEN], cyc(10), tip(0x1000)].concat();
    let period = |index| [psb(0x10000 + index * 100, Some(0x1000)), turn.repeat(5)].concat();
    (0..8u64).flat_map(period).collect()
}

#[test]
fn a_time_far_in_the_future_ends_no_window() {
    for kind in KINDS {
        let whole = timed_periods();
        let range = TscRange::new(Tsc(0x10000), Tsc(0x10000 + 650));
        let expected = decode(kind, &one_piece(&whole), range, &[], &UNPATCHED);
        let length = whole.len() / 8;
        // Any bit from the tenth on, in any TSC packet but the last two, after which too little follows.
        for period in 0..6 {
            for bit in 10..56 {
                let mut bytes = whole.clone();
                let at = period * length + PSB.len() + 1 + bit / 8;
                if bytes[at] & 1 << (bit % 8) != 0 {
                    continue;
                }
                bytes[at] ^= 1 << (bit % 8);
                let flow = decode(kind, &one_piece(&bytes), range, &[], &UNPATCHED);
                let count =
                    |flow: &Flow| flow.items.iter().filter(|item| matches!(item, FlowItem::Block(_))).count();
                assert_eq!(count(&flow), count(&expected), "bit {bit} of period {period}");
                let latest = blocks(&flow).iter().map(|block| block.3).max();
                assert!(latest <= Some(0x10000 + 700), "{latest:x?}, bit {bit} of period {period}");
            }
        }
    }
}
