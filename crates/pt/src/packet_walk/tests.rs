use model::FileOffset;

use super::*;
use crate::Piece;
use crate::packets::PSB;

/// PTWRITEs of 1, 2 and 3; the second with a FUP, the third with a FUP that an overflow swallowed.
fn trace() -> Vec<u8> {
    let mut bytes = PSB.to_vec();
    bytes.extend([0x19, 0, 0, 1, 0, 0, 0, 0, 0x02, 0x03, 24, 0, 0x02, 0x23]);
    bytes.extend([0x53, 0x02, 0x12, 1, 0, 0, 0]);
    bytes.extend([0x0d | 3 << 5, 0x00, 0x10, 0x40, 0, 0, 0]);
    bytes.extend([0x53, 0x02, 0xb2, 2, 0, 0, 0, 0, 0, 0, 0, 0x3d, 0x20, 0x10]);
    bytes.extend([0x02, 0xb2, 3, 0, 0, 0, 0, 0, 0, 0, 0x02, 0xf3]);
    bytes
}

#[test]
fn finds_ptwrites_with_time_and_address_wherever_pieces_are_cut() {
    let bytes = trace();
    let config = PtConfig { nom_freq: 24, ..PtConfig::default() };
    for cut in PSB.len()..=bytes.len() {
        let piece = |bytes, at: usize| Piece { bytes, aux_offset: at as u64, file_offset: FileOffset(0) };
        let pieces = [piece(&bytes[..cut], 0), piece(&bytes[cut..], cut)];
        let (stream, _) = PtStream::new(None, None, pieces, false);
        let marks: Vec<_> =
            scan_ptwrites(&stream, &config).map(|mark| (mark.time.0, mark.payload, mark.ip)).collect();
        let expected = [(0x1_000a, 1, None), (0x1_0014, 2, Some(0x40_1020)), (0x1_0014, 3, None)];
        assert_eq!(marks, expected, "cut at {cut}");
        assert_eq!(stream.packets().skipped(), 0);
    }
}

#[test]
fn bytes_that_are_no_packet_are_counted() {
    let mut bytes = trace();
    bytes.extend([0x05, 0x06]);
    bytes.extend(trace());
    let piece = Piece { bytes: &bytes, aux_offset: 0, file_offset: FileOffset(0) };
    let (stream, _) = PtStream::new(None, None, [piece], false);
    let mut packets = stream.packets();
    assert_eq!(packets.by_ref().filter(|packet| packet.packet == Packet::Psb).count(), 2);
    assert_eq!(packets.skipped(), 2);
}

/// TIPs to 0x401000 (48 bits), to 0x401404 by its low 16 bits, to 0x402008 by them, one without an
/// address, and a FUP of a wanted address, which is no branch.
#[test]
fn finds_branches_into_the_wanted_ranges_alone() {
    let mut bytes = PSB.to_vec();
    bytes.extend([0x19, 0, 0, 1, 0, 0, 0, 0, 0x02, 0x03, 24, 0, 0x02, 0x23]);
    bytes.extend([0x0d | 3 << 5, 0x00, 0x10, 0x40, 0, 0, 0]);
    bytes.extend([0x0d | 1 << 5, 0x04, 0x14]);
    bytes.extend([0x0d]);
    bytes.extend([0x1d | 1 << 5, 0x04, 0x14]);
    bytes.extend([0x53, 0x0d | 1 << 5, 0x08, 0x20]);
    let config = PtConfig { nom_freq: 24, ..PtConfig::default() };
    let piece = Piece { bytes: &bytes, aux_offset: 0, file_offset: FileOffset(0) };
    let (stream, _) = PtStream::new(None, None, [piece], false);
    let wanted = [0x40_1400..0x40_1800, 0x40_2000..0x40_2400];
    let found: Vec<_> =
        scan_targets(&stream, &config, &wanted).map(|mark| (mark.time.0, mark.ip, mark.position)).collect();
    let second = (PSB.len() + 8 + 4 + 2 + 7) as u64;
    assert_eq!(found, [(0x1_0000, 0x40_1404, second), (0x1_000a, 0x40_2008, second + 3 + 1 + 3 + 1)]);
    assert_eq!(scan_targets(&stream, &config, &[]).count(), 0);
}
