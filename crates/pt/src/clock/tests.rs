use super::*;

/// 24 MHz crystal, 2.4 GHz TSC: 100 ticks a crystal clock; an MTC each eight: 800 ticks.
fn clock() -> TscEstimate {
    TscEstimate::new(&PtConfig { cpu: None, mtc_freq: 3, nom_freq: 24, tsc_ctc_ratio: Some((200, 2)) })
}

fn times(packets: &[Packet]) -> Vec<Option<u64>> {
    let mut clock = clock();
    packets
        .iter()
        .map(|packet| {
            clock.apply(packet);
            clock.now()
        })
        .collect()
}

#[test]
fn mtc_counts_from_tma() {
    // TMA: the crystal read 0x125 (5 clocks after 0x120 = MTC 0x24) 30 ticks before the TSC.
    let packets =
        [Packet::Tsc(1_000_000), Packet::Tma { ctc: 0x125, fast: 30 }, Packet::Mtc(0x25), Packet::Mtc(0x27)];
    let zero = 1_000_000 - 30 - 500;
    assert_eq!(times(&packets)[2..], [Some(zero + 800), Some(zero + 2400)]);
}

#[test]
fn mtc_wraps_at_eight_bits() {
    let packets = [Packet::Tsc(50_000), Packet::Tma { ctc: 0xfe << 3, fast: 0 }, Packet::Mtc(0x01)];
    assert_eq!(times(&packets)[2], Some(50_000 + 3 * 800));
}

#[test]
fn cycles_are_scaled_by_the_ratio() {
    // At ratio 12 of 24 a cycle takes two ticks.
    let packets = [Packet::Cbr(12), Packet::Tsc(1000), Packet::Cyc(30), Packet::Cbr(24), Packet::Cyc(30)];
    assert_eq!(times(&packets), [None, Some(1000), Some(1060), Some(1060), Some(1090)]);
}

#[test]
fn cycles_do_not_pass_the_next_mtc() {
    let packets =
        [Packet::Cbr(24), Packet::Tsc(0), Packet::Tma { ctc: 0, fast: 0 }, Packet::Cyc(5000), Packet::Mtc(1)];
    assert_eq!(times(&packets)[3..], [Some(800), Some(800)]);
}

#[test]
fn no_time_before_the_first_tsc() {
    assert_eq!(times(&[Packet::Cyc(5), Packet::Mtc(3), Packet::Cbr(9)]), [None; 3]);
}
