//! Injected causes are named first, with their count and time; where nothing is injected, nothing is named.
//!
//! The expected values are the programs' own measurements and the records' counts in `truth.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::{Capture, emulated, large_emulated};

fn explain(capture: &Capture, arguments: &[&str]) -> Value {
    let output = capture.tailtrace("explain", &[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    for outlier in report["outliers"].as_array().expect("outliers") {
        assert_sums(outlier);
    }
    report
}

/// Σ segments = duration; Σ causes = duration; segments in order without holes.
fn assert_sums(outlier: &Value) {
    let duration = outlier["duration_ns"].as_u64().expect("duration_ns");
    let mut edge = 0;
    for segment in outlier["segments"].as_array().expect("segments") {
        assert_eq!(segment["offset_ns"].as_u64(), Some(edge), "outlier {}", outlier["id"]);
        edge += segment["duration_ns"].as_u64().expect("duration_ns");
    }
    assert_eq!(edge, duration, "outlier {}", outlier["id"]);
    let causes = outlier["causes"].as_array().expect("causes");
    let total: u64 = causes.iter().filter_map(|cause| cause["duration_ns"].as_u64()).sum();
    assert_eq!(total, duration, "outlier {}", outlier["id"]);
    for cause in causes {
        let excess = cause["excess_ns"].as_i64().expect("excess_ns");
        let (took, typical) = (cause["duration_ns"].as_i64(), cause["typical_ns"].as_i64());
        assert_eq!(Some(excess), took.zip(typical).map(|(took, typical)| took - typical));
    }
}

fn by_id(report: &Value) -> BTreeMap<u64, &Value> {
    let outliers = report["outliers"].as_array().expect("outliers");
    outliers.iter().map(|outlier| (outlier["id"].as_u64().expect("id"), outlier)).collect()
}

#[test]
fn fault_names_the_page_faults() {
    let capture = emulated("fault");
    let report = explain(&capture, &["--intervals", &capture.intervals(), "--top", "16"]);
    let outliers = by_id(&report);
    let truth = capture.truth();
    let planted = truth["truth"].as_array().expect("truth");
    assert_eq!(planted.len(), 16);
    for plant in planted {
        let id = plant["index"].as_u64().expect("index");
        let outlier = outliers.get(&id).unwrap_or_else(|| panic!("interval {id} is not selected"));
        let first = &outlier["causes"][0];
        assert_eq!(first["cause"], "kernel.page-fault.minor", "interval {id}");
        assert_eq!(first["count"], plant["sideband"]["page_faults"], "interval {id}");
        assert_page_fault_time(id, outlier, plant);
    }
}

/// The program measured its touching of the pages. That holds the faults, the interrupts during it, and a
/// few user instructions per page: so faults + interrupts of that stretch ≤ measured, and within 10 % of it.
fn assert_page_fault_time(id: u64, outlier: &Value, plant: &Value) {
    let measured = plant["cause_ns_inside_interval"].as_u64().expect("cause_ns_inside_interval");
    let kernel: u64 = outlier["causes"]
        .as_array()
        .expect("causes")
        .iter()
        .filter(|cause| cause["cause"].as_str().is_some_and(|name| name.starts_with("kernel.")))
        .filter_map(|cause| cause["duration_ns"].as_u64())
        .sum();
    let faults = outlier["causes"][0]["duration_ns"].as_u64().expect("duration_ns");
    assert!(faults <= measured, "interval {id}: {faults} ns of faults in {measured} ns");
    assert!(kernel * 100 >= measured * 90, "interval {id}: {kernel} ns of kernel in {measured} ns");
}

#[test]
fn preempt_names_the_competitor() {
    let capture = emulated("preempt");
    let report = explain(&capture, &["--intervals", &capture.intervals(), "--top", "12"]);
    let outliers = by_id(&report);
    let truth = capture.truth();
    let planted = truth["truth"].as_array().expect("truth");
    assert_eq!(planted.len(), 12);
    for plant in planted {
        let id = plant["index"].as_u64().expect("index");
        let outlier = outliers.get(&id).unwrap_or_else(|| panic!("interval {id} is not selected"));
        let first = &outlier["causes"][0];
        assert_eq!(first["cause"], "offcpu.preempted", "interval {id}");
        let by = &plant["by"];
        let who = format!("{} (tid {})", by["thread"].as_str().expect("thread"), by["tid"]);
        let detail = first["detail"].as_str().expect("detail");
        assert!(detail.contains(&who), "interval {id}: {detail} does not name {who}");
        let recorded = plant["sideband"]["preempted_ns"].as_u64().expect("preempted_ns");
        let found = first["duration_ns"].as_u64().expect("duration_ns");
        assert!(
            found.abs_diff(recorded) * 50 <= recorded,
            "interval {id}: {found} ns, the sched_switch records say {recorded} ns"
        );
    }
}

/// Every interval of `noise` that is slow is so because of the tick, of a stall of the emulator's host, or
/// because its user code took longer: nothing else may come first.
#[test]
fn noise_names_nothing_that_is_not_there() {
    let capture = emulated("noise");
    let report = explain(&capture, &["--intervals", &capture.intervals(), "--top", "40"]);
    let truth = capture.truth();
    let dirty = truth["not_planted_but_slow_or_dirty"].as_array().expect("list");
    for (id, outlier) in by_id(&report) {
        let first = outlier["causes"][0]["cause"].as_str().expect("cause");
        let known = dirty.iter().find(|entry| entry["index"].as_u64() == Some(id));
        let tick = known.is_some_and(|entry| !entry["sideband"]["irq_ns"].is_null());
        let kernel = first.starts_with("kernel.timer") || first.starts_with("kernel.softirq.");
        let own = first.starts_with("user.") || first == "hardware.gap";
        assert!(own || (tick && kernel), "interval {id} is blamed on {first}; the truth says {known:?}");
    }
    let stalled = by_id(&report)[&828];
    assert_eq!(stalled["causes"][0]["cause"], "hardware.gap");
    let gap = stalled["causes"][0]["duration_ns"].as_u64().expect("duration_ns");
    assert!((300_000..340_000).contains(&gap), "the emulator stalled for 316863 ns: {gap}");
}

/// The same intervals, from the marks in the trace and from the program's own file: PTWRITE executes after `rdtsc`.
#[test]
fn fault_marks_in_the_trace_are_those_of_the_file() {
    let capture = emulated("fault");
    let all = ["--over", "0ns", "--top", "1000", "--baselines", "1"];
    let from_file = explain(&capture, &[&["--intervals", &capture.intervals()][..], &all].concat());
    let spec = "begin=0x51,end=0x52,tag=56..63,id=32..55";
    let from_trace = explain(&capture, &[&["--ptwrite", spec][..], &all].concat());
    let (from_file, from_trace) = (by_id(&from_file), by_id(&from_trace));
    assert_eq!(from_file.len(), 500);
    assert_eq!(from_file.keys().collect::<Vec<_>>(), from_trace.keys().collect::<Vec<_>>());
    for (id, file) in &from_file {
        let trace = from_trace[id];
        for edge in ["start_tsc", "stop_tsc"] {
            let reading = |outlier: &Value| outlier[edge].as_str().and_then(|text| text.parse::<u64>().ok());
            let apart = reading(file).expect("tsc").abs_diff(reading(trace).expect("tsc"));
            assert!(apart <= 3900, "interval {id}: {edge} is {apart} ticks (2.6 per ns) off");
        }
        assert_eq!(file["stop_thread"], trace["stop_thread"], "interval {id}");
    }
}

#[test]
fn spsc_finds_all_its_marks() {
    let Some(capture) = large_emulated("spsc_k8_150ms") else { return };
    let report = explain(&capture, &["--ptwrite", "id=40..63,ticks=0..39", "--top", "3"]);
    assert_eq!(report["population"]["count"], 9000);
    assert_eq!(report["outliers"].as_array().expect("outliers").len(), 3);
}
