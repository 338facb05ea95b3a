//! Spans of others beside marks of `tailtrace.h` around them, on one recording by the real perf: span for span the same intervals, to the
//! bound of the clocks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{repository, tailtrace};
use crate::languages::java_marks;
use crate::no_pt::{NEEDS, key, record, run};
use crate::perfetto::place;

/// Both sources of a recording.
pub(crate) struct Both<'a> {
    folder: &'a Path,
}

/// The intervals of each thread in order of time, and by how many nanoseconds a converted time may be off.
pub(crate) struct Intervals {
    by_thread: BTreeMap<u64, Vec<Value>>,
    bound_ns: u64,
}

impl<'a> Both<'a> {
    /// Runs `program` in `folder` under `tailtrace record` with more `options`.
    pub(crate) fn record(folder: &'a Path, options: &[&str], program: &[&str]) -> Both<'a> {
        let both = Both { folder };
        let mut recorder = record();
        recorder.current_dir(both.folder).args(["record", "--no-pt", "-o", "perf.data"]);
        run(recorder.args(options).arg("--").args(program), NEEDS);
        if recorder.get_program() == "sudo" {
            run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rwX"]).arg(both.folder), NEEDS);
        }
        both
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The report on all `count` intervals of a label.
    pub(crate) fn report(&self, intervals: &str, label: &str, count: usize) -> Value {
        let mut command = tailtrace();
        command.current_dir(self.folder);
        command.args(["explain", "--format", "json", "--intervals", intervals, "--label", label]);
        command.args(["--top", &count.to_string()]);
        let report: Value = serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON");
        assert_eq!(report["population"]["count"], count, "{intervals}: {}", report["diagnostics"]);
        report
    }

    /// All `count` intervals of a label.
    pub(crate) fn intervals(&self, intervals: &str, label: &str, count: usize) -> Intervals {
        let report = self.report(intervals, label, count);
        let mut by_thread = BTreeMap::new();
        for one in report["outliers"].as_array().expect("outliers") {
            let tid = one["start_thread"]["tid"].as_u64().unwrap_or_else(|| panic!("{one}"));
            by_thread.entry(tid).or_insert_with(Vec::new).push(one.clone());
        }
        for intervals in by_thread.values_mut() {
            intervals.sort_by_key(|one| time(one, "start_tsc"));
        }
        let said = report["diagnostics"].to_string();
        let bound_ns = said.split_once("may be off by up to ").map_or(0, |(_, rest)| {
            rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
        });
        Intervals { by_thread, bound_ns }
    }
}

pub(crate) fn time(outlier: &Value, field: &str) -> u64 {
    outlier[field].as_str().and_then(|text| text.parse().ok()).expect("a time")
}

/// The n-th span of each thread is the n-th marked interval, which encloses it to the bound, and has hardly more; how many these are.
pub(crate) fn assert_enclosed(spans: &Intervals, marked: &Intervals) -> usize {
    let tids = |intervals: &Intervals| intervals.by_thread.keys().copied().collect::<Vec<_>>();
    assert_eq!(tids(spans), tids(marked));
    let mut apart = Vec::new();
    for (tid, spans_of_it) in &spans.by_thread {
        let marked = &marked.by_thread[tid];
        assert_eq!(spans_of_it.len(), marked.len(), "thread {tid}");
        assert!(marked.windows(2).all(|two| key(&two[0]) < key(&two[1])));
        for (span, marked) in spans_of_it.iter().zip(marked) {
            assert_eq!(span["start_thread"], marked["start_thread"]);
            assert_eq!(span["stop_thread"], marked["stop_thread"]);
            assert!(span["key"].is_null() || key(span) == key(marked), "{span}");
            let [start, stop] =
                ["start_tsc", "stop_tsc"].map(|field| (time(span, field), time(marked, field)));
            let ticks_of =
                |ns: u64| ns * (stop.1 - start.1) / marked["duration_ns"].as_u64().expect("a length");
            let bound = ticks_of(spans.bound_ns);
            assert!(start.0 + bound >= start.1, "begins {} ticks too early: {span}", start.1 - start.0);
            assert!(stop.0 <= stop.1 + bound, "ends {} ticks too late: {span}", stop.0 - stop.1);
            apart.extend(
                [start.0.abs_diff(start.1), stop.0.abs_diff(stop.1)].map(|ticks| ticks / ticks_of(1).max(1)),
            );
        }
    }
    apart.sort_unstable();
    // Either may be interrupted between the two readings, but not most of them.
    assert!(apart[apart.len() / 2] < 100_000 + spans.bound_ns, "{apart:?} ns");
    let (median, last) = (apart[apart.len() / 2], apart.last().copied().unwrap_or_default());
    eprintln!(
        "{} spans; apart {median} ns (median), {last} ns (most); clock bound {} ns",
        apart.len() / 2,
        spans.bound_ns
    );
    apart.len() / 2
}

/// Spans and traced calls of methods; one look-up of each thread sleeps for 20 ms.
#[test]
fn async_profilers_spans_are_the_marked_intervals() {
    let folder = TempDir::new().expect("a folder");
    let profiler = place::of("java/async-profiler.jar");
    let classes = java_marks(folder.path());
    let path = format!("{}:{}", classes.display(), profiler.display());
    let mut compiler = Command::new("javac");
    compiler.args(["-cp", &path, "-d"]).arg(classes);
    run(compiler.arg(repository().join("fixtures/programs/ProfiledSpans.java")), "the program compiles");
    let both = Both::record(
        folder.path(),
        &[],
        &["java", "-cp", &path, "ProfiledSpans", "spans.jfr", "spans.marks", "spans.csv"],
    );
    for (span, mark) in [("order", "order"), ("ProfiledSpans.lookup", "lookup")] {
        let [spans, marked] = [("spans.jfr", span), ("spans.marks", mark)]
            .map(|(file, label)| both.intervals(file, label, 200));
        assert_eq!(assert_enclosed(&spans, &marked), 200);
    }
    let slowest = &both.report("spans.jfr", "ProfiledSpans.lookup", 200)["outliers"][0];
    let headline = slowest["headline"].as_str().expect("a text");
    assert!(headline.contains("slept"), "{headline}");
    assert!(fs::read_to_string(both.path("spans.csv")).is_ok_and(|text| text.lines().count() == 401));
}
