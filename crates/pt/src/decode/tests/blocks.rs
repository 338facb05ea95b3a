//! Blocks of PEBS items in a stream: what is around them decodes as if they were not there.

use super::borders::long_trace;
use super::*;

/// BBP, one item of 8 bytes, BEP.
const BLOCK: [u8; 14] = [0x02, 0x63, 0x01, 0x1c, 0xce, 0xfa, 0xed, 0xfe, 0, 0, 0, 0, 0x02, 0x33];

/// Blocks with their times and ends, and events.
fn content(flow: &Flow) -> (TimedBlocks, Vec<EventKind>) {
    (blocks(flow), events(flow))
}

type TimedBlocks = Vec<(u64, u32, BlockEnd, u64, u64)>;

/// The packets of [`long_trace`], and where each begins.
fn packets_of(bytes: &[u8]) -> Vec<usize> {
    crate::Packets::new(bytes).map(|packet| packet.offset).collect()
}

#[test]
fn anywhere_behind_a_psb_plus_they_change_nothing() {
    for kind in KINDS {
        let bytes = long_trace();
        let whole = decode(kind, &one_piece(&bytes), ALL, &[], &UNPATCHED);
        let in_psb_plus = |at: usize| {
            let psb = memchr::memmem::rfind(&bytes[..at], &PSB);
            psb.is_none_or(|psb| memchr::memmem::find(&bytes[psb..at], &[0x02, 0x23]).is_none())
        };
        let mut tried = 0;
        for at in
            packets_of(&bytes).into_iter().filter(|&at| bytes[at..].starts_with(&PSB) || !in_psb_plus(at))
        {
            if at == 0 {
                continue;
            }
            let with = [&bytes[..at], &BLOCK, &bytes[at..]].concat();
            let flow = decode(kind, &one_piece(&with), ALL, &[], &UNPATCHED);
            assert_eq!(content(&flow), content(&whole), "a block at {at}: {:x?}", gaps(&flow));
            assert_eq!(gaps(&flow).len(), gaps(&whole).len(), "a block at {at}");
            // And where its bytes lie in two pieces.
            let piece = |from, to| Piece {
                bytes: &with[from..to],
                aux_offset: from as u64,
                file_offset: FileOffset(0),
            };
            for cut in at..at + BLOCK.len() {
                let (stream, _) = PtStream::new(None, None, [piece(0, cut), piece(cut, with.len())], false);
                let flow = decode(kind, &stream, ALL, &[], &UNPATCHED);
                assert_eq!(content(&flow), content(&whole), "a block at {at}, cut at {cut}");
            }
            tried += 1;
        }
        assert!(tried > 50, "{tried}");
    }
}

#[test]
fn an_end_that_names_an_address_counts_for_the_next_one() {
    for kind in KINDS {
        // BEP with a FUP in full, 1004; then a TIP of the low 16 bits.
        let block = [vec![0x02, 0x63, 0x01, 0x02, 0xb3], ip_packet(0x1d, 0x1004)].concat();
        let compressed = [0x2d, 0x00, 0x10];
        let parts = [psb(0x10000, Some(0x1000)), cyc(10), vec![TAKEN], cyc(5)];
        let tail = [compressed.as_slice(), &[NOT_TAKEN], &compressed, &cyc(4), &[TIP_PGD]].concat();
        let flow = flow(kind, &[&parts.concat(), &block, &tail]);
        let found: Vec<_> = blocks(&flow).iter().map(|block| (block.0, block.1)).collect();
        assert_eq!(gaps(&flow), [], "{flow:x?}");
        assert_eq!(found[..4], [(0x1000, 1), (0x1004, 1), (0x1000, 1), (0x1002, 3)]);
        assert!(
            !events(&flow).iter().any(|event| matches!(event, EventKind::ExecutionStopped { .. })),
            "{flow:x?}"
        );
    }
}

#[test]
fn an_execution_stop_beside_a_block_is_told() {
    for kind in KINDS {
        let stop = [vec![0x02, 0xe2], ip_packet(0x1d, 0x1004)].concat();
        let block = [vec![0x02, 0x63, 0x01, 0x02, 0xb3], ip_packet(0x1d, 0x1004)].concat();
        for parts in [[&block, &stop], [&stop, &block]] {
            let flow = flow(
                kind,
                &[&psb(0x10000, Some(0x1000)), &[TAKEN], parts[0], parts[1], &tip(0x1000), &[TAKEN]],
            );
            let stops =
                events(&flow).into_iter().filter(|event| matches!(event, EventKind::ExecutionStopped { .. }));
            assert_eq!(stops.collect::<Vec<_>>(), [EventKind::ExecutionStopped { ip: Some(0x1004) }]);
            assert_eq!(gaps(&flow), []);
        }
    }
}
