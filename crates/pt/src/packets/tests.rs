//! Bytes as the SDM's packet definitions spell them, worked out by hand.

use proptest::prelude::*;

use super::*;

fn ip(compression: u8, payload: u64) -> PacketIp {
    PacketIp { compression, payload }
}

#[test]
fn every_packet_by_its_bytes() {
    let psb = [0x02u8, 0x82].repeat(8);
    let cases: Vec<(&[u8], Packet)> = vec![
        (&[0x00], Packet::Pad),
        (&psb, Packet::Psb),
        (&[0x02, 0x23], Packet::PsbEnd),
        (&[0x06], Packet::Tnt { bits: 1, taken: 1 }),
        (&[0x04], Packet::Tnt { bits: 1, taken: 0 }),
        // Stop bit 7, then N T T N T N.
        (&[0b1011_0100], Packet::Tnt { bits: 6, taken: 0b01_1010 }),
        (&[0x02, 0xa3, 0x05, 0, 0, 0, 0, 0x80], Packet::Tnt { bits: 47, taken: 5 }),
        (&[0x0d], Packet::Tip(ip(0, 0))),
        (&[0x2d, 0x34, 0x12], Packet::Tip(ip(1, 0x1234))),
        (&[0x51, 0x78, 0x56, 0x34, 0x12], Packet::TipPge(ip(2, 0x1234_5678))),
        (&[0x61, 1, 2, 3, 4, 5, 6], Packet::TipPgd(ip(3, 0x0605_0403_0201))),
        (&[0x9d, 1, 2, 3, 4, 5, 6], Packet::Fup(ip(4, 0x0605_0403_0201))),
        (&[0xdd, 1, 2, 3, 4, 5, 6, 7, 8], Packet::Fup(ip(6, 0x0807_0605_0403_0201))),
        (&[0x19, 0x3c, 0xaa, 0x03, 0x1c, 0x21, 0xb5, 0x8f], Packet::Tsc(0x8f_b521_1c03_aa3c)),
        (&[0x02, 0x73, 0xb1, 0xf9, 0x00, 0x0c, 0x01], Packet::Tma { ctc: 0xf9b1, fast: 0x10c }),
        (&[0x59, 0x6c], Packet::Mtc(0x6c)),
        (&[0xbb], Packet::Cyc(0x17)),
        (&[0x07, 0x36], Packet::Cyc(0x360)),
        (&[0x07, 0x37, 0x02], Packet::Cyc(0x360 + (1 << 12))),
        (&[0x02, 0x03, 0x1b, 0x00], Packet::Cbr(0x1b)),
        (&[0x99, 0x01], Packet::ModeExec { long: true, default_32: false, interrupts: false }),
        (&[0x99, 0x06], Packet::ModeExec { long: false, default_32: true, interrupts: true }),
        (&[0x99, 0x21], Packet::ModeTsx { active: true, aborted: false }),
        (&[0x99, 0x22], Packet::ModeTsx { active: false, aborted: true }),
        (&[0x02, 0x43, 0x00, 0xe9, 0x44, 0, 0, 0], Packet::Pip { cr3: 0x44_e900 << 4, non_root: false }),
        (&[0x02, 0x43, 0x03, 0, 0, 0, 0, 0], Packet::Pip { cr3: 0x20, non_root: true }),
        (&[0x02, 0xc8, 1, 0, 0, 0, 0], Packet::Vmcs(0x1000)),
        (&[0x02, 0xf3], Packet::Ovf),
        (&[0x02, 0x83], Packet::TraceStop),
        (&[0x02, 0xc3, 0x88, 1, 0, 0, 0, 0, 0, 0, 0], Packet::Mnt(1)),
        (&[0x02, 0x12, 1, 2, 3, 4], Packet::Ptw { payload: 0x0403_0201, size: 4, ip: false }),
        (
            &[0x02, 0xb2, 1, 0, 0, 0, 0, 0, 0, 0x51],
            Packet::Ptw { payload: 0x51 << 56 | 1, size: 8, ip: true },
        ),
        (&[0x02, 0x62], Packet::ExStop { ip: false }),
        (&[0x02, 0xe2], Packet::ExStop { ip: true }),
        (&[0x02, 0xc2, 0x60, 0, 0, 0, 1, 0, 0, 0], Packet::Mwait { hints: 0x60, ext: 1 }),
        (&[0x02, 0x22, 0x80, 0x61], Packet::Pwre { state: 6, sub_state: 1, by_hardware: true }),
        (&[0x02, 0xa2, 0x36, 0x01, 0, 0, 0], Packet::Pwrx { last: 3, deepest: 6, reason: 1 }),
        (&[0x02, 0x63, 0x81], Packet::Bbp { kind: 1, size: 4 }),
        (&[0x02, 0x33], Packet::Bep { ip: false }),
        (&[0x02, 0x13, 0x81, 0x0e], Packet::Cfe { kind: 1, vector: 14, ip: true }),
        // By libipt's test `trig-fup`: vector 1a, FUP follows, count 0; and `trig`: vector 3, others as well.
        (&[0xd9, 0xc0, 0x1a, 0, 0], Packet::Trig { triggers: 0x1a, count: Some(0), ip: true, more: false }),
        (&[0xd9, 0x20, 0x03], Packet::Trig { triggers: 3, count: None, ip: false, more: true }),
        (&[0x02, 0x53, 0x00, 0, 0x10, 0, 0, 0, 0, 0, 0], Packet::Evd { kind: 0, payload: 0x1000 }),
    ];
    for (bytes, packet) in cases {
        let mut padded = bytes.to_vec();
        padded.push(0);
        let found: Vec<PacketAt> = Packets::new(&padded).collect();
        let expected = PacketAt { offset: 0, length: bytes.len(), packet };
        assert_eq!(found.first(), Some(&expected), "{bytes:x?}");
        assert_eq!(found.len(), 2, "{bytes:x?}");
        // Cut short it is no packet.
        let cut = Packets::new(&bytes[..bytes.len() - 1]).next_exact();
        assert!(cut.is_none_or(|cut| cut.packet != packet), "{bytes:x?}");
    }
}

#[test]
fn block_items_are_read_inside_a_block_only() {
    let bytes = [0x02, 0x63, 0x81, 0x0c, 1, 2, 3, 4, 0x02, 0x33, 0x0c];
    let packets: Vec<Packet> = Packets::new(&bytes).map(|packet| packet.packet).collect();
    let item = Packet::Bip { id: 1, payload: 0x0403_0201 };
    // After the block the same byte is a TNT: stop bit 3, T N.
    let tnt = Packet::Tnt { bits: 2, taken: 2 };
    assert_eq!(packets, [Packet::Bbp { kind: 1, size: 4 }, item, Packet::Bep { ip: false }, tnt]);
}

#[test]
fn skips_what_is_no_packet_to_the_next_psb() {
    let mut bytes = vec![0x06, 0x05, 0x06, 0x06];
    bytes.extend(PSB);
    bytes.push(0x06);
    let mut packets = Packets::new(&bytes);
    let offsets: Vec<usize> = packets.by_ref().map(|packet| packet.offset).collect();
    assert_eq!(offsets, [0, 4, 20]);
    assert_eq!(packets.skipped(), 3);
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut end = 0;
        for packet in Packets::new(&bytes) {
            prop_assert!(packet.offset >= end && packet.length > 0);
            end = packet.offset + packet.length;
        }
        prop_assert!(end <= bytes.len());
    }
}
