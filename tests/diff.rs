//! `tailtrace diff` on captures whose truth is known.
//!
//! Durations come from the interval files by the truth's own clock constants, U by counting all pairs, page faults' time
//! from the program's own measurement around them.

use std::process::Output;

use serde_json::Value;

use crate::captures::{Capture, emulated, tailtrace};

pub(crate) fn diff(a: &Capture, b: &Capture, more: &[&str]) -> Output {
    let mut command = tailtrace();
    command.arg("diff").args([&a.perf_data, &b.perf_data]).arg("--symfs").arg(&a.symfs);
    command.arg("--symfs-b").arg(&b.symfs).args(["--intervals", &a.intervals()]);
    command.args(["--intervals-b", &b.intervals()]).args(more).output().expect("tailtrace runs")
}

fn json(a: &Capture, b: &Capture, more: &[&str]) -> Value {
    let output = diff(a, b, &[more, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The capture's durations in nanoseconds, ascending: differences of converted edges.
pub(crate) fn durations(capture: &Capture) -> Vec<u64> {
    let truth = capture.truth();
    let constant = |name: &str| truth["time_conv"][name].as_u64().expect("a constant");
    let (shift, mult) = (constant("shift"), constant("mult"));
    let ns = |tsc: &str| (tsc.parse::<u128>().expect("a reading") * u128::from(mult)) >> shift;
    let text = std::fs::read_to_string(capture.intervals()).expect("intervals");
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let mut all: Vec<u64> = rows.map(|row| u64::try_from(ns(row[2]) - ns(row[1])).expect("short")).collect();
    all.sort_unstable();
    all
}

fn cause<'a>(contrast: &'a Value, name: &str) -> Option<&'a Value> {
    contrast["causes"].as_array().expect("causes").iter().find(|change| change["cause"] == name)
}

/// `fault` touches fresh pages in 16 intervals; `noise` plants nothing, and its work takes longer throughout.
#[test]
fn page_faults_went_and_the_work_grew() {
    let (a, b) = (emulated("fault"), emulated("noise"));
    let found = json(&a, &b, &["--top", "16"]);
    let (before, after) = (durations(&a), durations(&b));
    let beats = |b: &u64| before.iter().map(|a| u64::from(a < b) * 2 + u64::from(a == b)).sum::<u64>();
    let doubled: u64 = after.iter().map(beats).sum();
    assert_eq!(found["change"]["u"].as_f64(), Some(halves(doubled)));
    assert!(found["change"]["p"].as_f64().is_some_and(|p| p < 1e-6));
    assert!(found["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("B is slower")));
    let median = &found["change"]["quantiles"][0];
    assert_eq!(median["a_ns"].as_u64(), Some(before[before.len().div_ceil(2) - 1]));
    assert_eq!(median["b_ns"].as_u64(), Some(after[after.len().div_ceil(2) - 1]));
    assert!(median["confidence_ns"][0].as_i64().is_some_and(|low| low > 0));
    assert_page_faults(&a, &found["outliers"]);
    // Both run the same loop, `noise` more rounds of it: 14794 user instructions instead of 12687 (`truth.json`).
    let work = cause(&found["typical"], "user.expected").expect("user code");
    let ratio = work["b"]["mean_ns"].as_f64().unwrap_or(0.0) / work["a"]["mean_ns"].as_f64().unwrap_or(1.0);
    assert!((ratio / (14_794.0 / 12_687.0) - 1.0).abs() < 0.03, "{ratio}");
}

#[expect(clippy::cast_precision_loss, reason = "a few million pairs")]
fn halves(doubled: u64) -> f64 {
    doubled as f64 / 2.0
}

/// All of A's 16 longest intervals are the injected ones. The program measured its touching of the pages: the faults, what
/// interrupted them, and a few user instructions per page. So the faults are less, and at least 90 % of it.
fn assert_page_faults(capture: &Capture, outliers: &Value) {
    let truth = capture.truth();
    let planted = truth["truth"].as_array().expect("truth");
    let inside = |plant: &Value| plant["cause_ns_inside_interval"].as_f64().expect("a time");
    let mean = planted.iter().map(inside).sum::<f64>() / 16.0;
    let faults = cause(outliers, "kernel.page-fault.minor").expect("page faults");
    assert_eq!((&faults["a"]["intervals"], planted.len()), (&Value::from(16), 16));
    assert_eq!(faults["b"]["mean_ns"], 0);
    let mean_faults = faults["a"]["mean_ns"].as_f64().expect("a mean");
    assert!(mean_faults <= mean && mean_faults >= mean * 0.9, "{mean_faults} of {mean}");
    assert_eq!(outliers["causes"][0]["cause"], "kernel.page-fault.minor", "the largest change stands first");
}

#[test]
fn a_capture_does_not_differ_from_itself() {
    let lock = emulated("lock");
    let found = json(&lock, &lock, &["--top", "20"]);
    assert_eq!((&found["change"]["b_longer"], &found["change"]["p"]), (&Value::from(0.5), &Value::from(1.0)));
    for contrast in ["typical", "outliers"] {
        for change in found[contrast]["causes"].as_array().expect("causes") {
            assert_eq!(change["change_ns"], 0, "{change}");
        }
    }
    assert!(cause(&found["outliers"], "offcpu.lock").is_some_and(|lock| lock["a"]["mean_ns"] != 0));
}

#[test]
fn every_format_is_written() {
    let (a, b) = (emulated("fault"), emulated("preempt"));
    for (format, says) in [
        ("text", "Explained intervals, mean time by cause"),
        ("markdown", "| ---: |"),
        ("json", "\"schema\": \"tailtrace-diff/1\""),
        ("html", "Functions of 3 explained intervals of B against 3 of A"),
    ] {
        let output = diff(&a, &b, &["--top", "3", "--format", format]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && text.contains(says), "{format}: {text}");
        assert!(
            text.contains("offcpu.preempted") && text.contains("kernel.page-fault.minor"),
            "{format}: {text}"
        );
    }
}

/// Without a chosen interval the typical ones are still compared.
#[test]
fn nothing_chosen_leaves_the_typical_ones() {
    let fault = emulated("fault");
    let found = json(&fault, &fault, &["--over", "1s"]);
    assert_eq!(
        (&found["outliers"]["a_count"], &found["typical"]["a_count"]),
        (&Value::from(0), &Value::from(16))
    );
}
