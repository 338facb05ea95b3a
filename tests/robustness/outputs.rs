//! Where the results go: a reader that leaves early, a full disk, a closed stdout, a narrow terminal.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Stdio;

use super::{Ending, limited};
use crate::captures::{Capture, emulated};

/// Each command in each format.
const COMMANDS: &[&str] = &[
    "dump --records",
    "dump --insns",
    "stat --intervals",
    "stat --format json --intervals",
    "explain --top 4 --intervals",
    "explain --top 4 --format json --intervals",
    "explain --top 4 --format markdown --intervals",
];

/// `command` with the capture's paths.
fn arguments(command: &str, capture: &Capture) -> Vec<String> {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    if command.ends_with("--intervals") {
        words.push(capture.intervals());
    }
    words.extend(["-i".into(), capture.perf_data.to_string_lossy().into_owned()]);
    words.extend(["--symfs".into(), capture.symfs.to_string_lossy().into_owned()]);
    words
}

#[test]
fn a_reader_that_leaves_after_a_line_is_no_failure() {
    let capture = emulated("fault");
    for command in COMMANDS {
        let words = arguments(command, &capture);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut process =
            limited(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh runs");
        process.stdout.take().expect("piped").read_exact(&mut [0]).expect("a first byte");
        Ending::judged(command, process.wait_with_output().expect("ends")).ends_with(0, "");
    }
}

#[test]
fn a_full_disk_is_said() {
    let capture = emulated("fault");
    for command in COMMANDS {
        let words = arguments(command, &capture);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full is there");
        let output = limited(&words).stdout(full).output().expect("sh runs");
        Ending::judged(command, output).ends_with(2, "No space left on device");
    }
}

#[test]
fn a_full_disk_for_diagnostics_does_not_spoil_the_results() {
    let capture = emulated("fault");
    for command in COMMANDS {
        let words = arguments(command, &capture);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full is there");
        let output = limited(&words).stderr(full).output().expect("sh runs");
        let ending = Ending::judged(command, output).ends_with(0, "");
        assert!(!ending.stdout.is_empty(), "{command}");
    }
}
