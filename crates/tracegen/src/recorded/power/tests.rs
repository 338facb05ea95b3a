//! A guest's records become those of the modelled machine: a file made by hand, its records by the layout of `linux/perf_event.h`.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::*;
use crate::container::{Container, Event};

/// `power:cpu_idle` has the id 7 on CPU 0 and 8 on CPU 1, `power:cpu_frequency` 9 and 10.
fn event(name: &'static str, config: u64, ids: Vec<u64>) -> Event {
    Event {
        name,
        kind: 2,
        config,
        config1: 0,
        sample_period: 1,
        read_format: 4,
        flags: 1 << 18,
        sample_type: SAMPLE_TYPE,
        aux_sample_size: 0,
        aux_action: 0,
        ids,
    }
}

/// A sample of `power:cpu_idle`, field by field.
fn sample(id: u64, time: u64, cpu: u32, state: u32) -> Vec<u8> {
    let mut bytes = [9u32.to_le_bytes(), (80u32 << 16 | 1).to_le_bytes()].concat();
    for word in [id, 0xffff_ffff_8100_0000, 0, time, u64::from(cpu), 1] {
        bytes.extend(word.to_le_bytes());
    }
    for word in [20u32, 400, 0, state, cpu, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn guest(folder: &std::path::Path, names: [&'static str; 2]) -> Capture {
    let mut out = Container::default();
    out.events = vec![event(names[0], 400, vec![7, 8]), event(names[1], 401, vec![9, 10])];
    out.push_bytes(&sample(7, 1_000, 0, 1));
    out.push_bytes(&sample(8, 1_100, 1, 1));
    out.push_bytes(&sample(7, 2_000, 0, AWAKE));
    out.push_bytes(&sample(7, 3_000, 0, 1)); // an interrupt was there before the CPU halted
    out.push_bytes(&sample(7, 3_500, 0, AWAKE));
    out.push_bytes(&sample(8, 9_000, 1, AWAKE));
    out.describe_events();
    let path = folder.join("data");
    std::fs::write(&path, out.finish()).unwrap();
    Capture::read(&path).unwrap()
}

const NANOSECONDS: PerfTime = PerfTime { shift: 0, mult: 1, zero: 0 };

#[test]
fn halts_and_requests_are_in_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let guest = guest(folder.path(), ["power:cpu_idle", "power:cpu_frequency"]);
    let mut events = PowerEvents::default();
    events.idle(0, 1_010, 3);
    events.idle(1, 1_120, 2);
    events.request(1, 9_500, 0, 20);
    let records = PowerRecords::of(&events, &guest, &Schedule::default(), NANOSECONDS).unwrap();
    let state = |record: &Record| {
        let mut bytes = guest.bytes[record.place.clone()].to_vec();
        records.restate(record, &mut bytes);
        u32::from_le_bytes(bytes[68..72].try_into().unwrap())
    };
    assert_eq!(guest.records.iter().map(state).collect::<Vec<_>>(), [3, 2, AWAKE, 1, AWAKE, AWAKE]);
    // On CPU 1, where it was requested: 2 GHz for CPU 0; the tracepoint is 401.
    let mut expected = sample(10, 9_500, 1, 2_000_000);
    expected[60..62].copy_from_slice(&401u16.to_le_bytes());
    expected[72..76].copy_from_slice(&0u32.to_le_bytes());
    assert_eq!(records.requests, [(9_500, expected)]);
}

#[test]
fn a_request_without_an_event_for_its_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let guest = guest(folder.path(), ["power:cpu_idle", "sched:sched_switch"]);
    let mut events = PowerEvents::default();
    events.request(0, 500, 1, 20);
    let error = PowerRecords::of(&events, &guest, &Schedule::default(), NANOSECONDS).unwrap_err();
    assert!(error.to_string().contains("trace both"), "{error}");
}
