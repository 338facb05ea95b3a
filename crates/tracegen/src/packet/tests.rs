//! Every packet against bytes worked out by hand from the manual's figures.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::*;

/// One of each, with its bytes.
fn all() -> Vec<(Packet, Vec<u8>)> {
    let ip = |packet, bytes, ip| Packet::Ip { packet, bytes, ip };
    let high = 0xffff_ffff_8123_4567;
    vec![
        (Packet::Pad, vec![0x00]),
        (Packet::Psb, [0x02, 0x82].repeat(8)),
        (Packet::PsbEnd, vec![0x02, 0x23]),
        (Packet::Tsc(0x00aa_bbcc_ddee_ff11), vec![0x19, 0x11, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa]),
        (Packet::Tma { ctc: 0x1234, fast_counter: 0x1ff }, vec![0x02, 0x73, 0x34, 0x12, 0x00, 0xff, 0x01]),
        (Packet::Mtc(0x5a), vec![0x59, 0x5a]),
        // 5 bits, Exp = 0: 31 << 3 | 3.
        (Packet::Cyc(31), vec![0xfb]),
        // 32 = 1 << 5: low bits 0, Exp = 1, then 1 << 1.
        (Packet::Cyc(32), vec![0x07, 0x02]),
        // 0x1fff: 11111 | 1111111 | 1: two more bytes, the first with its Exp bit.
        (Packet::Cyc(0x1fff), vec![0xff, 0xff, 0x02]),
        (Packet::Cbr(25), vec![0x02, 0x03, 0x19, 0x00]),
        (Packet::ModeExec { mode: ExecMode::Bits64, interrupts: false }, vec![0x99, 0x01]),
        (Packet::ModeExec { mode: ExecMode::Bits32, interrupts: true }, vec![0x99, 0x06]),
        (Packet::ModeExec { mode: ExecMode::Bits16, interrupts: false }, vec![0x99, 0x00]),
        (Packet::ModeTsx { in_tx: true, abort: false }, vec![0x99, 0x21]),
        (Packet::ModeTsx { in_tx: false, abort: true }, vec![0x99, 0x22]),
        // CR3 0x64000, bits 51:5 shifted by one for NR: 0x64000 >> 5 << 1 = 0x6400.
        (Packet::Pip { cr3: 0x64000, non_root: true }, vec![0x02, 0x43, 0x01, 0x64, 0, 0, 0, 0]),
        // Taken, not, taken: stop bit, 101, 0.
        (Packet::TntShort { bits: 0b101, count: 3 }, vec![0b0001_1010]),
        (Packet::TntLong { bits: 0x7fff_ffff_ffff, count: 47 }, [vec![0x02, 0xa3], vec![0xff; 6]].concat()),
        (ip(IpPacket::Tip, IpBytes::Suppressed, high), vec![0x0d]),
        (ip(IpPacket::Tip, IpBytes::Update16, high), vec![0x2d, 0x67, 0x45]),
        (ip(IpPacket::TipPge, IpBytes::Update32, high), vec![0x51, 0x67, 0x45, 0x23, 0x81]),
        (ip(IpPacket::TipPgd, IpBytes::SignExtended48, high), vec![0x61, 0x67, 0x45, 0x23, 0x81, 0xff, 0xff]),
        (ip(IpPacket::Fup, IpBytes::Update48, high), vec![0x9d, 0x67, 0x45, 0x23, 0x81, 0xff, 0xff]),
        (ip(IpPacket::Fup, IpBytes::Full, high), vec![0xdd, 0x67, 0x45, 0x23, 0x81, 0xff, 0xff, 0xff, 0xff]),
        (Packet::Ovf, vec![0x02, 0xf3]),
        (Packet::TraceStop, vec![0x02, 0x83]),
        (Packet::Ptw { payload: 0x0102_0304, wide: false, fup: false }, vec![0x02, 0x12, 4, 3, 2, 1]),
        (
            Packet::Ptw { payload: 0x0102_0304_0506_0708, wide: true, fup: true },
            vec![0x02, 0xb2, 8, 7, 6, 5, 4, 3, 2, 1],
        ),
        (Packet::ExStop { fup: false }, vec![0x02, 0x62]),
        (Packet::ExStop { fup: true }, vec![0x02, 0xe2]),
        (Packet::Mwait { hints: 0x20, extensions: 1 }, vec![0x02, 0xc2, 0x20, 0, 0, 0, 1, 0, 0, 0]),
        (Packet::Pwre { hw: true, state: 6, sub_state: 2 }, vec![0x02, 0x22, 0x80, 0x62]),
        // Last state in bits 7:4, deepest in 3:0.
        (Packet::Pwrx { last: 1, deepest: 6, wake: 8 }, vec![0x02, 0xa2, 0x16, 0x08, 0, 0, 0]),
        (Packet::Cfe { kind: 1, vector: 236, fup: true }, vec![0x02, 0x13, 0x81, 0xec]),
        (
            Packet::Evd { kind: 0, payload: 0x7f00_1234_5000 },
            vec![0x02, 0x53, 0, 0, 0x50, 0x34, 0x12, 0, 0x7f, 0, 0],
        ),
        (
            Packet::Trig { triggers: 0xa1, count: Some(0x102), multiple: true, fup: false },
            vec![0xd9, 0x60, 0xa1, 2, 1],
        ),
        (Packet::Trig { triggers: 2, count: None, multiple: false, fup: false }, vec![0xd9, 0, 2]),
        (Packet::Vmcs(0x0012_3456_7000), vec![0x02, 0xc8, 0x67, 0x45, 0x23, 0x01, 0x00]),
        (Packet::Mnt(1), vec![0x02, 0xc3, 0x88, 1, 0, 0, 0, 0, 0, 0, 0]),
        (Packet::Bbp { kind: 4, narrow: true }, vec![0x02, 0x63, 0x84]),
        (Packet::Bip { id: 3, payload: 0x0102_0304, narrow: true }, vec![0x1c, 4, 3, 2, 1]),
        (Packet::Bep { fup: true }, vec![0x02, 0xb3]),
        (Packet::Bbp { kind: 1, narrow: false }, vec![0x02, 0x63, 0x01]),
        (Packet::Bip { id: 31, payload: 1, narrow: false }, vec![0xfc, 1, 0, 0, 0, 0, 0, 0, 0]),
        (Packet::Bep { fup: false }, vec![0x02, 0x33]),
    ]
}

#[test]
fn each_packet_has_the_manuals_bytes() {
    for (packet, expected) in all() {
        let mut bytes = Vec::new();
        packet.put(&mut bytes);
        assert_eq!(bytes, expected, "{packet:?}");
    }
}

#[test]
fn the_walk_steps_over_each_packet() {
    let bytes: Vec<u8> = all().into_iter().flat_map(|(_, bytes)| bytes).collect();
    let lengths: Vec<usize> = Walk::new(&bytes).map(|(_, length, _)| length).collect();
    assert_eq!(lengths, all().iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>());
    assert!(Walk::new(&bytes).all(|(_, _, kind)| kind != Walked::Foreign));
}

#[test]
fn the_walk_skips_foreign_bytes_up_to_the_next_psb() {
    let mut bytes = vec![0x02, 0x23, 0x02, 0xff, 0x02, 0x23, 0xa5];
    let psb = bytes.len();
    Packet::Psb.put(&mut bytes);
    bytes.extend([0x19, 0x01]);
    let found: Vec<_> = Walk::new(&bytes).collect();
    let expected = [
        (0, 2, Walked::PsbEnd),
        (2, psb - 2, Walked::Foreign),
        (psb, 16, Walked::Psb),
        // A TSC that is cut short.
        (psb + 16, 2, Walked::Foreign),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_walk_ends_on_any_bytes() {
    // A fixed sequence of bytes, all lengths: each step moves on and none leaves the bytes.
    let mut state = 1u32;
    let bytes: Vec<u8> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    for end in 0..bytes.len() {
        let walked: usize = Walk::new(&bytes[..end]).map(|(_, length, _)| length).sum();
        assert_eq!(walked, end);
    }
}
