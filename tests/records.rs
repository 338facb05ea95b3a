//! `dump --records` against `perf report --stats`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::captures::{bundled, corpus, emulated, tailtrace};

pub(crate) fn counts_by_tailtrace(perf_data: &Path) -> BTreeMap<String, u64> {
    let output =
        tailtrace().args(["dump", "--records", "-i"]).arg(perf_data).output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are UTF-8");
    text.lines()
        .map(|line| {
            let (name, count) = line.split_once('\t').expect("NAME<TAB>COUNT");
            (name.to_owned(), count.parse().expect("a count"))
        })
        .collect()
}

pub(crate) fn counts_by_perf(perf_data: &Path) -> BTreeMap<String, u64> {
    counts_of(Command::new("perf").args(["report", "--stats", "-i"]).arg(perf_data))
}

/// The first table of `perf report --stats`: `           MMAP events:          7  ( 0.4%)`.
pub(crate) fn counts_of(perf: &mut Command) -> BTreeMap<String, u64> {
    let output = perf.output().expect("perf runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let table = text.split("Aggregated stats").nth(1);
    let table = table.unwrap_or_else(|| panic!("no table: {}", String::from_utf8_lossy(&output.stderr)));
    let mut counts = BTreeMap::new();
    for line in table.lines().skip(1) {
        let Some((name, rest)) = line.trim().split_once(" events:") else { break };
        let count = rest.split_whitespace().next().expect("a count").parse().expect("a number");
        counts.insert(name.to_owned(), count);
    }
    counts.remove("TOTAL");
    counts
}

#[track_caller]
fn assert_equal_to_perf(perf_data: &Path) {
    assert_eq!(counts_by_tailtrace(perf_data), counts_by_perf(perf_data), "{}", perf_data.display());
}

#[test]
fn bundled_captures() {
    for name in ["single", "multifile", "multicore"] {
        assert_equal_to_perf(&bundled(name).perf_data);
    }
    for name in ["fault", "preempt", "noise"] {
        assert_equal_to_perf(&emulated(name).perf_data);
    }
}

#[test]
fn corpus_captures() {
    let Some(folder) = corpus() else { return };
    for name in [
        "hase/loopy-20180404T162955/perf.data",
        "quipper/perf.data.intel_pt-4.14",
        "xdc/unzip/perf.data",
        "xdc/dyn_test/perf.data",
        "arcus/ovf-01-poc/perf.data",
        "arcus/ovf-01-ben/perf.data",
        "arcus/hello-wrongimg/perf.data",
    ] {
        assert_equal_to_perf(&folder.join(name));
    }
}
