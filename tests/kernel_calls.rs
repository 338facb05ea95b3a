//! The kernel's functions below each cause of kernel work: they add up to it, are called as often as the emulator's log says, and those that
//! work for the recording are its part.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::{Capture, emulated, left_out};

const CAPTURES: [&str; 5] = ["lock", "tcp", "syscall", "page_faults", "block"];

/// The explained intervals of a capture.
fn outliers(capture: &Capture, top: &str) -> Vec<Value> {
    let arguments = ["--intervals", &capture.intervals(), "--top", top, "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["outliers"].as_array().expect("outliers").clone()
}

/// The place of the row that names the cause of a row of kernel work.
fn cause_row(calls: &[Value], mut at: usize) -> usize {
    while let Some(caller) = calls[at]["caller"].as_u64() {
        let caller = usize::try_from(caller).expect("an index");
        if calls[caller]["layer"] != "kernel" {
            break;
        }
        at = caller;
    }
    at
}

#[test]
fn kernel_functions_add_up_to_their_causes() {
    for name in CAPTURES {
        let (mut causes, mut without_function, mut whole) = (0, 0, 0);
        for outlier in outliers(&emulated(name), "60") {
            let calls = outlier["calls"].as_array().expect("calls");
            let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
            for (at, row) in calls.iter().enumerate().filter(|(_, row)| row["layer"] == "kernel") {
                let of = cause_row(calls, at);
                let own = row["self_ns"].as_u64().expect("a length");
                *sums.entry(calls[of]["function"].as_str().expect("a name")).or_default() += own;
                whole += own;
                without_function += if of == at { own } else { 0 };
            }
            sums.retain(|_, sum| *sum > 0);
            let of_causes = outlier["causes"].as_array().expect("causes").iter();
            let expected: BTreeMap<&str, u64> = of_causes
                .map(|row| {
                    (row["cause"].as_str().expect("a cause"), row["duration_ns"].as_u64().expect("a length"))
                })
                .filter(|(cause, length)| cause.starts_with("kernel.") && *length > 0)
                .collect();
            assert_eq!(sums, expected, "{name}, interval {}", outlier["id"]);
            causes += expected.len();
        }
        assert!(causes >= 60, "{name}: {causes} causes");
        assert!(
            without_function * 1000 <= whole,
            "{name}: {without_function} ns of {whole} ns in no function"
        );
    }
}

/// The time in handlers of perf, with all that they called: no more than the names of what the kernel calls is known here.
fn in_handlers(calls: &[Value]) -> u64 {
    const HANDLERS: [&str; 5] = [
        "__traceiter_",
        "perf_trace_",
        "__perf_event_task_sched_",
        "perf_event_task_tick",
        "perf_event_mmap",
    ];
    let mut within: Vec<bool> = Vec::with_capacity(calls.len());
    let mut sum = 0;
    for row in calls {
        let name = row["function"].as_str().expect("a name");
        let caller = row["caller"].as_u64().and_then(|caller| within.get(usize::try_from(caller).ok()?));
        let is_within = caller == Some(&true) || HANDLERS.iter().any(|beginning| name.starts_with(beginning));
        within.push(is_within);
        sum += if is_within { row["self_ns"].as_u64().expect("a length") } else { 0 };
    }
    sum
}

fn sum_of<'v>(rows: &'v Value, name: &str) -> u64 {
    let rows: &'v Vec<Value> = rows.as_array().expect("rows");
    rows.iter().filter_map(|row| row[name].as_u64()).sum()
}

#[test]
fn what_the_recording_took_is_a_part_of_the_causes() {
    for name in CAPTURES {
        let (mut told, mut expected) = (0, 0);
        for outlier in outliers(&emulated(name), "60") {
            let recording = &outlier["recording"];
            let whole = recording["duration_ns"].as_u64().expect("kernel functions are known");
            assert_eq!(sum_of(&outlier["causes"], "recording_ns"), whole, "{name} {}", outlier["id"]);
            assert_eq!(sum_of(&recording["events"], "duration_ns"), whole, "{name} {}", outlier["id"]);
            for cause in outlier["causes"].as_array().expect("causes") {
                assert!(cause["recording_ns"].as_u64() <= cause["duration_ns"].as_u64(), "{name}: {cause}");
            }
            told += whole;
            expected += in_handlers(outlier["calls"].as_array().expect("calls"));
        }
        assert!(expected > 10_000, "{name}: {expected} ns");
        assert!(told.abs_diff(expected) * 50 <= expected, "{name}: {told} ns, in handlers {expected} ns");
    }
}

/// The head of the page and of Markdown say it in the same words; in the page each outlier and each cause has its part.
#[test]
fn the_page_says_what_the_recording_took() {
    let capture = emulated("syscall");
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("syscall.html");
    let page_name = page.to_str().expect("a name");
    let intervals = capture.intervals();
    let arguments = ["--intervals", &intervals, "--top", "3", "--format", "markdown", "--html", page_name];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&page).expect("the page");
    let text = String::from_utf8_lossy(&output.stdout);
    let begin = text.find("Tracing took ").expect("the sentence");
    let length = text[begin..].find('\n').expect("the end of the line");
    let sentence = text[begin..begin + length].replace('\\', "");
    let head = page.split("<main").next().expect("a head");
    assert!(head.contains(&sentence), "{sentence}\n{head}");
    assert_eq!(page.matches("<p class=\"sub\">Tracing took ").count(), 1 + 3);
    assert!(page.contains(" is tracing</td>"));
}

/// How often each kernel function was called, by the truth of captures that count it.
#[test]
fn kernel_functions_are_called_as_often_as_the_log_says() {
    for name in CAPTURES {
        let capture = emulated(name);
        let explained = capture.truth()["explained"].as_array().expect("intervals").clone();
        let known = explained.iter().filter(|entry| entry["kernel_calls"].is_object());
        let known: BTreeMap<u64, &Value> =
            known.map(|entry| (entry["id"].as_u64().expect("an id"), entry)).collect();
        if known.is_empty() {
            left_out(&format!(
                "the truth of {name} counts no calls of the kernel: it was made before they were counted"
            ));
            continue;
        }
        let mut judged = 0;
        for outlier in outliers(&capture, "60") {
            let Some(entry) = known.get(&outlier["id"].as_u64().expect("an id")) else { continue };
            let mut told: BTreeMap<&str, u64> = BTreeMap::new();
            for row in
                outlier["calls"].as_array().expect("calls").iter().filter(|row| row["layer"] == "kernel")
            {
                *told.entry(row["function"].as_str().expect("a name")).or_default() +=
                    row["calls"].as_u64().expect("a count");
            }
            for (names, times) in entry["kernel_calls"].as_object().expect("calls") {
                let found: u64 = names.split('/').filter_map(|name| told.get(name)).sum();
                let near = entry["kernel_calls_near"][names].as_u64().unwrap_or(0);
                let times = times.as_u64().expect("a count");
                assert!(
                    found.abs_diff(times) <= near,
                    "{name} {}: {names}() {found}, by the log {times}",
                    outlier["id"]
                );
                judged += 1;
            }
        }
        assert!(judged > 1000, "{name}: {judged} functions");
    }
}
