//! Traces event by event. Numbers of events and arguments are those of Go's `tracev2/events.go`; a tick is 64 ns.

use std::path::Path;

use model::{Pid, Severity, ThreadId, Tid, Tsc};

use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::file::read_intervals;
use crate::file::spans::stream::written::varint;
use crate::interval_set::IntervalSet;

/// An event: its number, then its arguments.
fn event(kind: u8, arguments: &[u64]) -> Vec<u8> {
    [&[kind][..], &arguments.iter().flat_map(|argument| varint(*argument)).collect::<Vec<u8>>()].concat()
}

fn header(version: &str) -> Vec<u8> {
    let mut header = format!("go 1.{version} trace").into_bytes();
    header.resize(16, 0);
    header
}

/// A batch of a generation and a thread, from a tick on.
fn batch(generation: u64, thread: u64, time: u64, events: &[Vec<u8>]) -> Vec<u8> {
    let content = events.concat();
    [event(1, &[generation, thread, time, content.len() as u64]), content].concat()
}

fn texts(generation: u64, texts: &[(u64, &str)]) -> Vec<u8> {
    let entry = |(number, text): &(u64, &str)| {
        [event(5, &[*number, text.len() as u64]), text.as_bytes().to_vec()].concat()
    };
    let entries: Vec<Vec<u8>> = texts.iter().map(entry).collect();
    batch(generation, u64::MAX, 0, &[vec![4], entries.concat()])
}

/// The batch of the clock, in the form of Go 1.25; with a snapshot.
fn clock(generation: u64) -> Vec<u8> {
    batch(generation, u64::MAX, 0, &[vec![50], event(8, &[15_625_000]), event(51, &[1, 2, 3, 4])])
}

const START: u8 = 16;
const STOP: u8 = 19;
const STATUS: u8 = 25;
const TASK: u8 = 40;
const TASK_END: u8 = 41;
const REGION: u8 = 42;
const REGION_END: u8 = 43;
const LOG: u8 = 44;

fn read_all(trace: &[Vec<u8>]) -> Result<IntervalSet, Error> {
    let pair = |ns: u64| ClockPair { clock: Clock::Monotonic, tsc: Tsc(ns), ns, error_ns: 40 };
    let clocks = Clocks { pairs: vec![pair(0), pair(1 << 50)], ..Clocks::default() };
    read_intervals(Path::new("a.trace"), trace.concat().as_slice(), &clocks)
}

fn read(trace: &[Vec<u8>]) -> IntervalSet {
    read_all(&[header("26"), trace.concat()]).expect("usable")
}

/// Label, key, start and stop in ticks, and their threads.
fn spans(set: &IntervalSet) -> Vec<(String, Option<String>, u64, u64, i32, i32)> {
    let span = |one: &model::Interval| {
        let tids = [one.start_thread, one.stop_thread].map(|thread| thread.map_or(0, |thread| thread.tid.0));
        let (start, stop) = (one.range.start.0 / 64, one.range.stop.0 / 64);
        (one.label.to_string(), one.key.clone(), start, stop, tids[0], tids[1])
    };
    set.intervals.iter().map(span).collect()
}

fn complaints(set: &IntervalSet) -> Vec<String> {
    let worse = set.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    worse.map(|found| format!("{}: {}", found.place, found.what)).collect()
}

fn span(
    label: &str,
    key: &str,
    ticks: [u64; 2],
    tids: [i32; 2],
) -> (String, Option<String>, u64, u64, i32, i32) {
    let key = Some(key.to_owned()).filter(|key| !key.is_empty());
    (label.to_owned(), key, ticks[0], ticks[1], tids[0], tids[1])
}

/// A goroutine begins on one thread, and goes on, in the next generation, on another, whose texts have other numbers.
#[test]
fn a_goroutine_moves_between_threads_and_generations() {
    let set = read(&[
        batch(
            1,
            120,
            1000,
            &[
                event(START, &[5, 7, 1]),
                event(TASK, &[5, 3, 0, 1, 0]),
                event(REGION, &[10, 3, 2, 0]),
                event(LOG, &[1, 3, 3, 4, 0]),
                event(STOP, &[20, 9, 0]),
            ],
        ),
        clock(1),
        texts(1, &[(1, "request"), (2, "lookup"), (3, "user"), (4, "ann")]),
        batch(
            2,
            121,
            2000,
            &[
                // Its status says where it runs.
                event(STATUS, &[1, 7, 121, 2]),
                event(REGION_END, &[9, 3, 8, 0]),
                event(TASK_END, &[10, 3, 0]),
            ],
        ),
        texts(2, &[(8, "lookup")]),
        clock(2),
    ]);
    assert_eq!(complaints(&set), [""; 0]);
    assert_eq!(
        spans(&set),
        [span("request", "3", [1010, 2020], [120, 121]), span("lookup", "3", [1020, 2010], [120, 121])]
    );
    let [request, _] = &set.intervals[..] else { panic!("two") };
    assert_eq!(request.start_thread, Some(ThreadId { pid: Pid::UNKNOWN, tid: Tid(120) }));
    assert_eq!((request.attributes[0].name.as_str(), request.attributes[0].value.as_str()), ("user", "ann"));
    assert_eq!((request.children[0].label.as_str(), request.children[0].time.0), ("lookup", 990 * 64));
}

/// Two goroutines take turns on a thread: each has its own regions, and one without a task has no key.
#[test]
fn regions_nest_on_their_goroutine() {
    let set = read(&[
        clock(1),
        texts(1, &[(1, "outer"), (2, "inner")]),
        batch(
            1,
            120,
            0,
            &[
                event(START, &[10, 7, 1]),
                event(REGION, &[10, 0, 1, 0]),
                event(STOP, &[10, 9, 0]),
                event(START, &[10, 8, 1]),
                event(REGION, &[10, 0, 1, 0]),
                event(STOP, &[10, 9, 0]),
                event(START, &[10, 7, 2]),
                event(REGION, &[10, 0, 2, 0]),
                event(REGION_END, &[10, 0, 2, 0]),
                event(REGION_END, &[10, 0, 1, 0]),
                event(STOP, &[10, 9, 0]),
                event(START, &[10, 8, 2]),
                event(REGION_END, &[10, 0, 1, 0]),
            ],
        ),
    ]);
    assert_eq!(complaints(&set), [""; 0]);
    let tids = [120, 120];
    assert_eq!(
        spans(&set),
        [
            span("outer", "", [20, 100], tids),
            span("outer", "", [50, 130], tids),
            span("inner", "", [80, 90], tids)
        ]
    );
    assert_eq!(set.intervals.iter().map(|one| one.children.len()).collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn what_has_no_other_end_is_said() {
    let set = read(&[
        clock(1),
        texts(1, &[(1, "early"), (2, "late")]),
        batch(
            1,
            120,
            0,
            &[
                event(REGION, &[1, 0, 2, 0]),
                event(START, &[10, 7, 1]),
                event(REGION_END, &[10, 0, 1, 0]),
                event(TASK_END, &[10, 5, 0]),
                event(REGION, &[10, 0, 2, 0]),
            ],
        ),
    ]);
    assert_eq!(spans(&set), []);
    let said = complaints(&set);
    let parts = [
        "goroutine is not known",
        "\"early\" has an end without begin",
        "has an end without begin",
        "\"late\" has no end",
    ];
    assert_eq!(said.len(), parts.len(), "{said:?}");
    for part in parts {
        assert!(said.iter().any(|said| said.contains(part)), "{part}: {said:?}");
    }
}

#[test]
fn broken_batches_are_left_out_with_their_place() {
    let sound = [
        clock(1),
        texts(1, &[(1, "request")]),
        batch(1, 120, 0, &[event(TASK, &[10, 3, 0, 1, 0]), event(TASK_END, &[10, 3, 0])]),
    ]
    .concat();
    let at = format!("{:#x}", 16 + sound.len());
    for (more, what) in [
        (batch(1, 121, 0, &[vec![200, 1, 2]]), "an event of the unknown kind 200: the rest of its batch"),
        (batch(1, 121, 0, &[event(8, &[1])[..1].to_vec()]), "an event that ends within a number"),
        (batch(1, 121, 0, &[vec![4, 5, 1, 100, b'x']]), "a text that its batch does not hold"),
        (
            event(1, &[1, 121, 0, 70_000]),
            "a batch of 70000 bytes, more than 64 KiB: the file is read up to it",
        ),
        (vec![0x99], "a byte 0x99 where a batch begins"),
        (event(1, &[1, 121, 0, 5]), "the file ends here, within a batch"),
    ] {
        let set = read(&[sound.clone(), more]);
        assert_eq!(spans(&set), [span("request", "3", [10, 20], [120, 120])], "{what}");
        let said = complaints(&set);
        assert!(said[0].contains(what) && said[0].contains(&at), "{said:?}");
    }
    // Another kind of batch, and the mark of a generation's end, hold nothing for us.
    let experimental = [vec![49, 1], event(1, &[1, 121, 0, 2])[1..].to_vec(), vec![1, 2]].concat();
    let set = read(&[sound.clone(), experimental, vec![52], batch(2, 9, 0, &[])]);
    assert_eq!((set.intervals.len(), complaints(&set).len()), (1, 0));
    let set = read(&[batch(1, 120, 0, &[event(TASK, &[10, 3, 0, 1, 0])])]);
    assert!(complaints(&set)[0].contains("does not say how many ticks a second has"));
}

#[test]
fn older_traces_are_refused_and_newer_ones_are_read() {
    let said =
        |version| read_all(&[header(version)]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said("21").contains("is of Go 1.21; those of Go 1.22 and newer are read"));
    let notes = read_all(&[header("99")]).expect("read").diagnostics;
    assert!(notes.iter().any(|note| note.what.contains("newer than what was tried")));
    // The clock's batch before Go 1.25.
    let set = read_all(&[
        header("22"),
        batch(1, 9, 0, &[event(8, &[1_000_000_000])]),
        texts(1, &[(1, "request")]),
        batch(1, 120, 0, &[event(TASK, &[640, 3, 0, 1, 0]), event(TASK_END, &[640, 3, 0])]),
    ]);
    assert_eq!(spans(&set.expect("usable")), [span("request", "3", [10, 20], [120, 120])]);
    assert!(matches!(read_all(&[b"go 1.26 tracing\0".to_vec()]), Err(Error::UnknownFormat { .. })));
}
