use super::*;

fn piece(bytes: &[u8], aux_offset: u64, file_offset: u64) -> Piece<'_> {
    Piece { bytes, aux_offset, file_offset: FileOffset(file_offset) }
}

fn layout(stream: &PtStream<'_>) -> Vec<(u64, usize, u64, bool)> {
    let pieces = stream.pieces.iter();
    pieces.map(|piece| (piece.start, piece.bytes.len(), piece.file_offset.0, piece.joined)).collect()
}

#[test]
fn orders_pieces_and_names_what_is_missing() {
    let bytes = [0; 30];
    let pieces =
        [piece(&bytes[20..30], 24, 300), piece(&bytes[..10], 0, 100), piece(&bytes[10..20], 10, 200)];
    let (stream, diagnostics) = PtStream::new(Some(Cpu(1)), None, pieces, false);
    assert_eq!(layout(&stream), [(0, 10, 100, false), (10, 10, 200, true), (24, 10, 300, false)]);
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].what, "4 bytes of trace are missing here: they were never written");
    assert_eq!(diagnostics[0].place.aux_offset, Some(20));
    assert_eq!((stream.file_offset(12), stream.file_offset(22)), (Some(FileOffset(202)), None));
}

#[test]
fn a_range_lies_in_as_many_places_as_pieces() {
    let bytes = [0; 30];
    let pieces = [piece(&bytes[..10], 0, 100), piece(&bytes[..10], 10, 200), piece(&bytes[..6], 24, 300)];
    let (stream, _) = PtStream::new(None, None, pieces, false);
    let places =
        |range| stream.file_ranges(range).map(|place| (place.start.0, place.end.0)).collect::<Vec<_>>();
    assert_eq!(places(4..7), [(104, 107)]);
    assert_eq!(places(8..26), [(108, 110), (200, 210), (300, 302)]);
    // In the hole, and far beyond the end.
    assert_eq!(places(20..24), []);
    assert_eq!(places(29..u64::MAX), [(305, 306)]);
    assert_eq!(places(30..40), []);
}

#[test]
fn cuts_overlaps() {
    let bytes = [0; 30];
    let pieces = [piece(&bytes[..20], 0, 100), piece(&bytes[..5], 3, 150), piece(&bytes[..20], 12, 200)];
    let (stream, diagnostics) = PtStream::new(None, None, pieces, false);
    assert_eq!(layout(&stream), [(0, 20, 100, false), (20, 12, 208, true)]);
    assert_eq!(diagnostics.len(), 2);
}

#[test]
fn an_offset_beyond_the_last_is_left_out() {
    let bytes = [0; 30];
    let (stream, diagnostics) = PtStream::new(None, None, [piece(&bytes, u64::MAX - 3, 0)], false);
    assert!(stream.is_empty());
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn snapshots_share_what_the_ring_still_held() {
    let mut ring = vec![0x06; 40];
    ring.extend(PSB);
    ring.extend([0x19, 1, 2, 3, 4, 5, 6, 7, 0x02, 0x23]);
    ring.extend([0x04; 50]);
    let (first, second) = (&ring[..80], &ring[30..]);
    // Offsets that wrapped with the ring say nothing.
    let (stream, diagnostics) =
        PtStream::new(None, None, [piece(first, 500, 0), piece(second, 20, 1000)], true);
    assert_eq!(layout(&stream), [(500, 80, 0, false), (580, ring.len() - 80, 1050, true)]);
    assert_eq!(diagnostics, []);
    let (apart, diagnostics) =
        PtStream::new(None, None, [piece(first, 500, 0), piece(&ring[..20], 20, 1000)], true);
    assert_eq!(layout(&apart), [(500, 80, 0, false), (580, 20, 1000, false)]);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn finds_psbs_across_pieces() {
    let mut bytes = vec![0x06; 7];
    bytes.extend(PSB);
    bytes.extend([0x04; 9]);
    for cut in 0..=bytes.len() {
        let pieces = [piece(&bytes[..cut], 0, 0), piece(&bytes[cut..], cut as u64, 0)];
        let (stream, _) = PtStream::new(None, None, pieces, false);
        assert_eq!(stream.psb_from(0), Some(7), "cut at {cut}");
        assert_eq!(stream.psb_from(7), Some(7), "cut at {cut}");
        assert_eq!(stream.psb_from(8), None, "cut at {cut}");
        assert_eq!(&stream.bytes(5, 20)[..20], &bytes[5..25], "cut at {cut}");
    }
}

#[test]
fn the_high_byte_of_the_clock_comes_from_the_reference() {
    let (stream, _) = PtStream::new(None, None, [], false);
    let full = |reference, low| stream.clone().with_reference(Tsc(reference)).full_tsc(low).0;
    assert_eq!(full(0, 0x8f_b521_1c13_5d98), 0x8f_b521_1c13_5d98);
    assert_eq!(full(0x3ff_ffff_ffff_fff0, 0x10), 0x400_0000_0000_0010);
    assert_eq!(full(0x400_0000_0000_0010, 0xff_ffff_ffff_fff0), 0x3ff_ffff_ffff_fff0);
    assert_eq!(full(0x312_0000_0000_0000, 0x12_0000_0000_0005), 0x312_0000_0000_0005);
}
