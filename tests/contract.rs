//! The command line's contract: exit codes, formats, and how bad input is met.

use std::fs;
use std::process::Stdio;

use crate::captures::{emulated, tailtrace};

fn exit_code(capture: &crate::captures::Capture, command: &str, arguments: &[&str]) -> Option<i32> {
    capture.tailtrace(command, arguments).status.code()
}

#[test]
fn exit_codes_say_what_happened() {
    let capture = emulated("fault");
    let intervals = capture.intervals();
    assert_eq!(exit_code(&capture, "explain", &["--intervals", &intervals, "--top", "1"]), Some(0));
    assert_eq!(exit_code(&capture, "explain", &["--intervals", &intervals, "--over", "1s"]), Some(1));
    assert_eq!(exit_code(&capture, "explain", &["--intervals", "/nowhere.csv"]), Some(2));
    assert_eq!(exit_code(&capture, "explain", &["--ptwrite", "nonsense"]), Some(2));
    assert_eq!(exit_code(&capture, "stat", &["--intervals", &intervals, "--over", "1s"]), Some(1));
    assert_eq!(exit_code(&capture, "stat", &["--intervals", &intervals, "--expect", "p50 < 1ns"]), Some(3));
}

#[test]
fn unusable_captures_give_one_clear_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, says) in [
        ("empty", &b""[..], "empty"),
        ("text", b"this is no perf.data file at all, but long enough to hold a header of one hundred and four bytes, really", "perf.data"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        let output = tailtrace().args(["dump", "--records", "-i"]).arg(&path).output().expect("runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.contains(says), "{name}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let capture = emulated("fault");
    let mut process = tailtrace()
        .args(["dump", "--insns", "-i"])
        .arg(&capture.perf_data)
        .arg("--symfs")
        .arg(&capture.symfs)
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    drop(process.stdout.take());
    assert_eq!(process.wait().expect("ends").code(), Some(0));
}

#[test]
fn markdown_fits_a_ticket() {
    let capture = emulated("preempt");
    let output = capture
        .tailtrace("explain", &["--intervals", &capture.intervals(), "--top", "12", "--format", "markdown"]);
    let text = String::from_utf8(output.stdout).expect("Markdown is UTF-8");
    assert!(text.lines().count() < 60, "{} lines", text.lines().count());
    assert!(text.contains("offcpu.preempted"), "{text}");
}

#[test]
fn an_interval_outside_the_capture_is_reported_not_invented() {
    let capture = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("far.csv");
    let far = "name,start_tsc.TSC,end_tsc,pid,tid\nfar,9000000000000,9000000100000,118,120\n";
    fs::write(&path, format!("{far}inside,1443401205,1443446385,118,120\n")).expect("written");
    let path = path.to_string_lossy();
    let output = capture.tailtrace("explain", &["--intervals", &path, "--id", "0", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let causes = report["outliers"][0]["causes"].as_array().expect("causes");
    let names: Vec<_> = causes.iter().filter_map(|cause| cause["cause"].as_str()).collect();
    assert!(names.iter().all(|name| ["unexplained", "trace.loss"].contains(name)), "{names:?}");
}
