//! When a packet says that its branch retired, worked out by hand from the manual's "Cycle Packet Semantics".

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::*;

const CODE: u64 = 0x40_1000;

/// One core cycle per TSC tick; a crystal tick each 100 ticks.
fn encoder(mtc_period: Option<u8>) -> Encoder {
    let settings = Settings {
        return_compression: true,
        cycles: true,
        mtc_period,
        tsc_numerator: 100,
        tsc_denominator: 1,
        psb_bytes: 2048,
        ratios: true,
        tsc_ratio: 25,
        long_tnt: false,
        addresses: Addresses::Short,
        event_trace: false,
        event_addresses: false,
    };
    let mut encoder = Encoder::new(settings);
    encoder.start(1000, CODE, ExecMode::Bits64);
    encoder
}

/// A loop of one instruction goes round at each of these times.
fn branches(encoder: &mut Encoder, times: &[u64]) {
    let jump = Instruction::decode(&[0x75, 0xfe], CODE, 64).unwrap();
    for &tsc in times {
        encoder.retire(tsc, &jump, Some((CODE, ExecMode::Bits64)));
    }
}

#[test]
fn a_cyc_before_a_tnt_tells_when_its_first_branch_retired() {
    let mut encoder = encoder(None);
    let from = encoder.written();
    branches(&mut encoder, &[1010, 1020, 1030]);
    encoder.asynchronous(1050, CODE, Some((CODE, ExecMode::Bits64)));
    // CYC 10 (10 << 3 | 3); TNT: stop bit, taken thrice; CYC 40 = 1 << 5 | 8; FUP and TIP of the same address.
    let expected = [0x53, 0b0001_1110, 0x47, 0x02, 0x3d, 0x00, 0x10, 0x2d, 0x00, 0x10];
    assert_eq!(encoder.bytes[from..], expected);
}

#[test]
fn no_branch_is_held_back_across_an_mtc() {
    let mut encoder = encoder(Some(0));
    let from = encoder.written();
    branches(&mut encoder, &[1010, 1020, 1130]);
    encoder.disable_at(1150, CODE);
    let expected = [
        vec![0x53, 0b0000_1110],      // CYC 10 to 1010; taken twice
        vec![0xd7, 0x04, 0x59, 11],   // CYC 90 = 2 << 5 | 26 to 1100; MTC of crystal tick 11
        vec![0xf3, 0b0000_0110],      // CYC 30 to 1130; taken once
        vec![0xa3, 0x3d, 0x00, 0x10], // CYC 20 to 1150; FUP
        vec![0x01],                   // TIP.PGD
    ];
    assert_eq!(encoder.bytes[from..], expected.concat());
}
