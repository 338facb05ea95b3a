//! Any bytes as PT pieces: the walks end, move forward only, and no search panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{FileOffset, Tsc};
use pt::{Packets, Piece, PtConfig, PtStream, scan_pebs_between, scan_ptwrites};

fuzz_target!(|input: (Vec<u8>, Vec<(u16, u8)>, bool, u64)| {
    let (bytes, cuts, snapshot, at) = input;
    let mut packets = Packets::new(&bytes);
    let mut end = 0;
    for packet in &mut packets {
        assert!(packet.offset >= end && packet.length > 0);
        end = packet.offset + packet.length;
    }
    assert!(end <= bytes.len());

    // Cut into pieces; some repeat bytes, some leave a hole.
    let mut pieces = Vec::new();
    let mut from = 0;
    for (length, skew) in cuts.iter().take(16) {
        let to = (from + usize::from(*length)).min(bytes.len());
        let aux_offset = (from as u64).wrapping_add(u64::from(skew & 0x1f)).wrapping_sub(8);
        pieces.push(Piece { bytes: &bytes[from..to], aux_offset, file_offset: FileOffset(from as u64) });
        from = to;
    }
    pieces.push(Piece {
        bytes: &bytes[from..],
        aux_offset: from as u64,
        file_offset: FileOffset(from as u64),
    });
    let (stream, _) = PtStream::new(None, None, pieces, snapshot);
    let stream = stream.with_reference(Tsc(at));
    let mut last = None;
    for packet in stream.packets() {
        assert!(last < Some(packet.position));
        last = Some(packet.position);
    }
    let index = stream.index();
    if let Some(point) = stream.sync_point_before(Tsc(at)) {
        assert!(index.points().contains(&point));
    }
    let _ = stream.time_span();
    let config = PtConfig { mtc_freq: 3, nom_freq: 24, tsc_ctc_ratio: Some((200, 2)), ..PtConfig::default() };
    assert!(scan_ptwrites(&stream, &config).count() <= bytes.len());
    assert!(scan_pebs_between(&stream, &config, stream.start(), u64::MAX).count() <= bytes.len());
});
