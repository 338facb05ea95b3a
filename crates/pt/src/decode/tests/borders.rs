//! Where bytes, periods and code images end: the flow is as if they did not.

use super::*;

/// Some sync periods with everything in them that may stand at a border.
pub(super) fn long_trace() -> Vec<u8> {
    let turn = [cyc(10), vec![TAKEN], cyc(9), tip(0x1000), cyc(8), vec![NOT_TAKEN], tip(0x1000)].concat();
    let lost = [tip(0x9000), vec![TAKEN, TIP_PGD], cyc(3), ip_packet(0x11, 0x1000)].concat();
    [
        psb(0x10000, Some(0x1000)),
        turn.repeat(3),
        // In the middle of straight code: the FUP names the second nop.
        vec![NOT_TAKEN],
        psb(0x10200, Some(0x1003)),
        tip(0x1000),
        turn.clone(),
        lost,
        turn.repeat(2),
        psb(0x10400, Some(0x1000)),
        turn.clone(),
        vec![TIP_PGD],
        psb(0x10600, None),
        ip_packet(0x11, 0x1000),
        turn,
    ]
    .concat()
}

#[test]
fn pieces_cut_anywhere_make_the_same_flow() {
    for kind in KINDS {
        let bytes = long_trace();
        let whole = decode(kind, &one_piece(&bytes), ALL, &[], &UNPATCHED);
        assert_eq!(gaps(&whole).len(), 1);
        assert!(blocks(&whole).iter().any(|block| (block.0, block.1) == (0x1003, 2)), "{whole:x?}");
        let piece =
            |from, to| Piece { bytes: &bytes[from..to], aux_offset: from as u64, file_offset: FileOffset(0) };
        for cut in 1..bytes.len() {
            for other in [cut, cut + 1, cut + 30, bytes.len()].map(|other| other.min(bytes.len())) {
                let pieces = [piece(0, cut), piece(cut, other), piece(other, bytes.len())];
                let (stream, _) = PtStream::new(None, None, pieces, false);
                let flow = decode(kind, &stream, ALL, &[], &UNPATCHED);
                assert_eq!(blocks_and_gaps(&flow), blocks_and_gaps(&whole), "cut at {cut} and {other}");
            }
        }
    }
}

type BlocksAndGaps = (Vec<(u64, u32, u64)>, Vec<(GapReason, u64, u64)>);

fn blocks_and_gaps(flow: &Flow) -> BlocksAndGaps {
    let blocks = blocks(flow).iter().map(|block| (block.0, block.1, block.3)).collect();
    (blocks, gaps(flow))
}

/// Memory that is mapped anew all the time.
struct Shifting;

impl CodeBytes for Shifting {
    fn epoch(&self, _: Pid, at: Tsc) -> CodeEpoch {
        CodeEpoch { id: at.0 / 16, until: Tsc((at.0 / 16 + 1) * 16), sections: Arc::new([]) }
    }

    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        UNPATCHED.read(pid, address, at, into)
    }
}

#[test]
fn more_epochs_than_images_are_kept_for() {
    for kind in KINDS {
        let turn = [cyc(10), vec![TAKEN], cyc(10), tip(0x1000)].concat();
        let bytes = [psb(0x10000, Some(0x1000)), turn.repeat(1000)].concat();
        let stream = one_piece(&bytes);
        let window = Window { stream: &stream, range: ALL, occupants: &[] };
        let flow = decode_window(&mut engine(kind, 1000), &window, &Shifting).expect("memory");
        // Two blocks a turn, and after the last packet the branch that would need another.
        assert_eq!((blocks(&flow).len(), gaps(&flow)), (2001, vec![]));
    }
}
