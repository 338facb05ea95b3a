//! Span files, sound and broken. Expected values are calculated by hand from the text.

use std::path::Path;

use model::{Attribute, Child, Counter, Pid, Severity, ThreadId, Ticks, Tid, Tsc, TscRange};

use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::file::read_intervals;
use crate::interval_set::IntervalSet;

/// Two ticks are a nanosecond; the pairs lie 1 s apart.
fn clocks(clock: Clock) -> Clocks {
    let pair = |ns: u64| ClockPair { clock, tsc: Tsc(2 * ns), ns, error_ns: 40 };
    Clocks { pairs: (0..10).map(|second| pair(second * 1_000_000_000)).collect(), ..Clocks::default() }
}

fn read_in(clock: Clock, text: &str) -> Result<IntervalSet, Error> {
    read_intervals(Path::new("spans.json"), text.as_bytes(), &clocks(clock))
}

fn otlp(text: &str) -> IntervalSet {
    read_in(Clock::Realtime, text).expect("usable")
}

fn events(text: &str) -> IntervalSet {
    read_in(Clock::Monotonic, text).expect("usable")
}

/// All but the note of the clocks' bound.
fn complaints(set: &IntervalSet) -> Vec<String> {
    let worse = set.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    worse.map(|found| format!("{}: {}", found.place, found.what)).collect()
}

fn range(start: u64, stop: u64) -> TscRange {
    TscRange { start: Tsc(start), stop: Tsc(stop) }
}

fn child(label: &str, spans: u64, ticks: u64) -> Child {
    Child { label: label.to_owned(), spans, time: Ticks(ticks) }
}

const REQUEST: &str = r#"{"resourceSpans": [{
  "resource": {"attributes": [{"key": "process.pid", "value": {"intValue": "118"}}]},
  "scopeSpans": [{"scope": {"name": "x"}, "spans": [
    {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "GET /",
     "startTimeUnixNano": "1000", "endTimeUnixNano": "9000", "attributes": [
       {"key": "thread.id", "value": {"intValue": "120"}}, {"key": "bytes", "value": {"intValue": "512"}},
       {"key": "load", "value": {"doubleValue": 0.5}}, {"key": "method", "value": {"stringValue": "GET"}}]},
    {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "00000000000000a1", "parentSpanId": "eee19b7ec3c1b174",
     "name": "SELECT", "startTimeUnixNano": "2000", "endTimeUnixNano": "4000",
     "attributes": [{"key": "thread.id", "value": {"intValue": "120"}}]},
    {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "00000000000000a2", "parentSpanId": "eee19b7ec3c1b174",
     "name": "SELECT", "startTimeUnixNano": 3000, "endTimeUnixNano": 12000,
     "attributes": [{"key": "thread.id", "value": {"intValue": "121"}}]}
  ]}]}]}"#;

#[test]
fn otlp_spans_have_key_thread_counters_texts_and_children() {
    let set = otlp(REQUEST);
    assert!(complaints(&set).is_empty(), "{:?}", complaints(&set));
    let [request, first, second] = set.intervals.as_slice() else { panic!("three intervals") };
    assert_eq!(request.range, range(2000, 18000));
    assert_eq!(request.label, "GET /");
    assert_eq!(request.key.as_deref(), Some("5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174"));
    assert_eq!(request.start_thread, Some(ThreadId::new(118, 120)));
    let counter = |name: &str, value: f64| Counter { name: name.to_owned(), value: value.into() };
    assert_eq!(request.counters, [counter("bytes", 512.0), counter("load", 0.5)]);
    assert_eq!(request.attributes, [Attribute { name: "method".to_owned(), value: "GET".to_owned() }]);
    // From 2000 to 9000 ns, where the parent ends; the 1000 ns in which both ran count once.
    assert_eq!(request.children, [child("SELECT", 2, 14000)]);
    assert_eq!((first.range, second.range), (range(4000, 8000), range(6000, 24000)));
    assert_eq!(second.stop_thread, Some(ThreadId::new(118, 121)));
}

#[test]
fn otlp_as_json_lines_goes_on_after_a_broken_line() {
    let line = REQUEST.replace('\n', " ");
    let within_word = |at: &usize| line.as_bytes()[at - 1..=*at].iter().all(u8::is_ascii_alphanumeric);
    for length in (1..line.len()).filter(within_word) {
        let set = otlp(&format!("{line}\n{}\n{line}\n", &line[..length]));
        let complaints = complaints(&set);
        // What was whole in the broken line is kept.
        assert!((6..=9).contains(&set.intervals.len()), "{length}: {complaints:?}");
        assert_eq!(complaints.len(), 1, "{length}: {complaints:?}");
        let error = set.diagnostics.iter().find(|found| found.severity == Severity::Error);
        let place = &error.expect("one").place;
        // The first byte that does not fit, or the one after it.
        let at = place.file_offset.expect("a byte").0 - (line.len() + 1 + length) as u64;
        assert!(at <= 2 && place.line.is_some_and(|line| line == 2 || line == 3), "{length}: {complaints:?}");
    }
}

#[test]
fn a_line_that_is_cut_off_before_an_element_takes_one_more_line_at_most() {
    let line = REQUEST.replace('\n', " ");
    for cut in ["\"resourceSpans\": [", "\"scopeSpans\": [", "\"spans\": ["] {
        let length = line.find(cut).expect("in the line") + cut.len();
        let set = otlp(&format!("{}\n{line}\n{line}\n", &line[..length]));
        assert!(set.intervals.len() >= 3, "{cut}: {:?}", complaints(&set));
        assert_eq!(complaints(&set).len(), 1, "{cut}: {:?}", complaints(&set));
    }
}

#[test]
fn a_resource_after_its_spans_names_their_process() {
    let set = otlp(
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"000000000000000000000000000000ff","spanId":"00000000000000ff",
        "name":"a","startTimeUnixNano":"5","endTimeUnixNano":"6","attributes":[{"key":"tid","value":{"intValue":7}}]}]}],
        "resource":{"attributes":[{"key":"process.pid","value":{"intValue":3}}]}}]}"#,
    );
    assert!(complaints(&set).is_empty(), "{:?}", complaints(&set));
    assert_eq!(set.intervals[0].start_thread, Some(ThreadId::new(3, 7)));
}

/// The capture's records may name it.
#[test]
fn a_thread_may_have_no_process() {
    let set = otlp(
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"000000000000000000000000000000ff","spanId":"00000000000000ff",
        "name":"a","startTimeUnixNano":"5","endTimeUnixNano":"6","attributes":[{"key":"tid","value":{"intValue":7}}]}]}]}]}"#,
    );
    assert!(complaints(&set).is_empty(), "{:?}", complaints(&set));
    assert_eq!(set.intervals[0].start_thread, Some(ThreadId { pid: Pid::UNKNOWN, tid: Tid(7) }));
}

#[test]
fn broken_spans_say_place_name_and_remedy() {
    let span = |fields: &str| {
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"name":"q",{fields}}}]}}]}}]}}"#)
    };
    let ids = r#""traceId":"000000000000000000000000000000ff","spanId":"00000000000000ff""#;
    let times = r#""startTimeUnixNano":"5","endTimeUnixNano":"6""#;
    for (fields, expected) in [
        (format!(r#"{ids},"startTimeUnixNano":"5""#), "has no endTimeUnixNano"),
        (
            format!(r#"{ids},"startTimeUnixNano":"9","endTimeUnixNano":"6""#),
            "ends at 6, before it starts at 9",
        ),
        (format!(r#"{ids},"startTimeUnixNano":"-5","endTimeUnixNano":"6""#), "not nanoseconds since 1970"),
        (format!(r#""traceId":"W44=","spanId":"00000000000000ff",{times}"#), "not 32 hexadecimal digits"),
        (format!(r#""traceId":"{:032}","spanId":7,{times}"#, 1), "not 16 hexadecimal digits"),
        (format!(r#"{ids},"parentSpanId":"x",{times}"#), "not 16 hexadecimal digits"),
        (format!("{ids},{times}"), "names no thread"),
    ] {
        let set = otlp(&span(&fields));
        let found = complaints(&set);
        assert_eq!(found.len(), 1, "{fields}: {found:?}");
        // The span begins at this byte.
        assert!(found[0].starts_with("spans.json, line 1, file offset 0x2b: span \"q\" "), "{}", found[0]);
        assert!(found[0].contains(expected), "{}", found[0]);
    }
}

#[test]
fn a_file_that_is_cut_off_keeps_the_spans_before() {
    for length in 0..REQUEST.len() {
        let read = read_in(Clock::Realtime, &REQUEST[..length]);
        let whole = REQUEST[..length].matches("\n    {\"traceId").count().saturating_sub(1);
        match read {
            Ok(set) if length > 0 => {
                assert!(set.intervals.len().abs_diff(whole) <= 1, "{length}");
                assert_eq!(
                    complaints(&set).iter().filter(|what| what.contains("cut off")).count(),
                    1,
                    "{length}"
                );
            }
            Ok(_) => panic!("an empty file"),
            Err(error) => assert!(whole == 0, "{length}: {error}"),
        }
    }
}

#[test]
fn complete_events_nest_by_time_on_their_thread() {
    let set = events(
        r#"{"traceEvents": [
        {"name": "frame", "ph": "X", "ts": 10, "dur": 20.5, "pid": 1, "tid": 2, "args": {"n": 3, "kind": "full"}},
        {"name": "layout", "ph": "X", "ts": 12, "dur": 4, "pid": 1, "tid": 2},
        {"name": "paint", "ph": "X", "ts": 20.001, "dur": 2, "pid": 1, "tid": 2},
        {"name": "inner", "ph": "X", "ts": 13, "dur": 1, "pid": 1, "tid": 2},
        {"name": "other", "ph": "X", "ts": 12, "dur": 1, "pid": 1, "tid": 3},
        {"name": "n", "ph": "M", "pid": 1}]}"#,
    );
    assert!(complaints(&set).is_empty(), "{:?}", complaints(&set));
    let frame = &set.intervals[0];
    assert_eq!(frame.range, range(20_000, 61_000));
    assert_eq!(frame.counters, [Counter { name: "n".to_owned(), value: 3.0.into() }]);
    assert_eq!(frame.attributes, [Attribute { name: "kind".to_owned(), value: "full".to_owned() }]);
    assert_eq!(frame.children, [child("layout", 1, 8000), child("paint", 1, 4000)]);
    let labels: Vec<&str> = set.intervals.iter().map(|interval| interval.label.as_str()).collect();
    assert_eq!(labels, ["frame", "layout", "other", "inner", "paint"]);
    assert_eq!(set.intervals[4].range, range(40_002, 44_002));
    assert_eq!(set.intervals[1].children, [child("inner", 1, 2000)]);
}

#[test]
fn begins_and_ends_pair_on_their_thread_and_ids_across_threads() {
    let set = events(
        r#"[{"name":"a","ph":"B","ts":1,"pid":1,"tid":2},{"name":"b","ph":"B","ts":2,"pid":1,"tid":2},
        {"name":"r","cat":"io","ph":"b","id":"0x7","ts":2,"pid":1,"tid":2},
        {"ph":"E","ts":3,"pid":1,"tid":2},{"name":"a","ph":"E","ts":4,"pid":1,"tid":2},
        {"name":"r","cat":"net","ph":"e","id":"0x7","ts":5,"pid":1,"tid":9},
        {"name":"r","cat":"io","ph":"e","id":"0x7","ts":6,"pid":1,"tid":9},
        {"name":"left","ph":"B","ts":7,"pid":1,"tid":2},"#,
    );
    let found: Vec<_> = set
        .intervals
        .iter()
        .map(|interval| (interval.id.0, interval.label.as_str(), interval.range, interval.key.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (0, "a", range(2000, 8000), None),
            (1, "b", range(4000, 6000), None),
            (2, "r", range(4000, 12000), Some("0x7")),
        ]
    );
    let request = &set.intervals[2];
    let threads = (request.start_thread, request.stop_thread);
    assert_eq!(threads, (Some(ThreadId::new(1, 2)), Some(ThreadId::new(1, 9))));
    assert_eq!(set.intervals[0].children, [child("b", 1, 2000)]);
    let complaints = complaints(&set);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].contains("line 4, ") && complaints[0].contains("\"r\" has an end without begin"));
    assert!(complaints[1].contains("line 6, ") && complaints[1].contains("\"left\" has no end"));
}

#[test]
fn the_clock_of_trace_events_is_named_or_asked_for() {
    let events = r#"{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":2}]"#;
    let mut two = clocks(Clock::Monotonic);
    two.pairs.extend(clocks(Clock::Boottime).pairs);
    let read = |text: &str| read_intervals(Path::new("t.json"), text.as_bytes(), &two);
    let error = read(&format!("{events}}}")).expect_err("two clocks").to_string();
    assert!(error.contains("`# clock monotonic`") && error.contains("t.json.clocks"), "{error}");
    let named = format!(r#"{events},"metadata":{{"clock-domain":"LINUX_CLOCK_MONOTONIC"}}}}"#);
    assert_eq!(read(&named).expect("named").intervals.len(), 1);
}

#[test]
fn json_without_spans_says_what_it_should_hold() {
    for text in ["{\"clock\": \"tsc\"}\n", "{}", "{\n\n}"] {
        let error = read_in(Clock::Realtime, text).expect_err("no spans").to_string();
        assert!(error.contains("`resourceSpans` (OTLP)") && error.contains("`traceEvents`"), "{error}");
    }
    assert!(read_in(Clock::Realtime, "{\"a\" 5}").is_err());
}

#[test]
fn a_span_of_more_than_16_mib_ends_the_document_only() {
    let long = "x".repeat(17 << 20);
    let line = REQUEST.replace('\n', " ");
    let text = format!("{line}\n{}\n{line}\n", line.replace("GET /", &long));
    let set = otlp(&text);
    assert_eq!(set.intervals.len(), 6);
    assert_eq!(complaints(&set).len(), 1);
    assert!(complaints(&set)[0].contains("more than 16 MiB"));
}
