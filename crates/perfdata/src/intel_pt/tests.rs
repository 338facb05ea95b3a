//! The setup record and configurations by hand; masks and bits from `/sys/bus/event_source/devices/intel_pt/format`.

use super::{IntelPtConfig, IntelPtInfo};
use crate::bytes;

fn setup(filter: &[u8], behind: &[u8]) -> Vec<u8> {
    let words = bytes![
        1u32,
        0u32,
        8u64,
        31u64,
        672_770_566u64,
        18_446_744_061_102_431_664u64,
        1u64,
        0x400u64,
        0x800u64,
        3u64,
        1u64,
        1u64,
        0x200u64,
        0x3c000u64,
        266u64,
        2u64,
        2u64,
        32u64,
        filter.len() as u64
    ];
    [&words[..], filter, behind].concat()
}

#[test]
fn the_setup_record() {
    // Of 20 bytes, with four of padding.
    let filter = b"filter main @ /bin/a";
    let found = IntelPtInfo::parse(&setup(filter, &bytes![0u32, 1u64])).expect("complete");
    assert_eq!((found.pmu_type, found.have_sched_switch, found.snapshot_mode), (8, 3, true));
    assert_eq!((found.tsc_ctc_ratio_n, found.tsc_ctc_ratio_d, found.max_nonturbo_ratio), (266, 2, 32));
    assert_eq!((found.filter.as_str(), found.cap_event_trace), ("filter main @ /bin/a", true));
    // An older perf ends early; a filter's length may lie.
    assert!(!IntelPtInfo::parse(&setup(b"", b"")).expect("complete").cap_event_trace);
    let mut lying = setup(b"", b"");
    let length = lying.len() - 8;
    lying[length..].fill(0xff);
    assert_eq!(IntelPtInfo::parse(&lying).expect("complete").filter, "");
    let oldest = &setup(b"", b"")[..8 + 10 * 8];
    assert_eq!(IntelPtInfo::parse(oldest).map(|found| (found.per_cpu_mmaps, found.cyc_bit)), Some((true, 0)));
    assert_eq!(IntelPtInfo::parse(&oldest[..80]), None);
    let other = [&bytes![2u32][..], &setup(b"", b"")[4..]].concat();
    assert_eq!(IntelPtInfo::parse(&other), None, "Intel BTS");
}

/// Of `intel_pt/cyc,mtc,mtc_period=3,tsc,ptw,fup_on_ptw,pwr_evt,psb_period=1,branch,pt/`, worked out by hand:
/// `pt` 0x1, `cyc` 0x2, `pwr_evt` 0x10, `fup_on_ptw` 0x20, `mtc` 0x200, `tsc` 0x400, `ptw` 0x1000, `branch` 0x2000,
/// 3 << 14, 1 << 24.
#[test]
fn a_configuration() {
    let found = IntelPtInfo::parse(&setup(b"", b"")).expect("complete").config(0x100_f633);
    let expected = IntelPtConfig {
        tsc: true,
        cyc: true,
        mtc: true,
        mtc_period: 3,
        psb_period: 1,
        ptw: true,
        fup_on_ptw: true,
        pwr_evt: true,
        branch: true,
        ..IntelPtConfig::default()
    };
    assert_eq!(found, expected);
    let event =
        IntelPtInfo::parse(&setup(b"", b"")).expect("complete").config(1 << 55 | 1 << 31 | 5 << 19 | 0x801);
    assert_eq!((event.event, event.notnt, event.noretcomp, event.cyc_threshold), (true, true, true, 5));
    assert!(!event.branch, "pass-through without the branch bit");
}
