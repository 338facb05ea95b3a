//! The programs with injected outliers run anywhere, plant what their seed says, and mark each interval; the builder of their
//! truth passes its own tests. What they do in the emulator is checked when a capture is made.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "marks/interval_file.rs"]
mod interval_file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// These need a device, a port, a server or a control group of their own, or take long: they are compiled only.
const COMPILED_ONLY: [&str; 10] =
    ["block", "lighttpd", "nginx", "nodejs", "pages", "postgres", "redis", "sockets", "spinners", "tcp"];

/// These need a library's headers, which only the machine that makes captures has.
const NOT_HERE: [&str; 2] = ["records", "regions"];

/// Where Go is installed on machines that make captures; no test installs it.
const GO: &str = "/usr/local/go/bin/go";

/// What such a program includes.
const HEADERS: [&str; 3] = ["planted.h", "accomplices.h", "servers.h"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The programs that plant something, by name.
fn programs() -> Vec<String> {
    let folder = fs::read_dir(root().join("fixtures/programs")).unwrap();
    let paths = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"));
    let includes = |text: &str| HEADERS.iter().any(|header| text.contains(&format!("#include \"{header}\"")));
    let planting = paths.filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        includes(&text) && text.contains("int main(")
    });
    let mut names: Vec<String> =
        planting.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| !NOT_HERE.contains(&name.as_str()));
    names.sort();
    names
}

fn compile(name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]);
    for include in ["fixtures/emulator/guest", "crates/marks/include"] {
        command.arg("-I").arg(root().join(include));
    }
    command.arg(root().join("fixtures/programs").join(name).with_extension("c"));
    let output = command.args(["-lpthread", "-lm", "-o"]).arg(&program).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program; its results are in `results`.
fn run(program: &Path, seed: u32, intervals: usize, results: &Path) {
    fs::create_dir_all(results).unwrap();
    let mut command = Command::new(program);
    let output =
        command.args([seed.to_string(), intervals.to_string()]).env("RESULTS", results).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(&format!("seed={seed} ")), "{told}");
}

/// The lines of a results file that are neither comments nor column names, by cells.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// What was injected, without its times: key, cause, role, by, count.
fn plan(results: &Path) -> Vec<Vec<String>> {
    let rows = rows(&results.join("planted.csv")).into_iter();
    rows.map(|row| [0, 1, 2, 3, 6].map(|cell| row[cell].clone()).to_vec()).collect()
}

fn check_results(name: &str, results: &Path, intervals: usize) {
    let mut ends: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for mark in interval_file::read(&results.join("intervals.marks")).marks {
        let end = ["begin", "end"].iter().position(|kind| *kind == mark.kind);
        if let (Some(end), Some(key)) = (end, mark.key) {
            ends.entry(key).or_default()[end] = mark.at;
        }
    }
    assert_eq!(ends.len(), intervals, "{name}");
    for row in rows(&results.join("planted.csv")) {
        let (key, start, stop): (u64, u64, u64) =
            (row[0].parse().unwrap(), row[4].parse().unwrap(), row[5].parse().unwrap());
        let [begin, end] = ends[&key];
        assert!(begin < end, "{name}: interval {key} has both marks");
        assert!(start < stop, "{name}: {row:?}");
        // Another thread may have come too late, or be at it still.
        if row[3] == "worker" {
            assert!(begin <= start && stop <= end, "{name}: {row:?} lies in its interval, {begin}..{end}");
        }
    }
}

#[test]
fn every_program_marks_its_intervals_and_lists_what_it_planted() {
    let folder = tempfile::tempdir().unwrap();
    let names = programs();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let program = compile(&name, folder.path());
        if !COMPILED_ONLY.contains(&name.as_str()) {
            let results = folder.path().join(format!("{name}.results"));
            run(&program, 3, 60, &results);
            check_results(&name, &results, 60);
        }
    }
}

/// Written in Go, with marks of its own.
#[test]
fn the_program_in_go_marks_its_intervals_and_lists_what_it_planted() {
    if !Path::new(GO).exists() {
        eprintln!(
            "the_program_in_go_marks_its_intervals_and_lists_what_it_planted: not run: there is no {GO}"
        );
        return;
    }
    check_program_of("go.sh", "gopher.go", 20);
}

/// Written in Ada, whose compiler no test installs either.
#[test]
fn the_program_in_ada_marks_its_intervals_and_lists_what_it_planted() {
    if Command::new("gnatmake").arg("--version").output().is_err() {
        eprintln!(
            "the_program_in_ada_marks_its_intervals_and_lists_what_it_planted: not run: there is no gnatmake"
        );
        return;
    }
    check_program_of("ada.sh", "depot.ada", 15);
}

/// Written in D, in Free Pascal, in Nim, and in Vala, whose compilers no test installs.
#[test]
fn the_programs_in_d_pascal_nim_and_vala_mark_their_intervals_and_list_what_they_planted() {
    let written = [
        ("gdc", "d.sh", "brewery.d"),
        ("fpc", "pas.sh", "quarry.pas"),
        ("nim", "nim.sh", "orchard.nim"),
        ("valac", "vala.sh", "observatory.vala"),
    ];
    for (compiler, wrapper, source) in written {
        if Command::new(compiler).arg("-h").output().is_err() {
            eprintln!(
                "the_programs_in_d_pascal_nim_and_vala_mark_their_intervals_and_list_what_they_planted: left out: there is no {compiler}"
            );
            continue;
        }
        check_program_of(wrapper, source, 15);
    }
}

/// Compiles and runs the program that `wrapper` makes of `source`: 60 intervals, with so many causes or more.
fn check_program_of(wrapper: &str, source: &str, least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (program, results) = (folder.path().join("program"), folder.path().join("results"));
    compile_with(wrapper, source, &program);
    run(&program, 3, 60, &results);
    check_results(source, &results, 60);
    let kinds: Vec<String> =
        rows(&results.join("planted.csv")).into_iter().filter_map(|row| row.get(7).cloned()).collect();
    assert!(kinds.len() >= least, "{kinds:?}");
}

/// What makes a capture calls a wrapper in the same way.
fn compile_with(wrapper: &str, source: &str, program: &Path) {
    let mut command = Command::new(root().join("fixtures/emulator").join(wrapper));
    command.arg(format!("-ffile-prefix-map={}=/tailtrace", root().display()));
    for include in ["fixtures/programs", "fixtures/emulator/guest", "crates/marks/include"] {
        command.arg(format!("-I{}", root().join(include).display()));
    }
    let output =
        command.arg("-o").arg(program).arg(root().join("fixtures/programs").join(source)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// With packages of a registry, which cargo fetches once.
#[test]
fn the_program_of_tasks_marks_its_orders_and_lists_what_it_planted() {
    let folder = tempfile::tempdir().unwrap();
    let (program, results) = (folder.path().join("kiosk"), folder.path().join("results"));
    compile_with("cargo.sh", "kiosk.rs", &program);
    run(&program, 3, 60, &results);
    let marks = interval_file::read(&results.join("intervals.marks")).marks;
    let of_orders =
        |kind: &str| marks.iter().filter(|mark| mark.label == "order" && mark.kind == kind).count();
    assert_eq!(["begin", "end"].map(of_orders), [60, 60]);
    assert!(of_orders("run") > 60 && of_orders("await") > 60 && of_orders("ready") > 60);
    let planted = rows(&results.join("planted.csv")).into_iter().filter(|row| row[2] == "outlier");
    let kinds: BTreeMap<String, usize> = planted.fold(BTreeMap::new(), |mut kinds, row| {
        *kinds.entry(row[7].clone()).or_default() += 1;
        kinds
    });
    assert!(kinds.len() == 10 && kinds.values().all(|&times| times == 2), "{kinds:?}");
}

#[test]
fn the_seed_decides_what_is_planted() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("rehash", folder.path());
    let [first, again, other] = [(5, "first"), (5, "again"), (6, "other")].map(|(seed, name)| {
        let results = folder.path().join(name);
        run(&program, seed, 100, &results);
        plan(&results)
    });
    assert!(first.len() >= 20, "{first:?}");
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn the_truth_builder_passes_its_own_tests() {
    let mut command = Command::new("python3");
    command
        .args(["-B", "-W", "error", "-m", "unittest", "discover", "-s"])
        .arg(root().join("fixtures/emulator/truth"));
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("Ran "), "{told}");
}
