//! The same interval told by the full trace, by the user-only trace and by sideband alone: off-CPU time has the same
//! edges, and nothing changes its group.
//!
//! The three are the same run: the archive holds two encodings of it, and the third is the first with its PT bytes
//! overwritten by PAD packets. Expected values: none of ours; each variant is held against the full trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use perfdata::PerfData;
use serde_json::Value;

use crate::captures::{emulated, tailtrace};

/// A segment as the report has it: nanoseconds since the interval's begin.
struct Part {
    start: u64,
    stop: u64,
    cause: String,
    uncertainty: u64,
}

impl Part {
    fn of(segment: &Value) -> Part {
        let number = |name: &str| segment[name].as_u64().unwrap_or_else(|| panic!("{name} in {segment}"));
        let start = number("offset_ns");
        Part {
            start,
            stop: start + number("duration_ns"),
            cause: segment["cause"].as_str().expect("a cause").to_owned(),
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
}

/// The intervals in which something was planted, by id.
fn explained(root: &Path, perf_data: &Path, ids: &str) -> BTreeMap<u64, Vec<Part>> {
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "--baselines", "2", "--id", ids, "-i"]).arg(perf_data);
    command.arg("--symfs").arg(root.join("symfs")).arg("--intervals").arg(root.join("intervals.csv"));
    let output = command.output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let parts = |outlier: &Value| {
        let segments = outlier["segments"].as_array().expect("segments");
        (outlier["id"].as_u64().expect("an id"), segments.iter().map(Part::of).collect())
    };
    report["outliers"].as_array().expect("outliers").iter().map(parts).collect()
}

/// A copy of the capture whose AUX buffers hold PAD packets only.
pub(crate) fn without_trace(perf_data: &Path, folder: &Path) -> PathBuf {
    let mut bytes = fs::read(perf_data.join("data")).expect("readable");
    let sound = PerfData::open(perf_data).expect("the fixture opens");
    for buffer in sound.aux_buffers() {
        let trace = sound.aux_bytes(buffer);
        let from = usize::try_from(buffer.file_offset.0).expect("fits");
        assert_eq!(&bytes[from..from + trace.len()], trace, "the place of the PT bytes");
        bytes[from..from + trace.len()].fill(0);
    }
    let copy = folder.join("perf.data");
    fs::write(&copy, bytes).expect("written");
    copy
}

/// The same causes off the CPU, in the same order, with edges that differ by no more than is stated.
#[track_caller]
fn check_edges(what: &str, full: &[Part], variant: &[Part]) {
    let off = |parts: &'_ [Part]| -> Vec<usize> {
        (0..parts.len()).filter(|&index| parts[index].group() == Some("offcpu")).collect()
    };
    let (full_off, variant_off) = (off(full), off(variant));
    let causes = |parts: &[Part], off: &[usize]| -> Vec<String> {
        off.iter().map(|&index| parts[index].cause.clone()).collect()
    };
    assert_eq!(causes(full, &full_off), causes(variant, &variant_off), "{what}");
    for (a, b) in full_off.into_iter().zip(variant_off) {
        let (a, b) = (&full[a], &variant[b]);
        let allowed = a.uncertainty.max(b.uncertainty);
        for (edge, by_full, by_variant) in [("begins", a.start, b.start), ("ends", a.stop, b.stop)] {
            assert!(
                by_full.abs_diff(by_variant) <= allowed,
                "{what}: {} {edge} at {by_full} ns, or at {by_variant} ns, +- {allowed}",
                a.cause
            );
        }
    }
}

/// Where both know whom the time belongs to, they agree, but for what lies within the stated uncertainty of an edge.
#[track_caller]
fn check_groups(what: &str, full: &[Part], variant: &[Part]) {
    for part in variant.iter().filter(|part| part.group().is_some()) {
        // A stand-still inside the kernel is the kernel's for who does not see that nothing ran.
        let unseen = |other: &Part| part.group() == Some("kernel") && other.group() == Some("hardware");
        let others = full.iter().filter(|other| other.group().is_some() && other.group() != part.group());
        for other in others.filter(|other| !unseen(other)) {
            let overlap = part.stop.min(other.stop).saturating_sub(part.start.max(other.start));
            let allowed = part.uncertainty.max(other.uncertainty);
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

#[test]
fn less_trace_moves_no_edge_and_changes_no_group() {
    for name in ["lock", "tcp", "oversubscription"] {
        let capture = emulated(name);
        let folder = tempfile::tempdir().expect("a folder");
        let truth = capture.truth();
        let entries = truth["explained"].as_array().expect("explained");
        let planted: Vec<String> = entries
            .iter()
            .filter(|entry| entry["planted"] == true)
            .map(|entry| entry["id"].to_string())
            .collect();
        assert!(planted.len() >= 100, "{name}: {} planted", planted.len());
        let ids = planted.join(",");
        let full = explained(&capture.root, &capture.perf_data, &ids);
        let waits = full.values().flatten().filter(|part| part.cause.starts_with("offcpu.")).count();
        assert!(waits >= 80, "{name}: {waits} waits");
        let no_trace = without_trace(&capture.perf_data, folder.path());
        for (variant, perf_data) in
            [("user only", capture.root.join("user/perf.data")), ("sideband only", no_trace)]
        {
            let told = explained(&capture.root, &perf_data, &ids);
            assert_eq!(told.len(), full.len(), "{name}, {variant}");
            for (id, parts) in &told {
                let what = format!("{name}, {variant}, interval {id}");
                check_edges(&what, &full[id], parts);
                check_groups(&what, &full[id], parts);
            }
        }
    }
}
