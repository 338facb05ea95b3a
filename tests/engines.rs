//! Both engines over the fixtures and scenarios: the same instructions, the same reports.
//!
//! What may differ is listed in `docs/engines.md`; where it shows in a report, the fixture is named here.

use serde_json::Value;

use crate::captures::{Capture, bundled, emulated, tailtrace};
use crate::scenarios;

const KINDS: [&str; 2] = ["libipt", "native"];

/// What each engine lets the command print.
fn printed(capture: &Capture, command: &str, arguments: &[&str]) -> [String; 2] {
    KINDS.map(|kind| {
        let output = capture.tailtrace(command, &[arguments, &["--engine", kind]].concat());
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    })
}

#[track_caller]
fn assert_alike([libipt, native]: [String; 2], what: &str) {
    let differ = libipt.lines().zip(native.lines()).position(|(one, other)| one != other);
    let line = |text: &str| differ.and_then(|at| text.lines().nth(at)).map(str::to_owned);
    assert_eq!(line(&libipt), line(&native), "{what}, line {differ:?}");
    assert_eq!(libipt.lines().count(), native.lines().count(), "{what}");
}

#[test]
fn captures_are_explained_alike() {
    for name in ["fault", "preempt", "noise"] {
        let capture = emulated(name);
        let intervals = capture.root.join("intervals.csv");
        let arguments =
            ["--intervals", intervals.to_str().expect("UTF-8"), "--top", "20", "--format", "json"];
        let reports = printed(&capture, "explain", &arguments);
        assert!(reports[0].len() > 10_000, "{name}");
        assert_alike(reports, name);
    }
}

#[test]
fn captures_have_the_same_instructions() {
    for capture in [emulated("fault"), bundled("single"), bundled("multifile"), bundled("multicore")] {
        let listings = printed(&capture, "dump", &["--insns"]);
        assert!(!listings[0].is_empty());
        assert_alike(listings, &capture.root.display().to_string());
    }
}

/// Scenarios with returns that libipt does not know: ERETU and ERETS.
const FRED: &str = "fred_";

/// Scenarios whose reports differ, each by what `docs/engines.md` explains.
const EXPLAINED: [&str; 2] = ["aux_truncated", "ptwrite_pairs"];

#[test]
fn scenarios_have_the_same_instructions_and_reports() {
    let mut differ = Vec::new();
    scenarios::each(|made| {
        if made.name.starts_with(FRED) {
            return;
        }
        let print = |command, arguments: &[&str], kind| {
            let mut process = tailtrace();
            process.arg(command).arg("-i").arg(made.folder.path().join("perf.data"));
            process.arg("--symfs").arg(made.folder.path().join("symfs")).args(arguments);
            // Some have no interval, and so no success.
            let output = process.args(["--engine", kind]).output().expect("tailtrace runs");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let listings = KINDS.map(|kind| print("dump", &["--insns"], kind));
        assert_alike(listings, &made.name);
        let intervals = made.folder.path().join("intervals.csv");
        let intervals = intervals.to_str().expect("UTF-8");
        let arguments = ["--intervals", intervals, "--top", "5", "--format", "json"];
        let [libipt, native] = KINDS.map(|kind| print("explain", &arguments, kind));
        if libipt != native {
            assert_eq!(first_causes(&libipt), first_causes(&native), "{}", made.name);
            differ.push(made.name.clone());
        }
    });
    differ.sort();
    assert_eq!(differ, EXPLAINED);
}

/// The cause that each outlier of a report names first.
fn first_causes(report: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(report).expect("the report is JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    outliers.iter().map(|outlier| outlier["causes"][0]["cause"].clone()).collect()
}
