//! Snapshots of a program whose marks are PTWRITEs alone, with a perf that plays a made-up capture back: what is slow by the marks in the
//! trace is cut out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{repository, share_folder, tailtrace};
use crate::traced_snapshots::{PERF, names};

/// Rings, and goes on until perf has taken a snapshot. What its PTWRITEs mean is in its file; it opens no interval file.
const MARKS_IN_TRACE: &str = r#"
#define TAILTRACE_PTWRITE 2
#include "tailtrace.h"
#include <stdio.h>
int main(int count, char **arguments)
{
    FILE *bell = fopen(getenv("TAILTRACE_DOORBELL"), "w");
    if (count < 2 || bell == NULL || fputs("slow\n", bell) < 0 || fclose(bell) != 0)
        return 2;
    while (access(arguments[1], F_OK) != 0)
        usleep(10000);
    return 0;
}
"#;

/// A program whose marks are PTWRITEs alone: its slow intervals are cut out by them, each once, and the rings go.
#[test]
fn marks_in_the_trace_are_cut_out() {
    let folder = TempDir::new().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(place(name).parent().expect("a folder")).expect("made");
        fs::write(place(name), text).expect("written");
    };
    fs::create_dir_all(place("made")).expect("made");
    let scenario = repository().join("fixtures/scenarios/ptwrite_emulated.scenario");
    tracegen::scenario::make(&scenario, &place("made")).expect("a capture");
    fs::create_dir_all(place("root/sys/bus/event_source/devices/intel_pt")).expect("made");
    std::os::unix::fs::symlink(place("made/symfs/usr"), place("root/usr")).expect("linked");
    share_folder(&place("made/perf.data/kcore_dir"), &place("kcore_dir"));
    // Two rings that hold the same: at the bell, and at the end.
    for number in [1, 2] {
        fs::create_dir_all(place(&format!("snapshots/{number}"))).expect("made");
        fs::copy(place("made/perf.data/data"), place(&format!("snapshots/{number}/data"))).expect("copied");
    }
    write("bin/perf", PERF);
    fs::set_permissions(place("bin/perf"), fs::Permissions::from_mode(0o755)).expect("executable");
    write("program.c", MARKS_IN_TRACE);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-I"]).arg(repository().join("crates/marks/include"));
    compiler.arg(place("program.c")).arg("-o").arg(place("program")).arg("-lpthread");
    crate::no_pt::run(&mut compiler, "this test needs a C compiler");
    let mut command = tailtrace();
    command.env("PATH", format!("{}:/usr/bin:/bin", place("bin").display()));
    command
        .args(["record", "--snapshot-over", "1us", "--root"])
        .arg(place("root"))
        .arg("-o")
        .arg(place("slow"));
    let output =
        crate::no_pt::run(command.arg("--").arg(place("program")).arg(place("taken.1")), "a recording");
    let said = String::from_utf8_lossy(&output.stderr);
    let there = names(&place("slow"));
    assert!(there.contains("slow-0001.data") && !there.contains("slow-0002.data"), "{there:?} {said}");
    assert!(!there.iter().any(|name| name.starts_with("ring.")), "{there:?} {said}");
    let account: Value =
        serde_json::from_slice(&fs::read(place("slow/snapshots.json")).expect("an account")).expect("JSON");
    assert_eq!([&account["intervals"], &account["slow"], &account["kept"]], [3, 3, 3], "{account} {said}");
    let mut explain = tailtrace();
    explain.args(["explain", "--format", "json", "--symfs"]).arg(place("made/symfs"));
    let output = explain.arg("-i").arg(place("slow/slow-0001.data")).output().expect("tailtrace runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    let keys: BTreeSet<&str> = outliers.iter().filter_map(|outlier| outlier["key"].as_str()).collect();
    assert_eq!(keys, BTreeSet::from(["1", "2", "3"]));
    let lengths = outliers.iter().filter_map(|outlier| outlier["duration_ns"].as_u64());
    assert!(
        lengths.clone().all(|length| (1010..=1070).contains(&length)),
        "{:?}",
        lengths.collect::<Vec<_>>()
    );
}
