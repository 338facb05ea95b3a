//! Programs that use the real ITT library, in C and in Rust, with the collector: its intervals against those that the same program marks by
//! `tailtrace.h` and by the Rust crate.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../tracegen/tests/marks/interval_file.rs"]
mod interval_file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use interval_file::{IntervalFile, Mark, read};

/// Half of the ends lie closer: a mark takes some 10 ns, 1,000 to 5,000 ticks are 1 us.
const CLOSE: u64 = 5_000;

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{command:?}: {} {said}", output.status);
}

/// The folder of what the test's own build left.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn collector() -> PathBuf {
    built().join("libtailtrace_itt.so")
}

/// The C sources in the package `ittapi-sys`, as cargo has them.
fn sources() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = ["metadata", "--format-version=1", "--offline", "--manifest-path", manifest];
    let output = Command::new(env!("CARGO")).args(arguments).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "ittapi-sys").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("c-library")
}

/// Runs a program with the collector; what that wrote, and what the program marked itself.
fn both(program: &Path) -> (IntervalFile, IntervalFile) {
    let folder = tempfile::tempdir().unwrap();
    let [itt, own] = ["itt.marks", "own.marks"].map(|name| folder.path().join(name));
    let mut command = Command::new(program);
    command.env("INTEL_LIBITTNOTIFY64", collector()).env("TAILTRACE_FILE", &itt);
    run(command.arg(&own));
    let (itt, own) = (read(&itt), read(&own));
    for file in [&itt, &own] {
        assert_eq!((file.totals[1..].iter().sum::<u64>(), file.closed), (0, true));
    }
    (itt, own)
}

/// One interval: begin and end.
type Ends = [(u64, u64); 2];

/// The intervals with keys, with thread and time of their ends.
fn by_key(file: &IntervalFile) -> BTreeMap<(&str, u64), Ends> {
    let mut intervals = BTreeMap::<_, Ends>::new();
    for mark in &file.marks {
        if let (Some(end), Some(key)) =
            (["begin", "end"].iter().position(|kind| *kind == mark.kind), mark.key)
        {
            intervals.entry((mark.label.as_str(), key)).or_default()[end] = (mark.tid, mark.at);
        }
    }
    intervals
}

/// Each of the one lies within the same of the other, on the same threads, and half of them close to it.
fn assert_within<K: Ord + std::fmt::Debug>(found: &BTreeMap<K, Ends>, expected: &BTreeMap<K, Ends>) {
    let missing: Vec<_> = expected.keys().filter(|key| !found.contains_key(key)).collect();
    assert!(
        missing.is_empty() && found.len() == expected.len(),
        "{} found; missing: {missing:?}",
        found.len()
    );
    let mut apart = Vec::new();
    for ((key, inner), outer) in found.iter().zip(expected.values()) {
        assert_eq!(inner.map(|end| end.0), outer.map(|end| end.0), "threads of {key:?}");
        let distances = [inner[0].1.checked_sub(outer[0].1), outer[1].1.checked_sub(inner[1].1)];
        apart.extend(distances.map(|apart| apart.unwrap_or_else(|| panic!("{key:?}: {inner:?} {outer:?}"))));
    }
    apart.sort_unstable();
    assert!(apart[apart.len() / 2] < CLOSE, "{:?}", &apart[apart.len() / 2..]);
}

fn counters<'a>(file: &'a IntervalFile, name: &'a str) -> impl Iterator<Item = &'a Mark> {
    file.marks.iter().filter(move |mark| mark.kind == "counter" && mark.name == name)
}

#[test]
fn intervals_of_a_c_program_are_the_headers() {
    let folder = tempfile::tempdir().unwrap();
    let (sources, own) = (sources(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let program = folder.path().join("tasks");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(own.join("../marks/include"));
    // The library's own sources have warnings.
    compiler.arg("-isystem").arg(sources.join("include")).arg(own.join("tests/programs/tasks.c"));
    compiler.arg("-w").arg(sources.join("src/ittnotify/ittnotify_static.c"));
    run(compiler.args(["-ldl", "-lpthread", "-o"]).arg(&program));

    let (itt, own) = both(&program);
    let mut found = by_key(&itt);
    let expected = by_key(&own);
    // 3 threads with 1000 orders; 100 of each that ends elsewhere; 200 and 100 frames.
    assert_eq!(expected.len(), 3000 + 2 * 100 + 200 + 100);
    assert_within(&found, &expected);
    found.retain(|key, _| key.0 == "away");
    assert!(found.values().all(|[begin, end]| begin.0 != end.0), "they end on another thread");

    let nested = itt.marks.iter().filter(|mark| mark.label == "step");
    assert_eq!(nested.filter(|mark| mark.key.is_none()).count(), 2 * 3000);
    // The fraction of a share is cut off.
    for name in ["bytes", "share"] {
        let values: BTreeSet<_> = counters(&itt, name).map(|mark| (mark.key, mark.value)).collect();
        let expected = (1..=3000_u64).map(|key| (Some(key), Some(key.cast_signed()))).collect();
        assert_eq!(values, expected, "{name}");
    }
}

/// The marks are jumps of the real library's own, which the program survives; the collector numbers the regions and says which is which.
#[test]
fn regions_in_the_trace_have_numbers_and_a_file_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let (sources, own) = (sources(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let program = folder.path().join("regions");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-w", "-DITT_API_IPT_SUPPORT", "-I"]).arg(sources.join("include"));
    compiler.arg(own.join("tests/programs/regions.c"));
    compiler
        .args(["ittnotify_static.c", "ittptmark64.S"].map(|name| sources.join("src/ittnotify").join(name)));
    run(compiler.args(["-ldl", "-lpthread", "-o"]).arg(&program));
    let marks = folder.path().join("itt.marks");
    run(Command::new(&program).env("INTEL_LIBITTNOTIFY64", collector()).env("TAILTRACE_FILE", &marks));
    let names = std::fs::read_to_string(folder.path().join("itt.marks.pt-regions")).unwrap();
    assert_eq!(names, "0 parse\n1 answer the client\n");
}

/// Begin and end of the tasks without keys, in their order on each thread.
fn by_order(file: &IntervalFile) -> BTreeMap<(String, u64, usize), Ends> {
    let mut intervals = BTreeMap::<_, Ends>::new();
    let mut counts = BTreeMap::<_, usize>::new();
    for mark in &file.marks {
        let end = usize::from(mark.kind == "end");
        let number = counts.entry((mark.label.clone(), mark.tid, end)).or_default();
        intervals.entry((mark.label.clone(), mark.tid, *number)).or_default()[end] = (mark.tid, mark.at);
        *number += 1;
    }
    intervals
}

#[test]
fn intervals_of_a_rust_program_are_the_crates() {
    let (itt, own) = both(&built().with_file_name("examples").join("tasks"));
    let expected = by_order(&own);
    assert_eq!(expected.len(), 3 * (1000 + 100));
    assert_within(&by_order(&itt), &expected);
}

/// A file that cannot be written: the program runs as without a collector, and a line says why.
#[test]
fn a_file_that_cannot_be_opened_is_no_error_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(built().with_file_name("examples").join("tasks"));
    command.env("INTEL_LIBITTNOTIFY64", collector()).env("TAILTRACE_FILE", folder.path());
    let output = command.arg(folder.path().join("own.marks")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.starts_with("tailtrace: no ITT calls are written") && said.contains("TAILTRACE_FILE"),
        "{said}"
    );
    assert_eq!(read(&folder.path().join("own.marks")).totals[0], 2 * 3 * (1000 + 100));
}
