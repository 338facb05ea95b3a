//! Traces packet by packet. Field numbers are those of Perfetto's `.proto` files, times are calculated by hand.

use std::io::Write as _;
use std::path::Path;

use model::{Attribute, Counter, ThreadId, Tsc, TscRange};

use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::file::read_intervals;
use crate::file::spans::stream::written::varint;
use crate::interval_set::IntervalSet;

/// A field with a number.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field with bytes: a text, or a message of fields.
fn bytes(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [varint((field << 3) | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn message(field: u64, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(field, fields.concat())
}

fn packet(fields: &[Vec<u8>]) -> Vec<u8> {
    message(1, fields)
}

/// A track event of a sequence, at a time, of a type, with more fields.
fn event(sequence: u64, at: u64, kind: u64, more: &[Vec<u8>]) -> Vec<u8> {
    let event = [&[number(9, kind)], more].concat();
    packet(&[number(8, at), number(10, sequence), message(11, &event)])
}

fn begin(at: u64, track: u64, name: &str) -> Vec<u8> {
    event(1, at, 1, &[number(11, track), bytes(23, name)])
}

fn end(at: u64, track: u64) -> Vec<u8> {
    event(1, at, 2, &[number(11, track)])
}

/// The track `uuid` is that of a thread of process 118.
fn thread(uuid: u64, tid: u64) -> Vec<u8> {
    packet(&[message(60, &[number(1, uuid), message(4, &[number(1, 118), number(2, tid)])])])
}

/// A clock snapshot: ids and readings.
fn snapshot(readings: &[(u64, u64)]) -> Vec<u8> {
    let clocks: Vec<Vec<u8>> =
        readings.iter().map(|(id, at)| message(1, &[number(1, *id), number(2, *at)])).collect();
    packet(&[message(6, &clocks)])
}

/// With pairs of a clock: two ticks are a nanosecond.
fn read_in(clock: Clock, trace: &[Vec<u8>]) -> Result<IntervalSet, Error> {
    let pair = |ns: u64| ClockPair { clock, tsc: Tsc(2 * ns), ns, error_ns: 40 };
    let clocks = Clocks { pairs: vec![pair(0), pair(1_000_000)], ..Clocks::default() };
    read_intervals(Path::new("a.pftrace"), trace.concat().as_slice(), &clocks)
}

fn read(trace: &[Vec<u8>]) -> IntervalSet {
    read_in(Clock::Boottime, trace).expect("usable")
}

/// Label, nanoseconds of start and stop.
fn slices(set: &IntervalSet) -> Vec<(String, u64, u64)> {
    let slice = |interval: &model::Interval| {
        let TscRange { start, stop } = interval.range;
        (interval.label.to_string(), start.0 / 2, stop.0 / 2)
    };
    set.intervals.iter().map(slice).collect()
}

fn complaints(set: &IntervalSet) -> Vec<String> {
    let worse = set.diagnostics.iter().filter(|found| found.severity > model::Severity::Note);
    worse.map(|found| format!("{}: {}", found.place, found.what)).collect()
}

fn slice(name: &str, start: u64, stop: u64) -> (String, u64, u64) {
    (name.to_owned(), start, stop)
}

#[test]
fn slices_nest_on_their_track_and_have_its_thread() {
    let set = read(&[
        begin(1000, 7, "request"),
        begin(2000, 7, "lookup"),
        end(2600, 7),
        end(4000, 7),
        // The description may come last.
        thread(7, 120),
    ]);
    assert_eq!(slices(&set), [slice("request", 1000, 4000), slice("lookup", 2000, 2600)]);
    assert!(set.intervals.iter().all(|one| one.start_thread == Some(ThreadId::new(118, 120))));
    let child = &set.intervals[0].children[0];
    assert_eq!((child.label.as_str(), child.time.0), ("lookup", 1200));
    assert_eq!(complaints(&set), [""; 0]);
}

/// Both ends of a slice on a track without a thread were written by threads: by those the track of which is their writers' default.
#[test]
fn a_slice_between_threads_has_the_threads_of_its_writers() {
    let writer = |sequence: u64, track: u64| {
        packet(&[number(10, sequence), number(13, 1), message(59, &[message(11, &[number(11, track)])])])
    };
    let set = read(&[
        thread(7, 120),
        thread(8, 121),
        writer(1, 7),
        writer(2, 8),
        begin(1000, 99, "transfer"),
        event(2, 5000, 2, &[number(11, 99)]),
        // Without a track: the writer's own.
        event(2, 6000, 1, &[bytes(23, "answer")]),
        event(2, 7000, 2, &[]),
    ]);
    assert_eq!(slices(&set), [slice("transfer", 1000, 5000), slice("answer", 6000, 7000)]);
    let [transfer, answer] = &set.intervals[..] else { panic!("two") };
    assert_eq!(transfer.start_thread, Some(ThreadId::new(118, 120)));
    assert_eq!(transfer.stop_thread, Some(ThreadId::new(118, 121)));
    assert_eq!((transfer.key.as_deref(), answer.key.as_deref()), (Some("63"), None));
    assert_eq!(answer.start_thread, Some(ThreadId::new(118, 121)));
}

/// Several writers share a track: by time, not by the order of the file.
#[test]
fn slices_pair_by_time() {
    let set = read(&[
        thread(7, 120),
        event(2, 3000, 2, &[number(11, 7)]),
        event(2, 4000, 2, &[number(11, 7)]),
        begin(1000, 7, "outer"),
        begin(2000, 7, "inner"),
    ]);
    assert_eq!(slices(&set), [slice("outer", 1000, 4000), slice("inner", 2000, 3000)]);
}

#[test]
fn names_and_values_are_interned_and_become_counters_and_attributes() {
    let interned = |field: u64, iid: u64, text: &str| message(field, &[number(1, iid), bytes(2, text)]);
    let data = message(
        12,
        &[interned(2, 1, "request"), interned(3, 1, "key"), interned(3, 2, "kind"), interned(29, 1, "get")],
    );
    let double = [varint((5 << 3) | 1), 0.5f64.to_le_bytes().to_vec()].concat();
    let negative = number(4, (-3i64).cast_unsigned());
    let annotated = message(
        11,
        &[
            number(9, 1),
            number(10, 1),
            number(11, 7),
            message(4, &[number(1, 1), number(3, u64::MAX)]),
            message(4, &[number(1, 2), number(17, 1)]),
            message(4, &[bytes(10, "cached"), number(2, 1)]),
            message(4, &[bytes(10, "delta"), negative]),
            message(4, &[bytes(10, "load"), double]),
            // A dictionary is left out.
            message(4, &[bytes(10, "more"), message(11, &[bytes(10, "a"), number(3, 1)])]),
        ],
    );
    let set = read(&[
        thread(7, 120),
        packet(&[number(10, 1), number(13, 1), data]),
        packet(&[number(8, 1000), number(10, 1), number(13, 2), annotated]),
        event(1, 2000, 2, &[number(11, 7), message(4, &[bytes(10, "bytes"), number(3, 512)])]),
    ]);
    let [one] = &set.intervals[..] else { panic!("one: {:?}", complaints(&set)) };
    let counter = |name: &str, value: model::Number| Counter { name: name.to_owned(), value };
    assert_eq!(
        one.counters,
        [
            counter("key", u64::MAX.into()),
            counter("delta", (-3i64).into()),
            counter("load", 0.5.into()),
            counter("bytes", 512u64.into())
        ]
    );
    let attribute = |name: &str, value: &str| Attribute { name: name.to_owned(), value: value.to_owned() };
    assert_eq!(one.attributes, [attribute("kind", "get"), attribute("cached", "true")]);
}

/// The SDK's own form: clock 64 of the writer, in microseconds, each time the distance from the one before.
#[test]
fn a_writers_clock_is_incremental_and_has_a_unit() {
    let clocks = message(
        6,
        &[
            message(1, &[number(1, 6), number(2, 500_000)]),
            message(1, &[number(1, 64), number(2, 500), number(3, 1), number(4, 1000)]),
        ],
    );
    let set = read(&[
        thread(7, 120),
        packet(&[
            number(10, 1),
            number(13, 1),
            clocks,
            message(59, &[number(58, 64), message(11, &[number(11, 7)])]),
        ]),
        event(1, 3, 1, &[bytes(23, "request")]),
        // Another clock's time is not in the sum; that of a counter is.
        packet(&[number(8, 777_777), number(10, 1), number(58, 6), message(11, &[number(9, 3)])]),
        event(1, 4, 4, &[]),
        event(1, 5, 2, &[]),
    ]);
    assert_eq!(slices(&set), [slice("request", 503_000, 512_000)]);
}

/// The first event decides; others are converted by the snapshot before them.
#[test]
fn clocks_of_the_kernel_are_converted_by_snapshots() {
    let at = |clock: u64, at: u64, kind: u64| {
        packet(&[
            number(8, at),
            number(58, clock),
            message(11, &[number(9, kind), number(11, 7), bytes(23, "request")]),
        ])
    };
    let set = read(&[
        thread(7, 120),
        at(6, 1000, 1),
        at(3, 9, 2),
        snapshot(&[(6, 10_000), (3, 4_000), (1, 900_000)]),
        at(3, 5_000, 2),
        at(9, 5_000, 2),
    ]);
    assert_eq!(slices(&set), [slice("request", 1000, 11_000)]);
    let said = complaints(&set);
    assert!(
        said[0].contains("is of clock 3, and no clock snapshot before relates it to clock 6"),
        "{said:?}"
    );
    assert!(said[1].contains("is of clock 9"), "{said:?}");
}

/// Perfetto has an id for the TSC: nothing needs to be converted.
#[test]
fn times_may_be_of_the_tsc() {
    let at = |at: u64, kind: u64| {
        packet(&[
            number(8, at),
            number(58, 9),
            message(11, &[number(9, kind), number(11, 7), bytes(23, "request")]),
        ])
    };
    let trace = [thread(7, 120), at(1001, 1), at(2003, 2)].concat();
    let set = read_intervals(Path::new("a.pftrace"), trace.as_slice(), &Clocks::default()).expect("usable");
    assert_eq!(set.intervals[0].range, TscRange { start: Tsc(1001), stop: Tsc(2003) });
}

/// What was open when packets were dropped may have ended in one of them.
#[test]
fn nothing_pairs_across_dropped_packets() {
    let set = read(&[
        thread(7, 120),
        packet(&[number(10, 1), number(13, 1), number(42, 1)]),
        begin(1000, 7, "request"),
        packet(&[number(10, 1), number(42, 1)]),
        end(2000, 7),
        packet(&[
            number(8, 2500),
            number(10, 1),
            number(13, 2),
            message(11, &[number(9, 1), number(10, 1), number(11, 7)]),
        ]),
        begin(3000, 7, "request"),
        end(4000, 7),
    ]);
    assert_eq!(slices(&set), [slice("request", 3000, 4000)]);
    let said = complaints(&set).join("\n");
    for part in [
        "were dropped",
        "\"request\" has no end",
        "has an end without begin",
        "needs what dropped packets held",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn compressed_packets_are_read() {
    let inner = [begin(1000, 7, "request"), end(2000, 7)].concat();
    let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(&inner).expect("in memory");
    let compressed = packet(&[bytes(50, writer.finish().expect("in memory"))]);
    let set = read(&[thread(7, 120), compressed.clone()]);
    assert_eq!(slices(&set), [slice("request", 1000, 2000)]);
    let mut broken = compressed;
    let last = broken.len() - 8;
    broken[last] ^= 0xff;
    let set = read(&[thread(7, 120), begin(1, 7, "first"), end(2, 7), broken]);
    assert!(
        complaints(&set).concat().contains("compressed packets that cannot be read"),
        "{:?}",
        complaints(&set)
    );
}

#[test]
fn a_broken_packet_is_left_out_and_a_broken_frame_ends_the_file() {
    let broken = packet(&[number(8, 1), vec![0x5a, 0x7f]]);
    let sound = [thread(7, 120), begin(1000, 7, "request"), end(2000, 7)];
    let at = sound.concat().len();
    let set = read(&[
        sound.concat(),
        broken.clone(),
        begin(3000, 7, "request"),
        end(4000, 7),
        b"no packet".to_vec(),
    ]);
    assert_eq!(slices(&set), [slice("request", 1000, 2000), slice("request", 3000, 4000)]);
    let said = complaints(&set);
    assert!(
        said[0].contains(&format!("{at:#x}:")) && said[0].contains("not as Perfetto's packets"),
        "{said:?}"
    );
    assert!(said[1].contains("0x6e where a packet begins with 0x0a"), "{said:?}");
    let cut = sound.concat();
    let set = read(&[cut[..cut.len() - 1].to_vec()]);
    assert!(complaints(&set).concat().contains("the file ends here, within a packet"));
}

/// The file's number for a length allocates nothing.
#[test]
fn a_packet_may_claim_any_length() {
    let sound = [thread(7, 120), begin(1000, 7, "request"), end(2000, 7)].concat();
    for length in [1 << 32, u64::MAX] {
        let set = read(&[sound.clone(), vec![0x0a], varint(length), b"x".to_vec()]);
        assert_eq!(set.intervals.len(), 1);
        assert!(complaints(&set).concat().contains("the file ends here, within a packet"));
    }
}

/// A text that begins with an empty line is none.
#[test]
fn a_text_is_no_trace() {
    for text in ["\n# tailtrace-intervals 1 clock=tsc\n", "\n{\"a\": 1}\n", "\n\n\n", "\n"] {
        let read = read_in(Clock::Boottime, &[text.as_bytes().to_vec()]);
        assert!(matches!(read, Err(Error::UnknownFormat { .. })), "{text:?}");
    }
    let said = read_in(Clock::Boottime, &[snapshot(&[(6, 1)])]).err().map(|error| error.to_string());
    assert!(said.is_some_and(|said| said.contains("holds no slices of track events")));
}
