//! Spans as intervals: the markers of an emulated capture, written as OTLP JSON and as trace events, give the same
//! intervals and the same verdicts as the capture's own interval file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::captures::{Capture, emulated};

/// The emulator's clock: nanoseconds are ticks * MULT >> SHIFT.
const MULT: u128 = 825_959_061;
const SHIFT: u32 = 31;
/// What `CLOCK_REALTIME` shows at tick 0.
const EPOCH: u64 = 1_700_000_000_000_000_000;
/// A nanosecond is 2.6 ticks, so a time in whole nanoseconds is off by as much.
const TICKS: u64 = 3;

struct Marked {
    start: u64,
    stop: u64,
    pid: u64,
    tid: u64,
}

fn ns(ticks: u64) -> u64 {
    u64::try_from((u128::from(ticks) * MULT) >> SHIFT).expect("a time")
}

/// The rows of the capture's `name,start_tsc.TSC,end_tsc,pid,tid`.
fn marked(capture: &Capture) -> Vec<Marked> {
    let text = fs::read_to_string(capture.intervals()).expect("the interval file");
    let row = |line: &str| {
        let cells: Vec<u64> = line.split(',').skip(1).map(|cell| cell.parse().expect("a number")).collect();
        Marked { start: cells[0], stop: cells[1], pid: cells[2], tid: cells[3] }
    };
    text.lines().skip(1).map(row).collect()
}

/// Writes `content` and its clock pairs, one before the first marker and one after the last.
fn write(path: &Path, content: &Value, clock: &str, zero: u64, marked: &[Marked]) -> String {
    fs::write(path, content.to_string()).expect("written");
    let first = marked.iter().map(|one| one.start).min().expect("rows") - 1000;
    let last = marked.iter().map(|one| one.stop).max().expect("rows") + 1000;
    let mut pairs = String::new();
    for tsc in [first, last] {
        writeln!(pairs, "# clock-pair {clock} tsc={tsc} ns={} error=30", zero + ns(tsc)).expect("text");
    }
    let path = path.to_string_lossy().into_owned();
    fs::write(format!("{path}.clocks"), pairs).expect("written");
    path
}

fn outliers(capture: &Capture, intervals: &str) -> Vec<Value> {
    let arguments = ["--intervals", intervals, "--label", "preempt", "--top", "12", "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["population"]["count"], 500);
    report["outliers"].as_array().expect("outliers").clone()
}

fn reading(outlier: &Value, field: &str) -> u64 {
    outlier[field].as_str().expect("a time").parse().expect("a time")
}

/// Both markers of each outlier are those of `expected`, to the clock's resolution.
fn assert_same(found: &[Value], expected: &[Value], id: impl Fn(u64) -> u64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found["id"].as_u64(), expected["id"].as_u64().map(&id));
        for field in ["start_tsc", "stop_tsc"] {
            assert!(reading(found, field).abs_diff(reading(expected, field)) <= TICKS, "{field}: {found}");
        }
        assert_eq!(found["causes"][0]["cause"], expected["causes"][0]["cause"]);
        assert_eq!(found["start_thread"], expected["start_thread"]);
    }
}

#[test]
fn otlp_spans_are_the_intervals_and_their_excess_is_divided_by_child() {
    let capture = emulated("preempt");
    let marked = marked(&capture);
    let folder = tempfile::tempdir().expect("a folder");
    let thread = |one: &Marked| json!([{"key": "thread.id", "value": {"intValue": one.tid.to_string()}}]);
    let mut spans = Vec::new();
    for (number, one) in marked.iter().enumerate() {
        let trace = format!("{:032x}", number + 1);
        let (start, stop) = (EPOCH + ns(one.start), EPOCH + ns(one.stop));
        spans.push(json!({"traceId": trace, "spanId": format!("{:016x}", 1), "name": "preempt", "attributes": thread(one),
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": stop.to_string()}));
        let half = start + (stop - start) / 2;
        spans.push(
            json!({"traceId": trace, "spanId": format!("{:016x}", 2), "parentSpanId": format!("{:016x}", 1),
            "name": "SELECT", "attributes": thread(one), "startTimeUnixNano": half.to_string(),
            "endTimeUnixNano": stop.to_string()}),
        );
    }
    let resource = json!({"attributes": [{"key": "process.pid", "value": {"intValue": marked[0].pid}}]});
    let document = json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]});
    let file = write(&folder.path().join("otlp.json"), &document, "realtime", EPOCH, &marked);
    let found = outliers(&capture, &file);
    // Every other span is a child.
    assert_same(&found, &outliers(&capture, &capture.intervals()), |id| 2 * id);
    for outlier in &found {
        let number = outlier["id"].as_u64().expect("an id") / 2 + 1;
        assert_eq!(outlier["key"], format!("{number:032x}/{:016x}", 1));
        let child = &outlier["children"][0];
        let half = outlier["duration_ns"].as_u64().expect("a length") / 2;
        assert_eq!((&child["label"], &child["spans"]), (&json!("SELECT"), &json!(1)));
        assert!(child["duration_ns"].as_u64().expect("a length").abs_diff(half) <= 2, "{child}");
    }
    let arguments = ["--intervals", &file, "--label", "preempt", "--top", "1"];
    let text = String::from_utf8(capture.tailtrace("explain", &arguments).stdout).expect("UTF-8");
    assert!(text.contains("in child span SELECT ("), "{text}");
}

#[test]
fn trace_events_are_the_intervals() {
    let capture = emulated("preempt");
    let marked = marked(&capture);
    let folder = tempfile::tempdir().expect("a folder");
    #[allow(clippy::cast_precision_loss)] // below 2^53
    let micros = |ns: u64| ns as f64 / 1000.0;
    let event = |one: &Marked| {
        let (start, stop) = (ns(one.start), ns(one.stop));
        json!({"name": "preempt", "ph": "X", "ts": micros(start), "dur": micros(stop - start), "pid": one.pid, "tid": one.tid})
    };
    let document = json!({"traceEvents": marked.iter().map(event).collect::<Vec<_>>()});
    let file = write(&folder.path().join("events.json"), &document, "monotonic", 0, &marked);
    assert_same(&outliers(&capture, &file), &outliers(&capture, &capture.intervals()), |id| id);
}

/// An interval file that names threads and no process: the capture's records name it, or say that they do not know the thread.
#[test]
fn the_records_name_the_process_of_a_thread() {
    let capture = emulated("preempt");
    let known = outliers(&capture, &capture.intervals());
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("threads.csv").to_string_lossy().into_owned();
    let mut text = "# tailtrace-intervals 1 clock=tsc\nlabel,start,stop,tid\n".to_owned();
    let rows = marked(&capture);
    for one in &rows {
        writeln!(text, "preempt,{},{},{}", one.start, one.stop, one.tid).expect("text");
    }
    fs::write(&place, &text).expect("written");
    assert_same(&outliers(&capture, &place), &known, |id| id);

    let unknown = format!(
        "# tailtrace-intervals 1 clock=tsc\nstart,stop,tid\n{},{},999999\n",
        rows[0].start, rows[0].stop
    );
    fs::write(&place, unknown).expect("written");
    let output = capture.tailtrace("stat", &["--intervals", &place, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let said = report["diagnostics"].to_string();
    assert!(said.contains("no record of the capture names the threads of 2 of their ends"), "{said}");
}
