//! The mistakes that people make most: each message names the next step.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::Ending;
use crate::captures::emulated;

/// A perf.data of which only the header is there: no event, so no Intel PT. Layout: `perf.data-file-format.txt`.
fn header_alone() -> Vec<u8> {
    let fields = [104u64, 144, 104, 0, 104, 0, 0, 0, 0, 0, 0, 0];
    let fields = fields.iter().flat_map(|field| field.to_le_bytes());
    b"PERFILE2".iter().copied().chain(fields).collect()
}

/// Writes `bytes` and gives the path.
fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path.to_string_lossy().into_owned()
}

/// Each mistake: options, exit code, what is wrong, what to do.
#[test]
fn each_mistake_is_told_with_the_next_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = emulated("preempt");
    let (perf_data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let intervals = capture.intervals();
    let text = fs::read_to_string(&intervals).expect("an interval file");
    let here = folder.path();
    let no_pt = file(here, "no_pt.data", &header_alone());
    let no_kcore = file(here, "no_kcore.data", &fs::read(capture.perf_data.join("data")).expect("read"));
    let table = file(here, "table.csv", b"id,begin,end\n1,2,3\n");
    let other_clock = file(here, "clock.csv", text.replacen("TSC", "CLOCK_MONOTONIC_RAW", 1).as_bytes());
    let with = |options: &str| format!("-i {perf_data} --symfs {symfs} {options}");
    let all = |options: &str| with(&format!("--intervals {intervals} {options}"));
    for (options, code, wrong, next) in [
        (format!("-i {table} --intervals {intervals}"), 2, "not a perf.data file", "`perf record -o`"),
        ("-i nowhere.data --function main".to_owned(), 2, "nowhere.data: No such file", "check the path"),
        (format!("-i {no_pt} --intervals {intervals}"), 0, "no Intel PT", "perf record -e intel_pt//"),
        (format!("-i {no_kcore}"), 2, "where the intervals come from", "--intervals FILE"),
        (with("--intervals nowhere.csv"), 2, "nowhere.csv: No such file", "check the path"),
        (with(&format!("--intervals {table}")), 2, "begins with \"id,begin,end\"", "name,start_tsc.CLOCK"),
        (with("--function nowhere_to_be_found"), 2, "nowhere_to_be_found", "--symfs and -k"),
        (with("--function add_alias2"), 2, "called add_alias2", "did you mean add_alias2.part.0"),
        (with("--begin a:b --end c:d"), 2, "no a:b record", "name two of the recorded ones"),
        (format!("-i {perf_data} --intervals {intervals} --top 1"), 0, "/bin/preempt is missing", "--symfs"),
        (format!("-i {no_kcore} --intervals {intervals} --top 1"), 0, "kernel's code", "perf record --kcore"),
        (with(&format!("--intervals {other_clock}")), 2, "cannot be converted", "write `clock-pair` lines"),
        (all("--label nowhere"), 1, "none of the 500 intervals passes", "loosen --time"),
        (all("--over 1s"), 1, "none is chosen", "--top 1 takes the longest"),
    ] {
        let arguments: Vec<&str> = ["explain"].into_iter().chain(options.split_whitespace()).collect();
        let ending = Ending::of(&options, &arguments).ends_with(code, wrong);
        assert!(ending.stderr.contains(next), "{options}: no {next:?} in:\n{}", ending.stderr);
    }
}

/// Root may read everything, so as root the question is asked by another user, with a copy of the binary that they may run.
#[test]
fn a_file_of_another_user_is_told() {
    const NOT_ROOT: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    let locked = file(folder.path(), "root.data", &header_alone());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("opened");
    let tailtrace = folder.path().join("tailtrace");
    fs::copy(env!("CARGO_BIN_EXE_tailtrace"), &tailtrace).expect("copied");
    let mut command = Command::new(&tailtrace);
    command.args(["explain", "-i", &locked, "--function", "main"]).current_dir(folder.path());
    if fs::read(&locked).is_ok() {
        command.uid(NOT_ROOT).gid(NOT_ROOT);
    }
    let ending = Ending::judged("locked", command.output().expect("tailtrace runs"));
    assert!(ending.ends_with(2, "Permission denied").stderr.contains("chown"));
}
