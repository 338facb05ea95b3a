//! Spans that runtimes write, against what their programs read of the same clock, on one recording by the real perf: Go's execution
//! trace and the JDK's flight recording. The recordings of `crates/intervals/tests/spans.rs` are of the same programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{repository, tailtrace};
use crate::no_pt::{NEEDS, first, record, run};

/// A recording of a program that wrote its spans and what it knows of them.
struct Recorded {
    folder: TempDir,
}

impl Recorded {
    /// Runs `program` under `tailtrace record`, and hands its output to `csv`, unless it wrote that itself.
    fn of(folder: TempDir, program: &[&str]) -> Recorded {
        let made = Recorded { folder };
        let mut recorder = record();
        recorder.current_dir(made.folder.path()).args(["record", "--no-pt", "-o", "perf.data", "--"]);
        let output = run(recorder.args(program), NEEDS);
        if !output.stdout.is_empty() {
            fs::write(made.path("stated.csv"), output.stdout).expect("written");
        }
        if recorder.get_program() == "sudo" {
            run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rX"]).arg(made.folder.path()), NEEDS);
        }
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The longest intervals of `label`.
    fn longest(&self, intervals: &str, label: &str, count: &str) -> Vec<Value> {
        let mut command = tailtrace();
        command.current_dir(self.folder.path());
        command.args([
            "explain",
            "--format",
            "json",
            "--intervals",
            intervals,
            "--label",
            label,
            "--top",
            count,
        ]);
        let report: Value = serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON");
        report["outliers"].as_array().expect("outliers").clone()
    }

    /// What the program stated, as an interval file of `clock`: from the reading before each begin to the one after its end.
    fn write_stated(&self, clock: &str) {
        let text = fs::read_to_string(self.path("stated.csv")).expect("written");
        let mut rows = format!("# tailtrace-intervals 1 clock={clock}\nlabel,start,stop\n");
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let after = cells.len() - 4;
            rows.push_str(&[cells[0], cells[after], cells[after + 3]].join(","));
            rows.push('\n');
        }
        fs::write(self.path("enclosing.csv"), rows).expect("written");
    }

    /// Each of the longest spans lies within what the program stated, and is hardly shorter; the spans.
    fn compare(&self, spans: &str, label: &str, unit_ns: u64) -> Vec<Value> {
        let found = self.longest(spans, label, "6");
        let stated = self.longest("enclosing.csv", label, "100");
        assert_eq!(found.len(), 6);
        let mut shortest = u64::MAX;
        for one in &found {
            let encloses = |other: &&Value| {
                let [start, stop] = ["start_tsc", "stop_tsc"].map(|field| number(other, field));
                // Two or three ticks to a nanosecond.
                start <= number(one, "start_tsc") + 6 * unit_ns && number(one, "stop_tsc") <= stop
            };
            let shortest_of = |other: &&Value| number(other, "duration_ns");
            let other = stated.iter().filter(encloses).min_by_key(shortest_of);
            let other = other.unwrap_or_else(|| panic!("{one}"));
            shortest = shortest.min(number(other, "duration_ns") - number(one, "duration_ns"));
            assert!(number(&one["start_thread"], "pid") > 0, "{one}");
        }
        // The readings around a span take some microseconds; what else runs here may delay one of them.
        assert!(shortest < 1_000_000, "{shortest} ns");
        found
    }
}

fn number(value: &Value, field: &str) -> u64 {
    match &value[field] {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_u64().expect("a number"),
    }
}

fn source(name: &str, folder: &Path) {
    fs::copy(repository().join("fixtures/programs").join(name), folder.join(name)).expect("copied");
}

/// No record of the trace names the process: the capture's do. One request in five sleeps for 3 ms, and a thread of Go waits meanwhile.
#[test]
fn gos_execution_trace_is_explained() {
    let folder = TempDir::new().expect("a folder");
    source("requests.go", folder.path());
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o", "requests", "requests.go"]).current_dir(folder.path());
    run(&mut compiler, "this test needs Go (Debian: golang-go)");
    let recorded = Recorded::of(folder, &["./requests", "tasks.trace"]);
    recorded.write_stated("monotonic");
    let found = recorded.compare("tasks.trace", "request", 64);
    let is_wait =
        |one: &&Value| first(one)["cause"].as_str().is_some_and(|cause| cause.starts_with("offcpu."));
    assert!(found.iter().filter(is_wait).count() >= 4, "{found:?}");
}

/// A look-up of one thread sleeps for 30 ms.
#[test]
fn the_jdks_flight_recording_is_explained() {
    let folder = TempDir::new().expect("a folder");
    source("Requests.java", folder.path());
    let mut compiler = Command::new("javac");
    compiler.arg("Requests.java").current_dir(folder.path());
    run(&mut compiler, "this test needs a JDK (Debian: openjdk-17-jdk-headless)");
    let recorded = Recorded::of(folder, &["java", "-cp", ".", "Requests", "flight.jfr", "stated.csv"]);
    recorded.write_stated("realtime");
    // The JDK reads the clock of the chunk's begin some hundred nanoseconds beside its ticks.
    let found = recorded.compare("flight.jfr", "shop.Lookup", 2_000);
    // The JVM sleeps in a futex, up to a timeout.
    let headline = found[0]["headline"].as_str().expect("a text");
    assert!(headline.contains("slept"), "{headline}");
}
