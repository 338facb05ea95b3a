//! The same intervals in the full trace, and in captures that hold less: user code alone, single threads, no
//! tracepoints, sideband alone, the trace alone. Off-CPU time has the same edges, nothing changes its group, and what
//! is unknown is reported.
//!
//! All are the same run: the archive holds three encodings of it, and the others are the first one with a part taken
//! out. Expected values: none of ours; each variant is held against the full trace.

pub(crate) mod encodings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::captures::{Capture, emulated, tailtrace};

/// Intervals looked at of each capture.
const LOOKED_AT: usize = 25;

/// The detail of a wait without a record of its wake-up.
const NO_WAKE_UP: &str = "includes the run-queue time";

/// A segment as the report has it: nanoseconds since the interval's begin.
#[derive(Clone)]
struct Part {
    start: u64,
    stop: u64,
    cause: String,
    detail: String,
    uncertainty: u64,
}

impl Part {
    fn of(segment: &Value) -> Part {
        let number = |name: &str| segment[name].as_u64().unwrap_or_else(|| panic!("{name} in {segment}"));
        let text = |name: &str| segment[name].as_str().expect("a text").to_owned();
        let start = number("offset_ns");
        Part {
            start,
            stop: start + number("duration_ns"),
            cause: text("cause"),
            detail: text("detail"),
            uncertainty: number("edge_uncertainty_ns"),
        }
    }

    /// Whom the time belongs to; `None` where the variant does not know. The exit from idle is a part of the run-queue
    /// wait with a better name.
    fn group(&self) -> Option<&str> {
        match self.cause.split('.').next() {
            Some("power") if self.cause.starts_with("power.c-state-exit") => Some("offcpu"),
            Some("trace" | "unexplained") => None,
            group => group,
        }
    }

    /// How far an edge may be off; where that is all of it, its middle is there all the same, but for the scheduler's: it may have
    /// decided at once, and from then on the time is another's.
    fn edge(&self) -> u64 {
        let half = (self.stop - self.start) / 2;
        if self.cause == "kernel.schedule" { self.uncertainty } else { self.uncertainty.min(half) }
    }

    fn is_run_queue(&self) -> bool {
        self.cause == "offcpu.runnable" || self.cause.starts_with("power.")
    }
}

/// The report on an interval: its segments, and what is missing for it, each check in words.
struct Explained {
    parts: Vec<Part>,
    missing: Vec<String>,
}

impl Explained {
    fn of(outlier: &Value) -> Explained {
        let array = |name: &str| outlier[name].as_array().unwrap_or_else(|| panic!("{name}"));
        let parts: Vec<Part> = array("segments").iter().map(Part::of).collect();
        let end = parts.iter().fold(0, |edge, part| {
            assert_eq!(part.start, edge, "a hole in {}", outlier["id"]);
            part.stop
        });
        assert_eq!(Some(end), outlier["duration_ns"].as_u64(), "the sum of {}", outlier["id"]);
        let missing = array("checks").iter().filter(|check| check["state"] != "good");
        let words = |check: &Value| format!("{}: {}", check["name"], check["detail"]);
        Explained { parts, missing: missing.map(words).collect() }
    }

    #[track_caller]
    fn says(&self, what: &str, word: &str) {
        assert!(
            self.missing.iter().any(|check| check.contains(word)),
            "{what}: {word} in {:?}",
            self.missing
        );
    }
}

/// The intervals with these ids.
fn explained(root: &Path, perf_data: &Path, ids: &str) -> BTreeMap<u64, Explained> {
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "--baselines", "2", "--id", ids, "-i"]).arg(perf_data);
    command.arg("--symfs").arg(root.join("symfs")).arg("--intervals").arg(root.join("intervals.csv"));
    let output = command.output().expect("tailtrace runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", perf_data.display());
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    outliers.iter().map(|outlier| (outlier["id"].as_u64().expect("an id"), Explained::of(outlier))).collect()
}

/// Time off the CPU in one piece: the wait, or being preempted, and the run-queue wait after it.
struct Absence<'a> {
    parts: &'a [Part],
}

impl Absence<'_> {
    /// When it begins and ends, and how far that may be off.
    fn edges(&self) -> [(u64, u64); 2] {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        [(first.start, first.uncertainty), (last.stop, last.uncertainty)]
    }

    /// When it became a wait for the CPU alone, and how far that may be off; `None` where it never was, or was at once.
    fn woken(&self) -> Option<(u64, u64)> {
        let index = self.parts.iter().position(Part::is_run_queue).filter(|&index| index > 0)?;
        Some((self.parts[index].start, self.parts[index - 1].uncertainty))
    }

    fn waits(&self) -> bool {
        !self.parts[0].is_run_queue()
    }

    fn hides_wake_up(&self) -> bool {
        self.parts.iter().any(|part| part.detail.contains(NO_WAKE_UP))
    }
}

fn absences(parts: &[Part]) -> Vec<Absence<'_>> {
    let is_off = |part: &Part| part.group() == Some("offcpu");
    let pieces = parts
        .chunk_by(|a, b| is_off(a) == is_off(b) && (b.is_run_queue() || !b.cause.starts_with("offcpu.")));
    pieces.filter(|piece| is_off(&piece[0])).map(|parts| Absence { parts }).collect()
}

/// Off the CPU as often, for the same cause, with edges that differ by no more than is stated.
#[track_caller]
fn check_edges(what: &str, full: &[Part], variant: &[Part]) {
    let (full, variant) = (absences(full), absences(variant));
    assert_eq!(full.len(), variant.len(), "{what}");
    for (a, b) in full.iter().zip(&variant) {
        for ((by_full, sure), (by_variant, unsure)) in a.edges().into_iter().zip(b.edges()) {
            check_edge(what, &a.parts[0].cause, (by_full, sure), (by_variant, unsure));
        }
        if a.waits() && b.waits() {
            assert_eq!(a.parts[0].cause, b.parts[0].cause, "{what}");
        }
        match (a.woken(), b.woken()) {
            (Some(by_full), Some(by_variant)) => check_edge(what, "the wake-up", by_full, by_variant),
            (None, None) if a.waits() == b.waits() => {}
            // Whoever knows less says so.
            _ => assert!(b.hides_wake_up() || a.hides_wake_up(), "{what}: {}", b.parts[0].detail),
        }
    }
}

#[track_caller]
fn check_edge(what: &str, cause: &str, full: (u64, u64), variant: (u64, u64)) {
    let allowed = full.1.max(variant.1);
    let apart = full.0.abs_diff(variant.0);
    assert!(apart <= allowed, "{what}: {cause}: {} ns, or {} ns, +- {allowed}", full.0, variant.0);
}

/// Where both know whom the time belongs to, they agree, but for what lies within the stated uncertainty of an edge.
#[track_caller]
fn check_groups(what: &str, full: &[Part], variant: &[Part]) {
    for part in variant.iter().filter(|part| part.group().is_some()) {
        // A stall inside the kernel counts as kernel time where the trace does not show that nothing ran.
        let unseen = |other: &Part| part.group() == Some("kernel") && other.group() == Some("hardware");
        let others = full.iter().filter(|other| other.group().is_some() && other.group() != part.group());
        for other in others.filter(|other| !unseen(other)) {
            let overlap = part.stop.min(other.stop).saturating_sub(part.start.max(other.start));
            let allowed = part.edge().max(other.edge());
            assert!(
                overlap <= allowed,
                "{what}: {overlap} ns at {} are {}, by the full trace {}, +- {allowed}",
                part.start,
                part.cause,
                other.cause
            );
        }
    }
}

/// Intervals in which something was injected; where nothing was, some in which something happened.
fn ids(capture: &Capture) -> String {
    let truth = capture.truth();
    let (list, id) = if truth["explained"].is_array() { ("explained", "id") } else { ("truth", "index") };
    let entries = truth[list].as_array().expect("a list");
    let planted: Vec<&Value> = entries.iter().filter(|entry| entry["planted"] != false).collect();
    let of = if planted.is_empty() { entries.iter().collect() } else { planted };
    assert!(of.len() >= 10, "{} intervals", of.len());
    of.iter().take(LOOKED_AT).map(|entry| entry[id].to_string()).collect::<Vec<_>>().join(",")
}

/// A variant, and words of what it says that it lacks.
type Variant = (&'static str, PathBuf, &'static str);

/// All that know when the thread was off its CPU.
fn variants(capture: &Capture, folder: &Path) -> Vec<Variant> {
    let at = |name: &str| folder.join(name).join("perf.data");
    let no_tracepoints = encodings::without_tracepoints(&capture.perf_data, &at("no-tracepoints"));
    let no_trace = encodings::without_trace(&capture.perf_data, &at("no-trace"));
    let mut variants: Vec<Variant> =
        vec![("no tracepoints", no_tracepoints, "sched:sched_waking"), ("sideband only", no_trace, "loss")];
    for (what, path, lacks) in [
        ("user only", "user/perf.data", "user code only"),
        ("single threads", "thread/perf.data", "of the recorded threads only"),
    ] {
        let path = capture.root.join(path);
        if path.exists() {
            variants.push((what, path, lacks));
        }
    }
    variants
}

/// Those without any record of when a thread was off its CPU: kernel and user trace alone, and user trace alone, in which
/// nothing distinguishes a wait from the kernel's work.
fn without_schedule(capture: &Capture, folder: &Path) -> Vec<Variant> {
    let alone = |from: &Path, name: &str| {
        let no_tracepoints = encodings::without_tracepoints(from, &folder.join(name).join("no-tracepoints"));
        encodings::without_switches(&no_tracepoints, &folder.join(name).join("alone"))
    };
    let mut variants: Vec<Variant> =
        vec![("trace only", alone(&capture.perf_data, "trace-only"), "no switch records")];
    let user = capture.root.join("user/perf.data");
    if user.exists() {
        variants.push(("user trace only", alone(&user, "user-only"), "may be taken for its own"));
    }
    variants
}

fn check_capture(name: &'static str) {
    let capture = emulated(name);
    let folder = tempfile::tempdir().expect("a folder");
    let ids = ids(&capture);
    let full = explained(&capture.root, &capture.perf_data, &ids);
    for (variant, perf_data, lacks) in variants(&capture, folder.path()) {
        let told = explained(&capture.root, &perf_data, &ids);
        assert_eq!(told.len(), full.len(), "{name}, {variant}");
        for (id, told) in &told {
            let what = format!("{name}, {variant}, interval {id}");
            check_edges(&what, &full[id].parts, &told.parts);
            check_groups(&what, &full[id].parts, &told.parts);
            told.says(&what, lacks);
        }
    }
    for (variant, perf_data, lacks) in without_schedule(&capture, folder.path()) {
        for (id, told) in explained(&capture.root, &perf_data, &ids) {
            let what = format!("{name}, {variant}, interval {id}");
            check_groups(&what, &full[&id].parts, &told.parts);
            told.says(&what, "no switch records");
            told.says(&what, "sched:sched_waking");
            told.says(&what, lacks);
        }
    }
}

/// Waits, and threads that are preempted.
#[test]
fn less_trace_moves_no_edge_and_changes_no_group() {
    for name in ["arrival", "lock", "tcp", "oversubscription", "block", "wakeup", "preempt"] {
        check_capture(name);
    }
}

/// Kernel work, user code, queues, and nothing.
#[test]
fn less_trace_changes_no_group_of_work() {
    for name in ["page_faults", "syscall", "rehash", "queue", "noise_only", "spsc", "fault"] {
        check_capture(name);
    }
}
