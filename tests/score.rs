//! `scripts/score` holds the bars of known truth on the stored captures, and would notice if a verdict were wrong.
//!
//! The truth comes from the programs that injected the causes, from the records' counts and from the scenarios.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::captures::{self, repository};

/// Runs the score over `captures` with the binary under test.
fn score(captures: &[PathBuf]) -> Output {
    score_variant("full", captures)
}

/// The same, of another encoding of the captures.
fn score_variant(variant: &str, captures: &[PathBuf]) -> Output {
    let mut command = Command::new("python3");
    command.arg(repository().join("scripts/score")).args(captures).args(["--variant", variant]);
    // No capture here is left to be run by tracegen's binary.
    command.args(["--tailtrace", env!("CARGO_BIN_EXE_tailtrace"), "--tracegen", "/nonexistent"]);
    command.output().expect("python3 runs the score")
}

fn scenario(name: &str, folder: &Path) -> PathBuf {
    let made = folder.join(name);
    let source = repository().join("fixtures/scenarios").join(name).with_extension("scenario");
    tracegen::scenario::make(&source, &made).unwrap_or_else(|error| panic!("{name}: {error}"));
    made
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_right_truth_passes_and_a_mislabelled_one_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = scenario("page_fault", folder.path());
    let right = score(std::slice::from_ref(&capture));
    assert_eq!(right.status.code(), Some(0), "{}", text(&right));

    let truth = capture.join("truth.json");
    let labels = fs::read_to_string(&truth).expect("the truth");
    for (from, to, why) in [
        ("kernel.page-fault.minor", "kernel.timer", "is named first, the truth is kernel.timer"),
        ("\"ticks\": 22500", "\"ticks\": 24500", "kernel.page-fault.minor 9000 ns, the truth is 9800 ns"),
    ] {
        assert!(labels.contains(from), "{labels}");
        fs::write(&truth, labels.replace(from, to)).expect("written");
        let wrong = score(std::slice::from_ref(&capture));
        assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong));
        assert!(text(&wrong).contains(why), "{}", text(&wrong));
    }
}

/// What counts as right: `scripts/test_score.py`.
#[test]
fn the_rules_of_the_score_hold() {
    let mut command = Command::new("python3");
    let scripts = repository().join("scripts");
    let output =
        command.args(["-B", "-m", "unittest", "discover", "-s"]).arg(scripts).output().expect("python3 runs");
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("Ran "), "{}", text(&output));
}

/// The archives of `fixtures/captures`: emulated, with a truth each.
#[test]
fn stored_captures_meet_the_bars() {
    let folder = fs::read_dir(repository().join("fixtures/captures")).expect("captures are there");
    let mut archives: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    archives.retain(|path| path.extension().is_some_and(|extension| extension == "zst"));
    assert!(archives.len() >= 15, "{archives:?}");
    archives.sort();
    let output = score(&archives);
    let printed = text(&output);
    assert_eq!(printed.lines().filter(|line| line.starts_with("pass")).count(), archives.len(), "{printed}");
    assert_eq!(output.status.code(), Some(0), "{printed}");
}

/// Reports of a user-only trace, or of one of single threads, are as right as those of the full one; causes that it cannot
/// distinguish count as one.
#[test]
fn poorer_captures_meet_the_bars() {
    let folder = repository().join("fixtures/captures");
    let first =
        ["arrival", "block", "exchange", "lock", "noise_only", "oversubscription", "page_faults", "queue"];
    let names = first.into_iter().chain(["rehash", "spsc", "syscall", "tcp", "wakeup"]);
    let archives: Vec<PathBuf> = names.map(|name| folder.join(format!("{name}.tar.zst"))).collect();
    for variant in ["user", "thread"] {
        let output = score_variant(variant, &archives);
        let printed = text(&output);
        let passed = printed.lines().filter(|line| line.starts_with("pass")).count();
        assert_eq!(passed, archives.len(), "{variant}: {printed}");
        assert_eq!(output.status.code(), Some(0), "{variant}: {printed}");
    }
}

/// Were nothing in `tcp` ever longer than usual, then the causes named for some of its quiet intervals would be invented.
#[test]
fn what_the_truth_does_not_bear_out_counts_as_invented() {
    let capture = captures::emulated("tcp");
    let mut truth = capture.truth();
    let quiet = truth["quiet"].as_object_mut().expect("the quiet intervals");
    let alike = quiet.values().next().expect("one of them").clone();
    for causes in quiet.values_mut() {
        causes.clone_from(&alike);
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["perf.data", "symfs", "intervals.csv"] {
        symlink(capture.root.join(name), folder.path().join(name)).expect("a link");
    }
    fs::write(folder.path().join("truth.json"), truth.to_string()).expect("written");
    let output = score(&[folder.path().to_owned()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
}

/// Were the thread that preempts one of another process, then a trace of the program's threads alone could not name it.
#[test]
fn a_trace_of_single_threads_names_no_thread_of_another_process() {
    let capture = captures::emulated("oversubscription");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["perf.data", "symfs", "intervals.csv", "thread"] {
        symlink(capture.root.join(name), folder.path().join(name)).expect("a link");
    }
    let mut truth: serde_json::Value =
        serde_json::from_str(&capture.truth().to_string().replace("comp-rt", "stranger")).expect("the truth");
    let mut code_with = |is_own: bool| {
        let threads = truth["threads"].as_object_mut().expect("the program's threads");
        threads.retain(|_, name| is_own || name != "stranger");
        fs::write(folder.path().join("truth.json"), truth.to_string()).expect("written");
        score_variant("thread", &[folder.path().to_owned()]).status.code()
    };
    assert_eq!(code_with(true), Some(1));
    assert_eq!(code_with(false), Some(0));
}

/// All scenarios: synthetic, with a truth each.
#[test]
fn scenarios_meet_the_bars() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut made = Vec::new();
    for entry in fs::read_dir(repository().join("fixtures/scenarios")).expect("scenarios are there") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let is_scenario = path.extension().is_some_and(|extension| extension == "scenario");
        if is_scenario {
            made.push(scenario(&name, folder.path()));
        }
    }
    made.sort();
    let output = score(&made);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
