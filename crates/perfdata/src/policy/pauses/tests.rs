//! Pauses by hand-made attributes and samples, in the layout of Linux 6.13's `perf_event_attr`.

use super::*;
use crate::bytes;
use crate::test_file::{SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr};

/// An attribute with these bits in the word after `aux_sample_size`, which lies at byte 112.
fn acting(bits: u32) -> Vec<u8> {
    let mut attr = attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL);
    attr[116..120].copy_from_slice(&bits.to_le_bytes());
    attr
}

/// A trace (7) that begins paused or not, an event that pauses it (8) and one that resumes it (9).
fn file(trace: u32) -> TestFile {
    TestFile::default().attr(acting(trace), &[7]).attr(acting(2), &[8]).attr(acting(4), &[9])
}

/// A sample of the event `id` at `time` on a CPU: IDENTIFIER, IP, TID, TIME, CPU.
fn sampled(file: TestFile, id: u64, time: u64, cpu: u32) -> TestFile {
    file.record(9, 0, &bytes![id, 0u64, 10i32, 11i32, time, cpu, 0u32])
}

/// When CPU 3 was paused, and whether a record says so.
fn paused(pauses: &Pauses, range: Range<u64>) -> Vec<(u64, u64, bool)> {
    let pauses = pauses.within(TraceOf::Cpu(Cpu(3)), PerfTime(range.start)..PerfTime(range.end));
    pauses.iter().map(|pause| (pause.range.start.0, pause.range.end.0, pause.by.is_some())).collect()
}

#[test]
fn the_attribute_says_which_event_pauses() {
    let perf_data = file(1).open();
    let bits: Vec<u32> = perf_data.attrs().iter().map(|attr| attr.aux_action).collect();
    assert_eq!(bits, [aux_action::START_PAUSED, aux_action::PAUSE, aux_action::RESUME]);
    // As Linux 6.12 writes it: the word is reserved, and zero.
    assert!(TestFile::new().open().attrs().iter().all(|attr| attr.aux_action == 0));
}

#[test]
fn a_trace_is_paused_from_one_sample_to_the_other() {
    let file = [(8, 100, 3), (9, 200, 3), (9, 250, 3), (8, 300, 2), (8, 400, 3)];
    let perf_data =
        file.iter().fold(self::file(0), |file, &(id, time, cpu)| sampled(file, id, time, cpu)).open();
    let pauses = perf_data.pauses();
    assert_eq!(paused(pauses, 0..1000), [(100, 200, true), (400, 1000, true)]);
    assert_eq!(paused(pauses, 150..160), [(150, 160, true)]);
    assert_eq!(paused(pauses, 200..400), []);
    let thread = pauses.within(TraceOf::Thread(Tid(11)), PerfTime(320)..PerfTime(330));
    assert_eq!(thread.len(), 1, "its own samples of all CPUs");
    let before: Vec<u64> = pauses.records_before(PerfTime(260)).map(|record| record.0).collect();
    let of =
        |time| perf_data.records().find(|record| record.time == Some(PerfTime(time))).expect("it").offset.0;
    assert_eq!(before, [of(250), of(250)], "of the CPU and of the thread");
}

#[test]
fn a_trace_that_begins_paused_is_so_until_it_is_resumed() {
    let perf_data = sampled(sampled(file(1), 9, 100, 3), 8, 150, 3).open();
    assert_eq!(paused(perf_data.pauses(), 20..1000), [(20, 100, false), (150, 1000, true)]);
    // Nothing ever resumed CPU 2.
    let never = perf_data.pauses().within(TraceOf::Cpu(Cpu(2)), PerfTime(5)..PerfTime(6));
    assert_eq!(never.len(), 1);
    assert_eq!(paused(file(0).open().pauses(), 0..1000), []);
}

/// A lost sample may have resumed it.
#[test]
fn a_loss_ends_what_was_known() {
    let lost = sampled(file(1), 8, 100, 3).timed(2, 0, &bytes![7u64, 1u64], 150);
    let perf_data = sampled(sampled(lost, 9, 200, 3), 8, 300, 3).open();
    assert_eq!(paused(perf_data.pauses(), 0..400), [(0, 100, false), (100, 150, true), (300, 400, true)]);
}
