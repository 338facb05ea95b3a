use std::ops::Range;
use std::path::Path;

use model::{Cpu, PerfTime, Tid};
use proptest::prelude::*;

use super::*;
use crate::bytes;
use crate::record::kinds;
use crate::test_file::{TestFile, name};

/// An `AUXTRACE_INFO` record of Intel PT with ten words, all zero.
fn info() -> Vec<u8> {
    let mut body = bytes![1u32, 0u32];
    body.resize(8 + 10 * 8, 0);
    body
}

/// An AUXTRACE record of CPU 3 and its bytes.
fn auxtrace(file: TestFile, aux_offset: u64, payload: &[u8]) -> TestFile {
    let size = payload.len() as u64;
    let body = bytes![size, aux_offset, 77u64, 3u32, u32::MAX, 3u32, 0u32];
    file.record(kinds::AUXTRACE, 0, &body).raw(payload)
}

/// A SWITCH out at each of `times`, a name before them, and 64 bytes of trace in two records.
fn capture(times: &[u64]) -> PerfData {
    let comm = [bytes![10i32, 11i32], name("worker")].concat();
    let mut file = TestFile::new().record(kinds::AUXTRACE_INFO, 0, &info()).timed(kinds::COMM, 0, &comm, 1);
    for &time in times {
        file = file.timed(kinds::SWITCH, 1 << 13, &[], time);
    }
    let payload: Vec<u8> = (0..32).collect();
    let file = auxtrace(auxtrace(file, 0, &payload), 32, &payload);
    file.feature(crate::features::AUXTRACE, Vec::new()).open()
}

fn reopened(perf: &PerfData, plan: &SlicePlan) -> PerfData {
    PerfData::from_bytes(Path::new("slice"), perf.slice(plan)).expect("a sound header")
}

fn records(perf: &PerfData) -> Vec<Vec<u8>> {
    let is_trace = |timed: &crate::TimedRecord<'_>| matches!(timed.record, crate::Record::Auxtrace { .. });
    let own = perf.records().filter(|timed| !is_trace(timed));
    own.map(|timed| perf.records.bytes(timed.offset).to_vec()).collect()
}

fn all_cpus(range: Range<u64>) -> CpuTimes {
    CpuTimes { cpu: None, range: PerfTime(range.start)..PerfTime(range.end) }
}

#[test]
fn bytes_keep_their_place_in_the_stream() {
    let perf = capture(&[100]);
    // The end of the first record and the begin of the second: one stretch, padded to eight bytes.
    let aux = vec![AuxPart { buffer: 0, range: 24..32 }, AuxPart { buffer: 1, range: 0..5 }];
    let slice = reopened(&perf, &SlicePlan { aux, ..SlicePlan::default() });
    let [buffer] = slice.aux_buffers() else { panic!("{:?}", slice.aux_buffers()) };
    let place = (buffer.cpu, buffer.idx, buffer.aux_offset, buffer.reference, buffer.size);
    assert_eq!(place, (Some(Cpu(3)), 3, 24, 77, 16));
    let expected: Vec<u8> = (24..32).chain(0..5).chain([0; 3]).collect();
    assert_eq!(slice.aux_bytes(buffer), expected);
    assert_eq!(slice.diagnostics(), perf.diagnostics());
}

#[test]
fn trace_with_holes_says_that_it_is_snapshots_and_remembers_that_it_was_none() {
    let perf = capture(&[100]);
    let aux = vec![AuxPart { buffer: 0, range: 0..8 }, AuxPart { buffer: 1, range: 8..16 }];
    let bytes = perf.slice(&SlicePlan { aux, ..SlicePlan::default() });
    let info = PerfData::from_bytes(Path::new("slice"), bytes).expect("a sound header");
    let record = info.records().find(|timed| matches!(timed.record, crate::Record::AuxtraceInfo { .. }));
    let record = info.records.bytes(record.expect("AUXTRACE_INFO").offset);
    // Header, type and padding, then word 8: perf reads it to know whether buffers follow one another.
    assert_eq!(record[8 + 8 + 8 * 8..][..8], 1u64.to_le_bytes());
    assert!(!info.intel_pt().expect("Intel PT").snapshot_mode);
    assert_eq!(info.aux_buffers().iter().map(|buffer| buffer.aux_offset).collect::<Vec<_>>(), [0, 40]);
}

#[test]
fn the_note_comes_back_and_places_are_those_of_the_recording() {
    let perf = capture(&[100, 200, 300]);
    let plan = SlicePlan {
        times: Some(vec![all_cpus(200..201)]),
        note: b"anything".to_vec(),
        ..SlicePlan::default()
    };
    let slice = reopened(&perf, &plan);
    assert_eq!(slice.slice_note().map(|note| &note.bytes[..]), Some(&b"anything"[..]));
    for timed in slice.records() {
        let origin = slice.origin(timed.offset);
        assert_eq!(perf.records.bytes(origin)[..16], slice.records.bytes(timed.offset)[..16]);
    }
    let twice = reopened(&slice, &plan);
    let places = |perf: &PerfData| perf.records().map(|timed| perf.origin(timed.offset)).collect::<Vec<_>>();
    assert_eq!(places(&twice), places(&slice), "a slice of a slice names the recording's places");
}

/// A slice that was written when copies still counted: the third switch is the second again.
#[test]
fn a_copy_in_a_slice_moves_no_place() {
    let perf = capture(&[100, 200, 300, 400]);
    let at = |perf: &PerfData, time| {
        let timed = perf.records().find(|timed| timed.time == Some(PerfTime(time)));
        timed.expect("a record").offset
    };
    let mut bytes = perf.slice(&SlicePlan::default());
    let slice = PerfData::from_bytes(Path::new("slice"), bytes.clone()).expect("a sound header");
    let [second, third] = [200, 300].map(|time| usize::try_from(at(&slice, time).0).expect("fits"));
    bytes.copy_within(second..third, third);
    let copied = PerfData::from_bytes(Path::new("slice"), bytes).expect("a sound header");
    assert_eq!(copied.repeats().len(), 1);
    assert_eq!(copied.origin(at(&copied, 400)), at(&perf, 400));
}

proptest! {
    /// All records, byte for byte and in order, where all are wanted; what stands there twice once.
    #[test]
    fn a_slice_of_everything_holds_every_record(times in prop::collection::vec(2u64..1_000, 0..40)) {
        let perf = capture(&times);
        let slice = reopened(&perf, &SlicePlan::default());
        prop_assert_eq!(records(&slice), records(&perf));
        prop_assert!(slice.repeats().is_empty());
        let said = perf.diagnostics().iter().filter(|it| !it.what.contains("byte for byte with the same time"));
        prop_assert!(slice.diagnostics().iter().eq(said), "{:?}", slice.diagnostics());
    }

    /// Of a time every record, byte for byte, and what names threads; nothing that the recording has not.
    #[test]
    fn a_slice_of_a_time_holds_every_record_of_it(
        times in prop::collection::vec(2u64..1_000, 0..200),
        start in 0u64..1_000,
        length in 0u64..300,
    ) {
        let perf = capture(&times);
        let plan = SlicePlan { times: Some(vec![all_cpus(start..start + length)]), ..SlicePlan::default() };
        let slice = reopened(&perf, &plan);
        let of_time = |perf: &PerfData| -> Vec<Vec<u8>> {
            let within = perf.records_in(PerfTime(start)..PerfTime(start + length));
            let timed = within.filter(|timed| timed.time.is_some());
            timed.map(|timed| perf.records.bytes(timed.offset).to_vec()).collect()
        };
        prop_assert_eq!(of_time(&slice), of_time(&perf));
        let all = records(&perf);
        prop_assert!(records(&slice).iter().all(|record| all.contains(record)));
        prop_assert_eq!(slice.comm_at(Tid(11), PerfTime(500)), Some("worker"));
    }
}
