//! Regions that a program of the ITT API marks in its trace: the same intervals as those of the file beside the capture.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{emulated, repository, tailtrace};

fn made() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let scenario = repository().join("fixtures/scenarios/pt_regions.scenario");
    tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
    folder
}

fn tsc(one: &Value, name: &str) -> u64 {
    one[name].as_str().and_then(|text| text.parse().ok()).or(one[name].as_u64()).expect("a reading")
}

/// Start and stop of each interval, in TSC ticks, with its label, in order.
fn intervals(folder: &Path, source: &[&str]) -> Vec<(u64, u64, String)> {
    let mut command = tailtrace();
    command.args(["explain", "--over", "0ns", "--top", "9", "--format", "json", "-i"]);
    command.arg(folder.join("perf.data")).arg("--symfs").arg(folder.join("symfs")).args(source);
    let output = command.output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut found: Vec<_> = report["outliers"]
        .as_array()
        .expect("outliers")
        .iter()
        .map(|one| {
            let ends = ["start_tsc", "stop_tsc"].map(|name| tsc(one, name));
            (ends[0], ends[1], one["label"].as_str().expect("a label").to_owned())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn regions_in_the_trace_are_the_intervals_of_the_file() {
    let folder = made();
    let file = folder.path().join("intervals.csv");
    let expected = intervals(folder.path(), &["--intervals", &file.to_string_lossy()]);
    let found = intervals(folder.path(), &["--pt-regions"]);
    let ends = |all: &[(u64, u64, String)]| all.iter().map(|one| (one.0, one.1)).collect::<Vec<_>>();
    assert_eq!(ends(&found), ends(&expected));
    let labels = |all: &[(u64, u64, String)]| all.iter().map(|one| one.2.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&found), ["region 3", "region 3", "region 0"]);

    let names = folder.path().join("names");
    fs::write(&names, "0 parse\n3 order\n").expect("written");
    let source = ["--pt-regions", "--region-names", &names.to_string_lossy()];
    assert_eq!(labels(&intervals(folder.path(), &source)), ["order", "order", "parse"]);
}

/// The ITT API's own stub in a program that ran in the emulator: each order has one region, from just after its begin mark to just before its end
/// mark; regions of one number, of two threads, do not end each other.
#[test]
fn regions_of_the_library_lie_within_the_marks_beside_them() {
    let capture = emulated("regions");
    let intervals = |source: &[&str]| {
        let all = ["--over", "0ns", "--top", "2000", "--format", "json"];
        let output = capture.tailtrace("explain", &[&all[..], source].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut all = report["outliers"].as_array().expect("outliers").clone();
        all.sort_by_key(|one| tsc(one, "start_tsc"));
        all
    };
    let orders = intervals(&["--intervals", &capture.intervals()]);
    let regions = intervals(&["--pt-regions", "--label", "region 3"]);
    assert_eq!((orders.len(), regions.len()), (360, 360));
    let mut apart = Vec::new();
    for (order, region) in orders.iter().zip(&regions) {
        assert_eq!(region["start_thread"], order["start_thread"]);
        let after = tsc(region, "start_tsc").checked_sub(tsc(order, "start_tsc"));
        let before = tsc(order, "stop_tsc").checked_sub(tsc(region, "stop_tsc"));
        apart.extend([after.expect("after the begin mark"), before.expect("before the end mark")]);
        assert_eq!(region["causes"][0]["cause"], order["causes"][0]["cause"]);
    }
    apart.sort_unstable();
    // 40 ticks are 15 ns; between the two there may be an interrupt.
    assert!(apart[apart.len() * 9 / 10] <= 40 && apart[apart.len() - 1] < 26_000, "{apart:?}");
    // What the program counted of the other thread's regions stands in the truth.
    let of_clerk: usize =
        capture.truth()["parameters"]["clerk"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    let prices = intervals(&["--pt-regions", "--label", "region 5"]);
    let by_worker = prices.iter().filter(|price| price["start_thread"] == orders[0]["start_thread"]).count();
    assert_eq!((by_worker, prices.len() - by_worker), (360, of_clerk));
}

#[test]
fn without_a_table_the_error_says_what_to_build() {
    let folder = made();
    fs::remove_dir_all(folder.path().join("symfs")).expect("the programs are gone");
    let mut command = tailtrace();
    command.args(["stat", "--pt-regions", "-i"]).arg(folder.path().join("perf.data"));
    let output = command.arg("--symfs").arg(folder.path()).output().expect("tailtrace runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no binary of this capture has the mark table") && said.contains("--symfs"),
        "{said}"
    );
}
