//! Records in brief against the same records parsed.

use model::{Cpu, PerfTime, ThreadId};

use super::{Label, Placed, Threads, What};
use crate::PerfData;
use crate::bytes;
use crate::ordered_records::{Brief, Found};
use crate::record::{Exchange, Record, TimedRecord};
use crate::stretches::LastFound;
use crate::test_file::{SAMPLE_ID_ALL, TestFile, attr};

/// IDENTIFIER, TID, TIME and CPU.
const FIELDS: u64 = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 7;

fn briefs(perf_data: &PerfData) -> Vec<Brief<'_>> {
    perf_data.records.all().briefs().collect()
}

#[test]
fn a_sample_in_brief() {
    let body = bytes![7u64, 10i32, 11i32, 500u64, 3u32, 0u32];
    let perf_data =
        TestFile::default().attr(attr(4, 0, FIELDS, SAMPLE_ID_ALL), &[7]).record(9, 2, &body).open();
    let briefs = briefs(&perf_data);
    let [brief] = &briefs[..] else { panic!("{briefs:?}") };
    assert_eq!(brief.what, What::Sample(Some(0)));
    assert_eq!(brief.time, Some(PerfTime(500)));
    assert_eq!((brief.cpu, brief.thread), (Some(Cpu(3)), Some(ThreadId::new(10, 11))));
}

/// A CPU with a number of more than 16 bits; a sample without a time, which has a thread all the same.
#[test]
fn what_has_no_room_is_looked_at() {
    let far = bytes![7u64, 10i32, 11i32, 500u64, 70_000u32, 0u32];
    let untimed = bytes![7u64, 10i32, 12i32, 0u64, 3u32, 0u32];
    let file = TestFile::default().attr(attr(4, 0, FIELDS, SAMPLE_ID_ALL), &[7]);
    let perf_data = file.record(9, 2, &untimed).record(9, 2, &far).open();
    let briefs = briefs(&perf_data);
    assert_eq!(briefs.iter().map(|brief| brief.what).collect::<Vec<_>>(), [What::Sample(Some(0)); 2]);
    let places: Vec<_> = briefs.iter().map(|brief| (brief.time, brief.cpu, brief.thread)).collect();
    let expected = [
        (None, Some(Cpu(3)), Some(ThreadId::new(10, 12))),
        (Some(PerfTime(500)), Some(Cpu(70_000)), Some(ThreadId::new(10, 11))),
    ];
    assert_eq!(places, expected);
}

/// By its length, its raw payload is longer than the record.
#[test]
fn a_damaged_sample_has_no_place() {
    let body = bytes![7u64, 10i32, 11i32, 500u64, 3u32, 0u32, 99u32, 0u32];
    let file = TestFile::default().attr(attr(4, 0, FIELDS | 1 << 10, SAMPLE_ID_ALL), &[7]);
    let perf_data = file.record(9, 2, &body).open();
    let briefs = briefs(&perf_data);
    assert_eq!(briefs.len(), 1);
    assert_eq!((briefs[0].time, briefs[0].cpu, briefs[0].thread), (None, None, None));
    assert!(matches!(briefs[0].what, What::Kind(9)), "{:?}", briefs[0]);
}

#[test]
fn threads_are_numbered_once() {
    let mut threads = Threads::default();
    // The last one lies in the same place as the first.
    let all = [(1, 2), (1, 3), (5, 2), (1, 2 + 1024)].map(|(pid, tid)| ThreadId::new(pid, tid));
    let numbers = |threads: &mut Threads| all.map(|thread| threads.number(thread));
    assert_eq!(numbers(&mut threads), [0, 1, 2, 3]);
    assert_eq!(numbers(&mut threads), [0, 1, 2, 3]);
    assert_eq!(threads.all.len(), 4);
    let unplaced = Label::default().placed(&threads);
    assert_eq!(unplaced, None::<Placed>);
}

/// Samples, kernel records with and without a time, and records of perf's own.
#[test]
fn briefs_are_the_records() {
    let fork = bytes![20i32, 10i32, 21i32, 11i32, 9u64];
    let file = TestFile::new().timed(7, 0, &fork, 100).timed(14, 0x2000, &[], 200).timed(14, 0, &[], 0);
    let sample = file.timed(9, 2, &[0; 8], 300).record(68, 0, &[]).timed(11, 0, &[0; 24], 400);
    let perf_data = sample.record(99, 0, &[0; 8]).open();
    let parsed: Vec<TimedRecord<'_>> = perf_data.records().collect();
    let briefs = briefs(&perf_data);
    assert_eq!((parsed.len(), briefs.len()), (7, 7));
    for (parsed, brief) in parsed.iter().zip(&briefs) {
        assert_eq!((parsed.offset, parsed.time), (brief.offset, brief.time), "{parsed:?}");
        assert_eq!((parsed.cpu, parsed.thread), (brief.cpu, brief.thread), "{parsed:?}");
        let is_sample = matches!(brief.what, What::Sample(_));
        assert_eq!(is_sample, matches!(parsed.record, Record::Sample(_)), "{parsed:?}");
        assert!(brief.record(&mut LastFound::default()).is_some_and(|record| record.offset == parsed.offset));
    }
}

/// What the label says is not read again: the same comes of it as of all of the bytes, whichever fields a sample has.
#[test]
fn a_sample_read_by_its_label_is_the_same() {
    const FRONT: [u32; 9] = [16, 0, 1, 2, 3, 6, 9, 7, 8];
    const RAW: u64 = 1 << 10;
    for absent in 0..1u64 << FRONT.len() {
        let is_there = |place: &usize| absent >> place & 1 == 0;
        let has = (0..FRONT.len()).filter(is_there).fold(0, |bits, place| bits | 1 << FRONT[place]);
        // A distinct word for each field in the kernel's order, then four bytes of payload.
        let words = (0..FRONT.len()).filter(is_there).flat_map(|place| (40 + place as u64).to_le_bytes());
        let body: Vec<u8> = words.chain(bytes![4u32, 7u32]).collect();
        let file = TestFile::default().attr(attr(4, 0, has | RAW, SAMPLE_ID_ALL), &[40, 45]);
        let perf_data = file.record(9, 2, &body).open();
        let [record] = &perf_data.records().collect::<Vec<_>>()[..] else { panic!("{has:#x}") };
        let whole = perf_data.record_at(record.offset);
        assert_eq!(format!("{:?}", Some(record)), format!("{:?}", whole.as_ref()), "{has:#x}");
    }
}

/// Of two events the first records a payload alone, the second a callchain before it.
#[test]
fn a_payload_is_read_where_nothing_stands_around_it() {
    const RAW: u64 = 1 << 10;
    const CALLCHAIN: u64 = 1 << 5;
    let alone = bytes![7u64, 10i32, 11i32, 500u64, 3u32, 0u32, 4u32, 0x1234u32];
    let chained = bytes![8u64, 10i32, 11i32, 600u64, 3u32, 0u32, 0u64, 4u32, 0x5678u32];
    let file = TestFile::default().attr(attr(2, 0, FIELDS | RAW, SAMPLE_ID_ALL), &[7]);
    let file = file.attr(attr(2, 1, FIELDS | RAW | CALLCHAIN, SAMPLE_ID_ALL), &[8]);
    let perf_data = file.record(9, 2, &alone).record(9, 2, &chained).open();
    let found: Vec<Found<'_>> = perf_data.records().with_raw(|_| true).collect();
    let [Found::Raw(raw), Found::Whole(whole)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((raw.event, raw.time, raw.raw), (0, PerfTime(500), &bytes![0x1234u32][..]));
    assert_eq!((raw.cpu, raw.thread), (Some(Cpu(3)), Some(ThreadId::new(10, 11))));
    let Record::Sample(sample) = whole.record else { panic!("{whole:?}") };
    assert_eq!((sample.event(), sample.raw()), (Some(1), Some(&bytes![0x5678u32][..])));
    let is_whole = |found: Found<'_>| matches!(found, Found::Whole(_));
    assert!(perf_data.records().with_raw(|event| event != 0).all(is_whole));
}

/// `SWITCH_CPU_WIDE` out to 20/21, preempted; one cut short before its trailer; SWITCH in.
#[test]
fn what_a_switch_says_itself() {
    const SWITCH: u32 = 14;
    const SWITCH_CPU_WIDE: u32 = 15;
    let trailer = |time: u64| bytes![10i32, 11i32, time, 3u32, 0u32, 7u64];
    let wide = [bytes![20i32, 21i32], trailer(500)].concat();
    let file = TestFile::default().attr(attr(4, 0, FIELDS, SAMPLE_ID_ALL), &[7]);
    let file = file.record(SWITCH_CPU_WIDE, 3 << 13, &wide).record(SWITCH_CPU_WIDE, 1 << 13, &trailer(600));
    let perf_data = file.record(SWITCH, 0, &trailer(700)).open();
    let mut last = LastFound::default();
    let said: Vec<_> = briefs(&perf_data).iter().map(|brief| brief.exchange(&mut last)).collect();
    let out = Exchange { out: true, preempt: true, other: Some(ThreadId::new(20, 21)) };
    assert_eq!(said, [Some(out), None, Some(Exchange { out: false, preempt: false, other: None })]);
}
