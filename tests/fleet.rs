//! Tables of captures: `DuckDB` reads from the Parquet files what the report says, each capture once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::captures::{Capture, emulated, repository};
use crate::slices::assert_done;

/// Rows by table, in the order in which `DuckDB` gives them.
type Tables = BTreeMap<String, Vec<Value>>;

/// The tables in `folder`, read by `DuckDB`.
fn tables(folder: &Path) -> Tables {
    let output = Command::new(repository().join("crates/fleet/python/check"))
        .arg("--run")
        .arg(repository().join("tests/fleet/rows.py"))
        .arg(folder)
        .output()
        .expect("the check runs");
    assert_done(&output);
    let mut tables = Tables::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let table = line["table"].as_str().expect("a name").to_owned();
        tables.entry(table).or_default().push(line["row"].take());
    }
    tables
}

fn text<'v>(row: &'v Value, column: &str) -> &'v str {
    row[column].as_str().unwrap_or_else(|| panic!("{column} of {row}"))
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// The sum of a column in the rows of one interval.
fn sum(rows: &[Value], interval: i64, column: &str) -> i64 {
    rows.iter().filter(|row| number(row, "interval") == interval).map(|row| number(row, column)).sum()
}

/// `explain --format json --parquet`: the report.
fn explain(capture: &Capture, folder: &Path) -> Value {
    let folder = folder.to_string_lossy();
    let arguments =
        ["--intervals", &capture.intervals(), "--top", "3", "--format", "json", "--parquet", &folder];
    let output = capture.tailtrace("explain", &arguments);
    assert_done(&output);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn tables_say_what_the_report_says() {
    let (capture, root) = (emulated("lock"), tempfile::tempdir().expect("a folder"));
    let folder = root.path().join("made/tables");
    let report = explain(&capture, &folder);
    explain(&capture, &folder);
    let tables = tables(&folder);
    let captures = &tables["captures"];
    assert_eq!(captures.len(), 1, "explained twice, there once");
    let data =
        if capture.perf_data.is_dir() { capture.perf_data.join("data") } else { capture.perf_data.clone() };
    let sum_of_file = Command::new("sha256sum").arg(data).output().expect("sha256sum runs").stdout;
    assert_eq!(text(&captures[0], "capture").as_bytes(), &sum_of_file[..64]);
    assert_eq!(text(&captures[0], "status"), "ok");
    assert_eq!(captures[0]["kernel"], report["capture"]["os_release"]);
    let whole = &tables["populations"][0];
    for column in ["count", "outliers", "max_ns"] {
        assert_eq!(whole[column], report["population"][column], "{column}");
    }
    assert_eq!((text(whole, "label"), number(whole, "explained")), ("", 3));
    assert_eq!(whole["p99_ns"], report["population"]["percentiles"]["p99"]);
    assert_eq!(tables["diagnostics"].len(), report["diagnostics"].as_array().expect("a list").len());
    let is_outlier = |row: &&Value| text(row, "role") == "outlier";
    let outliers: Vec<&Value> = tables["intervals"].iter().filter(is_outlier).collect();
    let reported = report["outliers"].as_array().expect("a list");
    assert_eq!((outliers.len(), reported.len()), (3, 3));
    let rest: f64 = tables["intervals"].iter().filter_map(|row| row["weight"].as_f64()).sum();
    assert!((rest - report["population"]["count"].as_f64().expect("a count")).abs() < 1e-6, "{rest}");
    for outlier in reported {
        let id = number(outlier, "id");
        let row = outliers.iter().find(|row| number(row, "interval") == id).expect("its row");
        let own = |table: &str| tables[table].iter().filter(|row| number(row, "interval") == id).count();
        let (duration, typical) = (number(row, "duration_ns"), number(row, "typical_ns"));
        assert_eq!(Value::from(duration), outlier["duration_ns"]);
        assert_eq!(sum(&tables["causes"], id, "excess_ns"), duration - typical);
        assert_eq!(own("causes"), outlier["causes"].as_array().expect("a list").len());
        assert_eq!(own("segments"), outlier["segments"].as_array().expect("a list").len());
        assert_eq!(sum(&tables["segments"], id, "duration_ns"), duration);
        assert_eq!(sum(&tables["segments"], id, "ticks"), number(row, "ticks"));
        let first = |cause: &&Value| number(cause, "interval") == id && number(cause, "rank") == 0;
        let first = tables["causes"].iter().find(first).expect("a cause");
        assert_eq!(first["cause"], outlier["causes"][0]["cause"]);
        assert_eq!(text(row, "story"), text(first, "story"));
        let chain = "offcpu.lock: waited for mutex lock in run_interval(), held by ";
        assert!(text(first, "chain").starts_with(chain), "{first}");
    }
}
