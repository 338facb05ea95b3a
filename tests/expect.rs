//! `stat` and `diff` with `--expect`: exit code 3 where something does not hold, and what was measured.
//!
//! Percentiles come from the interval file by the truth's own clock constants, shares from the causes of all outliers.

use std::process::Output;

use serde_json::Value;

use crate::captures::{Capture, emulated, tailtrace};
use crate::diff::durations;

fn stat(capture: &Capture, more: &[&str]) -> Output {
    capture.tailtrace("stat", &[&["--intervals", &capture.intervals()], more].concat())
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The 495th of 500 durations, to the nanosecond: a limit of its length is not below it, one more is.
#[test]
fn a_percentile_is_held_against_its_limit() {
    let capture = emulated("fault");
    let durations = durations(&capture);
    assert_eq!(durations.len(), 500);
    let p99 = durations[494];
    let (exact, above) = (format!("p99 < {p99}ns"), format!("p99 < {}ns", p99 + 1));
    let failed = stat(&capture, &["--expect", &exact, "--expect", &above]);
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    let lines: Vec<String> = stdout(&failed).lines().rev().take(2).map(str::to_owned).collect();
    assert!(lines[1].starts_with(&format!("not met  {exact}: ")), "{lines:?}");
    assert!(lines[0].starts_with(&format!("met      {above}: ")), "{lines:?}");
    assert!(lines.iter().all(|line| line.contains(", 95 % confidence ")), "{lines:?}");
    assert_eq!(stat(&capture, &["--expect", &above]).status.code(), Some(0));
    let at_most = format!("p99 <= {p99}ns");
    assert_eq!(stat(&capture, &["--expect", &at_most]).status.code(), Some(0));
    let longest = format!("max >= {}ns", durations[499]);
    assert_eq!(stat(&capture, &["--expect", &longest]).status.code(), Some(0));
}

/// What exceeds typical, by the causes that `explain` reports for all outliers.
#[test]
fn a_share_is_of_all_excess() {
    let capture = emulated("fault");
    let count = stat(&capture, &["--format", "json"]);
    let count: Value = serde_json::from_slice(&count.stdout).expect("JSON");
    let count = count["population"]["outliers"].as_u64().expect("a number").to_string();
    let intervals = capture.intervals();
    let arguments = ["--intervals", &intervals, "--mad", "3.5", "--top", &count, "--format", "json"];
    let report: Value =
        serde_json::from_slice(&capture.tailtrace("explain", &arguments).stdout).expect("JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len().to_string(), count);
    let causes = outliers.iter().flat_map(|outlier| outlier["causes"].as_array().expect("causes"));
    let (mut part, mut whole) = (0, 0);
    for cause in causes {
        let excess = cause["excess_ns"].as_i64().expect("a number").max(0);
        whole += excess;
        let name = cause["cause"].as_str().expect("a name");
        part += if name.starts_with("kernel.page-fault.") { excess } else { 0 };
    }
    // In tenths of a percent, as it is printed; the injected cause is page faults.
    let tenths = (part * 2000 + whole) / (whole * 2);
    assert!(tenths > 300, "{tenths}");
    let shown = format!("{}.{} %, 95 % confidence ", tenths / 10, tenths % 10);
    let failed = stat(&capture, &["--expect", "share(kernel.page-fault) < 5%"]);
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    let text = stdout(&failed);
    assert!(text.contains(&format!("not met  share(kernel.page-fault) < 5%: {shown}")), "{text}");
    assert!(text.trim_end().ends_with(&format!(" of {count} outliers")), "{text}");
    assert_eq!(stat(&capture, &["--expect", "share(offcpu.lock) < 5%"]).status.code(), Some(0));
}

#[test]
fn two_captures_are_held_against_each_other() {
    let (a, b) = (emulated("fault"), emulated("preempt"));
    let diff =
        |more: &[&str]| crate::diff::diff(&a, &b, &[&["--top", "1", "--baselines", "2"], more].concat());
    let at = |durations: &[u64]| durations[durations.len().div_ceil(2) - 1];
    let (of_a, of_b) = (at(&durations(&a)), at(&durations(&b)));
    // Thousandths, rounded down and up.
    let ratio = |thousandths: u64| format!("{}.{:03}x", thousandths / 1000, thousandths % 1000);
    let below = of_b * 1000 / of_a;
    let (less, more) = (format!("p50 <= {}", ratio(below)), format!("p50 < {}", ratio(below + 1)));
    let output = diff(&["--expect", &less, "--expect", &more, "--format", "markdown"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains(&format!("not met  {less}: ")) && text.contains(&format!("met      {more}: ")),
        "{text}"
    );
    // A duration is expected of B.
    let of_b = format!("p50 <= {of_b}ns");
    assert_eq!(diff(&["--expect", &of_b, "--expect", &more]).status.code(), Some(0));
}

#[test]
fn a_test_suite_is_xml() {
    let capture = emulated("fault");
    let expected = ["--expect", "p50 < 1s", "--expect", "p50 < 1ns", "--format", "junit"];
    let output = stat(&capture, &expected);
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert!(text.contains("tests=\"2\" failures=\"1\""), "{text}");
    assert!(stderr(&output).contains("not met  p50 < 1ns: "), "{}", stderr(&output));
    let mut parser = std::process::Command::new("python3");
    parser.args(["-c", "import sys, xml.etree.ElementTree as e; print(len(e.fromstring(sys.argv[1]).findall('testsuite/testcase/failure')))"]);
    match parser.arg(&text).output() {
        Ok(parsed) => assert_eq!(stdout(&parsed).trim(), "1", "{}", stderr(&parsed)),
        Err(_) => crate::captures::left_out("no python3"),
    }
}

/// Documents for programs stay whole: the lines go to stderr.
#[test]
fn json_stays_json() {
    let capture = emulated("fault");
    let output = stat(&capture, &["--expect", "mean < 1ns", "--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let _: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(stderr(&output).contains("not met  mean < 1ns: "), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_expected_is_an_error() {
    let capture = emulated("fault");
    for (arguments, says) in [
        (&["--expect", "p99 < 1.05x"][..], "of two captures"),
        (&["--expect", "p99 < 200"], "has no unit"),
        (&["--expect", "share(offcpu.lokc) < 5%"], "did you mean offcpu.lock?"),
        (&["--format", "junit"], "--expect"),
    ] {
        let output = stat(&capture, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
    // A slice holds some intervals of the population.
    let folder = tempfile::tempdir().expect("a folder");
    let slice = folder.path().join("slice.data").to_string_lossy().into_owned();
    let cut = capture.tailtrace("slice", &["--intervals", &capture.intervals(), "--top", "1", "-o", &slice]);
    assert!(cut.status.success(), "{}", stderr(&cut));
    let output = tailtrace().args(["stat", &slice, "--expect", "p99 < 1s"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is a slice"), "{}", stderr(&output));
}
