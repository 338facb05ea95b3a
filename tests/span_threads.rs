//! Spans that name no thread: which thread worked for which span comes from the capture, by uprobes with the span's id in a recording of
//! this machine, and by PTWRITEs of it in a hand-made one. Another source of the same intervals says what is right.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::captures::{repository, tailtrace};
use crate::event_pairs::Probed;
use crate::marked_spans::{Both, time};
use crate::no_pt::{first, key, run};

/// By the spans' numbers.
type Numbered = BTreeMap<u64, Value>;

/// The ids that `fixtures/programs/thread_context.c` gave its spans.
fn numbers(folder: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(folder.join("spans.csv")).expect("written");
    let row = |line: &str| {
        let (number, id) = line.split_once(',').expect("two cells");
        (id.to_owned(), number.parse().expect("a number"))
    };
    text.lines().skip(1).map(row).collect()
}

fn outliers(report: &Value) -> impl Iterator<Item = &Value> {
    report["outliers"].as_array().expect("outliers").iter()
}

/// By how many ticks the spans' times may be off.
fn bound(report: &Value, ticks_of: impl Fn(u64) -> u64) -> u64 {
    let said = report["diagnostics"].to_string();
    let (_, rest) = said.split_once("may be off by up to ").expect("a bound");
    ticks_of(rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number"))
}

/// Two threads of 40 orders with a look-up each, and 20 transfers from one thread to another: all have the threads that the marks around
/// them have, and lie within these to the clocks' bound.
#[test]
fn spans_have_the_threads_that_worked_for_them() {
    let probed =
        Probed::of("thread_context.c", "thread_context", &["attach=otel_attach span_id=+16(%di):u64"]);
    let folder = probed.folder.path();
    let both = Both::record(folder, &["-e", &probed.event("attach")], &[&probed.program(), "."]);
    let numbers = numbers(folder);
    let mut slept = 0;
    for (label, count) in [("order", 80), ("lookup", 80), ("transfer", 20)] {
        let [spans, marks] =
            ["spans.json", "spans.marks"].map(|intervals| both.report(intervals, label, count));
        let number = |one: &Value| {
            let id = one["key"].as_str().and_then(|key| key.split('/').next_back()).expect("a key");
            numbers[id]
        };
        let found: Numbered = outliers(&spans).map(|one| (number(one), one.clone())).collect();
        let expected: Numbered = outliers(&marks).map(|one| (key(one), one.clone())).collect();
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        eprintln!("{count} spans {label} have the marks' threads; clock bound {} ns", bound(&spans, |ns| ns));
        for (number, expected) in &expected {
            let found = &found[number];
            for end in ["start_thread", "stop_thread"] {
                assert!(found[end]["tid"].is_u64(), "{number}: {found}");
                assert_eq!(found[end], expected[end], "{label} {number}");
            }
            assert_eq!(expected["start_thread"] == expected["stop_thread"], label != "transfer");
            let length = expected["duration_ns"].as_u64().expect("a length");
            let bound =
                bound(&spans, |ns| ns * (time(expected, "stop_tsc") - time(expected, "start_tsc")) / length);
            assert!(time(found, "start_tsc") + bound >= time(expected, "start_tsc"), "{label} {number}");
            assert!(time(found, "stop_tsc") <= time(expected, "stop_tsc") + bound, "{label} {number}");
            slept += usize::from(label == "lookup" && first(found)["cause"] == "offcpu.sleep");
            if label == "transfer" {
                assert_taken_up(found);
            }
        }
    }
    // What else runs on this machine may have delayed some of the others longer.
    assert!(slept >= 6, "{slept}");
}

/// A transfer is worked for by one thread for 1 ms, lies for 1 ms at least, and is worked for by the other for 2 ms.
fn assert_taken_up(transfer: &Value) {
    let segments = transfer["segments"].as_array().expect("segments").iter();
    let waits = segments.filter(|one| one["cause"] == "offcpu.other").map(length);
    assert!(waits.sum::<u64>() >= 1_000_000, "{transfer}");
}

/// In nanoseconds.
fn length(segment: &Value) -> u64 {
    segment["duration_ns"].as_u64().unwrap_or_else(|| panic!("{segment}"))
}

/// The marks of the scenario's intervals as spans without a thread; nanoseconds since 1970 are two for five ticks.
fn spans_of(marks: &str, base: u64) -> (Value, String) {
    let at = |tsc: u64| 1_700_000_000_000_000_000 + (tsc - base) * 2 / 5;
    let mut ends = BTreeMap::<(String, u64), Vec<u64>>::new();
    for line in marks.lines().skip(2) {
        let cells: Vec<&str> = line.split(',').collect();
        if let ["begin" | "end", label, tsc, key, ..] = cells[..] {
            let name = (label.to_owned(), key.parse().expect("a key"));
            ends.entry(name).or_default().push(tsc.parse().expect("a time"));
        }
    }
    let spans: Vec<Value> = ends
        .into_iter()
        .map(|((name, key), ends)| {
            let [start, stop] = [at(ends[0]), at(ends[1])].map(|time| time.to_string());
            let id = ["1122334455667788", "0112233445566778"][usize::try_from(key).expect("few")];
            json!({ "traceId": "ab".repeat(16), "spanId": id, "name": name, "startTimeUnixNano": start, "endTimeUnixNano": stop })
        })
        .collect();
    let pair = |tsc: u64| format!("# clock-pair realtime tsc={tsc} ns={} error=30\n", at(tsc));
    let pairs = [base + 10_000, base + 100_000].map(pair).concat();
    (json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": spans }] }] }), pairs)
}

/// Explained by PTWRITEs of their ids, spans have the threads, causes and times that the markers of the same intervals have; the id of one
/// comes with its bytes reversed. Without a record of it a span has none, and it is said what to do.
#[test]
fn ptwrites_of_a_spans_id_name_its_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = repository().join("fixtures/scenarios/ptwrite_spans.scenario");
    tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
    let marks = fs::read_to_string(folder.path().join("intervals.csv")).expect("written");
    let (mut spans, pairs) = spans_of(&marks, 1 << 32);
    let explained = |intervals: &str| -> Value {
        let mut command = tailtrace();
        command.current_dir(folder.path()).args(["explain", "-i", "perf.data", "--symfs", "symfs"]);
        command.args(["--top", "9", "--format", "json", "--intervals", intervals]);
        serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON")
    };
    fs::write(folder.path().join("spans.json"), spans.to_string()).expect("written");
    fs::write(folder.path().join("spans.json.clocks"), &pairs).expect("written");
    let [of_spans, of_marks] = ["spans.json", "intervals.csv"].map(explained);
    assert_eq!(outliers(&of_marks).count(), 2);
    for (found, expected) in outliers(&of_spans).zip(outliers(&of_marks)) {
        for field in ["label", "start_thread", "stop_thread", "start_tsc", "stop_tsc", "causes", "segments"] {
            assert_eq!(found[field], expected[field], "{field}");
        }
    }
    assert_eq!(of_spans["outliers"][0]["stop_thread"]["tid"], 102);

    spans["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["spanId"] = "0102030405060708".into();
    fs::write(folder.path().join("spans.json"), spans.to_string()).expect("written");
    let report = explained("spans.json");
    let said = report["diagnostics"].to_string();
    assert!(
        said.contains("span \\\"transfer\\\" names no thread") && said.contains("Spans without a thread"),
        "{said}"
    );
    assert!(report["outliers"][0]["start_thread"].is_null());
}
