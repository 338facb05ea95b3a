//! The examples in the help, pasted as they stand into a shell, on a bundled capture.
//!
//! Their files are links to the capture; names that only the reader's own program would have are replaced by names of the
//! capture ([`NAMES`]). Programs after a pipe only read their input.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::captures::{emulated, tailtrace};
use crate::generated::commands;

/// Names of the examples, and what the capture `preempt` has in their place.
const NAMES: [(&str, &str); 8] = [
    ("probe_app:start", "raw_syscalls:sys_enter"),
    ("probe_app:stop", "raw_syscalls:sys_exit"),
    ("handle_order", "process_item"),
    ("id=40..63,ticks=0..39", "begin=0x51,end=0x52,tag=56..63,id=32..55"),
    ("--label order", "--label preempt"),
    ("--id 4711", "--id 23"),
    ("12.5,12.6", "0.558,0.559"),
    ("--cpu 2,3", "--cpu 0,1"),
];

/// The commands below `Examples:`, without the comments after them.
fn examples(command: &str) -> Vec<String> {
    let output = tailtrace().args([command, "--help"]).output().expect("tailtrace runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let (_, examples) = help.split_once("Examples:\n").expect("examples");
    let lines = examples.lines().filter_map(|line| line.split(" #").next());
    lines.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A folder with all that the examples of a command read.
fn workplace(command: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    let capture = emulated("preempt");
    let captures = ["perf.data", "before.data", "after.data", "fast.data", "slow.data"];
    // A slice, or a recording, is written to a name that nothing has yet.
    let is_new = |name: &str| command == "record" || (command == "slice" && name == "slow.data");
    for name in captures.into_iter().filter(|&name| !is_new(name)) {
        symlink(&capture.perf_data, place.join(name)).expect("linked");
    }
    for name in ["intervals.csv", "before.csv", "after.csv"] {
        symlink(capture.intervals(), place.join(name)).expect("linked");
    }
    for name in ["rootfs", "fast-root", "slow-root"] {
        symlink(&capture.symfs, place.join(name)).expect("linked");
    }
    symlink(std::env::current_exe().expect("an ELF file"), place.join("vmlinux")).expect("linked");
    fs::create_dir_all(place.join(".local/share/bash-completion/completions")).expect("made");
    symlink(env!("CARGO_BIN_EXE_tailtrace"), place.join("tailtrace")).expect("linked");
    fs::create_dir(place.join("bundles")).expect("made");
    for name in ["jq", "wl-copy"] {
        stand_in(&place.join(name), "exec cat");
    }
    // A machine that has PT, and a perf that writes the requested file.
    fs::create_dir_all(place.join("root/sys/bus/event_source/devices/intel_pt")).expect("made");
    let writes = "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo > \"$2\"; shift; done; exit 0";
    stand_in(&place.join("perf"), writes);
    folder
}

/// A program that does what `script` says.
fn stand_in(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn examples_run_as_they_stand() {
    for command in &commands() {
        for example in examples(command) {
            let folder = workplace(command);
            let script = script(command, &example, folder.path());
            let path = format!("{}:/usr/bin:/bin", folder.path().display());
            let mut shell = Command::new("bash");
            shell.args(["-c", &script]).current_dir(&folder).env("PATH", path).env("HOME", folder.path());
            let output = shell.output().expect("bash runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            // What doctor says of this machine is the machine's.
            let is_right =
                matches!((output.status.code(), command.as_str()), (Some(0), _) | (Some(3), "doctor"));
            assert!(is_right, "{example}: {:?}\n{stderr}", output.status);
        }
    }
}

/// The example with the capture's own names, in a shell that fails where any part of it does.
fn script(command: &str, example: &str, place: &Path) -> String {
    let mut line = NAMES.iter().fold(example.to_owned(), |line, (name, own)| line.replace(name, own));
    if !line.contains("--symfs") {
        // The reader's binaries lie where they ran; those of the capture do not.
        line = line.replace("process_item", "process_item --symfs rootfs");
    }
    line = line.replace("tailtrace record", "tailtrace record --root root");
    if command == "tui" {
        // Its page ends when it is asked to; tests/tui.rs looks at it.
        line = format!("script -qec 'timeout --foreground -s TERM 2 {line}; test $? = 124' /dev/null");
    }
    format!("set -o pipefail; fpath=('' '{}'); {line}", place.display())
}
