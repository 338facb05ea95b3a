//! Damaged recordings, other clocks and forms of values: a recording of the JDK with some bytes changed, and chunks by hand.

use std::path::Path;

use model::{Severity, ThreadId, Tsc};

use super::bytes::{Bytes, Text};
use super::metadata::{Class, Classes, Field};
use super::pools::{self, Value};
use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::file::read_intervals;
use crate::interval_set::IntervalSet;

/// Bytes of the header: the chunk's length, start by `CLOCK_REALTIME` and in ticks, ticks per second.
const LENGTH: usize = 8;
const START_NS: usize = 32;
const START_TICKS: usize = 48;
const TICKS_PER_SECOND: usize = 56;

fn unpacked(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spans").join(name);
    zstd::decode_all(std::fs::File::open(path).expect("there")).expect("zstd")
}

/// 60 events of two threads, as `tests/spans.rs` has them.
fn recording() -> Vec<u8> {
    unpacked("flight.jfr.zst")
}

/// 402 spans and calls of async-profiler.
fn profiled() -> Vec<u8> {
    unpacked("profiled.jfr.zst")
}

/// With pairs of a clock: two ticks are a nanosecond, up to the year 2100.
fn read_in(clock: Clock, recording: &[u8]) -> Result<IntervalSet, Error> {
    let pair = |ns: u64| ClockPair { clock, tsc: Tsc(2 * ns), ns, error_ns: 40 };
    let clocks = Clocks { pairs: vec![pair(0), pair(1 << 62)], ..Clocks::default() };
    read_intervals(Path::new("a.jfr"), recording, &clocks)
}

fn read(recording: &[u8]) -> IntervalSet {
    read_in(Clock::Realtime, recording).expect("usable")
}

fn complaints(set: &IntervalSet) -> Vec<String> {
    let worse = set.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    worse.map(|found| format!("{}: {}", found.place, found.what)).collect()
}

fn word(recording: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(recording[at..at + 8].try_into().expect("eight bytes"))
}

fn put(recording: &mut [u8], at: usize, value: u64) {
    recording[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

/// Where the JDK reads the TSC its ticks begin at some moment: that of the header's readings says which.
#[test]
fn ticks_of_the_tsc_are_taken_as_they_are() {
    let mut recording = recording();
    let by_nanoseconds = read(&recording);
    put(&mut recording, TICKS_PER_SECOND, 2_000_000_000);
    let by_tsc = read(&recording);
    let (start_ns, start_ticks) = (word(&recording, START_NS), word(&recording, START_TICKS));
    assert_eq!(by_tsc.intervals.len(), 60);
    for (ticks, nanoseconds) in by_tsc.intervals.iter().zip(&by_nanoseconds.intervals) {
        // With nanoseconds the distance from the chunk's start is doubled, for two ticks are one.
        let distance = nanoseconds.range.start.0 / 2 - start_ns;
        assert_eq!(ticks.range.start.0, 2 * start_ns + distance, "{start_ticks}");
    }
    // Of three readings one is late.
    let mut late = recording.clone();
    put(&mut late, START_NS, start_ns + 1_000_000);
    let three = [recording.clone(), late, recording].concat();
    assert_eq!(read(&three).intervals[0].range, by_tsc.intervals[0].range);
    assert!(matches!(
        read_in(Clock::Monotonic, &three),
        Err(Error::ClockNotJoined { clock: Clock::Realtime, .. })
    ));
}

#[test]
fn chunks_follow_one_another() {
    let set = read(&[recording(), recording()].concat());
    assert_eq!((set.intervals.len(), complaints(&set).len()), (120, 0));
    let ids: std::collections::BTreeSet<u64> = set.intervals.iter().map(|interval| interval.id.0).collect();
    assert_eq!(ids.len(), 120);
}

#[test]
fn what_is_cut_off_is_said_and_the_chunks_before_are_used() {
    let whole = recording();
    for (length, what) in [(whole.len() - 1, "within a chunk"), (30, "within the header of a chunk")] {
        let set = read(&[&whole[..], &whole[..length]].concat());
        assert_eq!(set.intervals.len(), 60);
        let said = complaints(&set);
        assert!(said[0].contains(what) && said[0].contains(&format!("{:#x}", whole.len())), "{said:?}");
    }
    let set = read(
        &[&whole[..], b"no chunk begins here, for it has another beginning; it is long enough for a header"]
            .concat(),
    );
    assert!(
        complaints(&set)[0].contains("no chunk of a flight recording begins here: the file is read up to it")
    );
}

#[test]
fn a_header_that_cannot_be_used_is_an_error() {
    let changed = |at: usize, value: u64| {
        let mut recording = recording();
        put(&mut recording, at, value);
        read_in(Clock::Realtime, &recording).expect_err("unusable").to_string()
    };
    assert!(changed(0, 0x464c_5200_0001_0000).contains("version 1; version 2"));
    // The JDK writes the length last.
    assert!(changed(LENGTH, 0).contains("it was not finished, or is damaged"));
    assert!(changed(LENGTH, u64::MAX).contains("it was not finished, or is damaged"));
    assert!(changed(TICKS_PER_SECOND, 0).contains("0 ticks a second"));
}

/// Wherever a byte is wrong, reading ends and makes no events.
#[test]
fn any_byte_may_be_wrong() {
    for (sound, clock, most) in [(recording(), Clock::Realtime, 60), (profiled(), Clock::Monotonic, 402)] {
        for at in (68..sound.len()).step_by(397) {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = sound.clone();
                damaged[at] ^= change;
                let Ok(set) = read_in(clock, &damaged) else { continue };
                assert!(set.intervals.len() <= most, "byte {at}");
            }
        }
    }
}

/// The JDK's nanoseconds are those of `CLOCK_REALTIME` from the chunk's begin on, async-profiler's are those of `CLOCK_MONOTONIC`.
#[test]
fn a_chunk_of_another_clock_is_left_out_and_reported() {
    let first = recording();
    let set = read(&[&first[..], &profiled()].concat());
    assert_eq!(set.intervals.len(), 60);
    let said = complaints(&set);
    assert!(
        said[0].contains(&format!("{:#x}", first.len()))
            && said[0].contains("read the recordings one by one"),
        "{said:?}"
    );
}

/// By the TSC async-profiler's ticks begin at some moment, as the JDK's.
#[test]
fn async_profilers_ticks_of_the_tsc_are_joined_by_its_reading() {
    let mut recording = profiled();
    let start = word(&recording, START_TICKS);
    let by_nanoseconds = read_in(Clock::Monotonic, &recording).expect("usable");
    put(&mut recording, TICKS_PER_SECOND, 2_000_000_001);
    let by_tsc = read(&recording);
    assert_eq!(by_tsc.intervals.len(), 402);
    for (ticks, nanoseconds) in by_tsc.intervals.iter().zip(&by_nanoseconds.intervals) {
        let distance = nanoseconds.range.start.0 / 2 - start;
        assert_eq!(ticks.range.start.0, 2 * word(&recording, START_NS) + distance);
    }
}

#[test]
fn numbers_and_texts_have_several_forms() {
    let compressed = |bytes: &[u8]| Bytes::new(bytes, 0, true).whole(8);
    assert_eq!(compressed(&[0x7f]), Ok(127));
    assert_eq!(compressed(&[0xff, 0x01]), Ok(255));
    // The ninth byte has eight bits.
    assert_eq!(compressed(&[0xff; 9]), Ok(u64::MAX));
    assert!(compressed(&[0xff; 8]).is_err());
    assert_eq!(Bytes::new(&[0, 0, 1, 0], 0, false).whole(4), Ok(256));
    let text = |bytes: &[u8]| Bytes::new(bytes, 0, true).text();
    let here = |text: &str| Ok(Text::Here(text.into()));
    assert_eq!(text(&[0]), Ok(Text::None));
    assert_eq!(text(&[1]), here(""));
    assert_eq!(text(&[2, 5]), Ok(Text::Pooled(5)));
    assert_eq!(text(&[3, 3, b'g', 0xc3, 0xa9]), here("g\u{e9}"));
    // U+65E5 as a varint.
    assert_eq!(text(&[4, 1, 0xe5, 0xcb, 0x01]), here("\u{65e5}"));
    assert_eq!(text(&[5, 1, 0xe9]), here("\u{e9}"));
    assert!(text(&[5, 200, 0xe9]).is_err());
    assert!(text(&[9]).is_err());
}

/// A class of nothing but itself, and arrays of nothing: bounded.
#[test]
fn classes_that_nest_without_end_are_refused() {
    let field = |class: u64, is_array: bool| Field { name: "a".into(), class, is_pooled: false, is_array };
    let class = |fields: Vec<Field>| Class { name: "b".into(), parent: None, fields };
    let classes: Classes = [
        (1, class(vec![field(1, false), field(1, false)])),
        (2, class(vec![])),
        (3, class((0..10).map(|_| field(4, false)).collect())),
        (4, class((0..10).map(|_| field(2, false)).collect())),
    ]
    .into();
    let read =
        |field: &Field, bytes: &[u8]| pools::value(&classes, field, &mut Bytes::new(bytes, 0, true), 0);
    assert!(read(&field(1, false), &[0; 8]).is_err_and(|what| what.contains("more than 16 deep")));
    assert!(read(&field(3, false), &[0; 8]).is_err_and(|what| what.contains("without content")));
    let many: Vec<u8> = [&[0xff, 0x01][..], &[0; 300]].concat();
    assert!(read(&field(2, true), &many).is_err_and(|what| what.contains("without content")));
    assert_eq!(read(&field(2, false), &[]), Ok(Value::Other));
}

/// The seed of the fuzz target: its classes, an event of each kind, and the pools after them.
#[test]
fn pools_may_follow_what_refers_to_them() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/span_file/flight");
    let set = read(&std::fs::read(seed).expect("readable"));
    let [one] = &set.intervals[..] else { panic!("{:?}", complaints(&set)) };
    // 5,000 ns at 1,000 ticks; from 1,010 for 500.
    assert_eq!((one.range.start, one.range.stop), (Tsc(2 * 5010), Tsc(2 * 5510)));
    assert_eq!(one.start_thread, Some(ThreadId::new(118, 120)));
    assert_eq!((one.label.as_str(), one.counters[0].name.as_str()), ("a.B", "load"));
    let attributes: Vec<&str> = one.attributes.iter().map(|attribute| attribute.value.as_str()).collect();
    assert_eq!(attributes, ["get", "true"]);
}
