use proptest::prelude::*;

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

/// A clock that has a base, in some state; without a crystal clock if it has no MTC.
fn running(has_mtc: bool, ratio: u8, packets: &[Packet]) -> TscEstimate {
    let tsc_ctc_ratio = has_mtc.then_some((7, 2));
    let config = PtConfig { cpu: None, mtc_freq: 3, nom_freq: 24, tsc_ctc_ratio };
    let mut clock = TscEstimate::new(&config);
    let first = [Packet::Cbr(ratio), Packet::Tsc(1_000_000), Packet::Tma { ctc: 0x125, fast: 30 }];
    first.iter().chain(packets).for_each(|packet| clock.apply(packet));
    clock
}

proptest! {
    /// A pace takes the same packets to the same readings, all of them in order and before its end.
    #[test]
    fn a_pace_reads_as_the_clock_does(
        has_mtc: bool,
        ratio in 0_u8..40,
        before in 0_u64..3000,
        room in 0_u64..4000,
        steps in proptest::collection::vec((any::<bool>(), 0_u64..400, prop_oneof![9 => Just(1_u8), 1 => any::<u8>()]), 0..40),
    ) {
        let mut clock = running(has_mtc, ratio, &[Packet::Cyc(before)]);
        let mut reading = clock.now().expect("a base");
        let end = reading + room;
        let Some(mut pace) = clock.pace(end) else { return Ok(()) };
        let mut count = 0x24_u8;
        for (is_mtc, cycles, delta) in steps {
            if is_mtc {
                if !clock.clone().tick_at_pace(&mut pace, count.wrapping_add(delta)) {
                    break;
                }
                count = count.wrapping_add(delta);
                clock.tick(count);
            } else {
                let Some(mark) = pace.after(cycles) else { break };
                pace.pass(mark);
                clock.count(cycles);
                prop_assert_eq!(Some(clock.reading_at(mark)), clock.now());
            }
            let now = clock.now().expect("a base");
            prop_assert!((reading..end).contains(&now), "{} after {} before {}", now, reading, end);
            reading = now;
            let mut stood = clock.clone();
            stood.stand_at(&pace);
            prop_assert_eq!(stood.now(), clock.now());
        }
    }
}
