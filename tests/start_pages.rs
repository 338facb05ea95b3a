//! The commands of the pages that lead from a program to a report (`docs/start-*.md`), run as they stand, with the real perf and kernel:
//! each page's blocks in one shell, from an empty folder. It needs what `no_pt` needs, and fails as that does.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

use crate::captures::{repository, tailtrace};
use crate::no_pt::{NEEDS, turn};

/// Stops at the first command that fails. Root needs no `sudo`; who is not root keeps the path to the binary under test.
const BEGIN: &str = r#"set -eu
sudo() {
    if [ "$(id -u)" = 0 ]; then "$@"; else command sudo -n env "PATH=$PATH" "$@"; fi
}
"#;

/// Runs the page's blocks, and returns what they print.
fn run(page: &str) -> String {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    symlink(repository().join("fixtures"), folder.path().join("fixtures")).expect("linked");
    let text = fs::read_to_string(repository().join("docs").join(page)).expect("the page");
    let blocks: Vec<&str> =
        text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let binary = tailtrace();
    let binaries = std::path::Path::new(binary.get_program()).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(folder.path()).env("PATH", format!("{}:{path}", binaries.display()));
    shell.env("XDG_CACHE_HOME", "/dev/null").arg("-c").arg(format!("{BEGIN}{}", blocks.concat()));
    let _turn = turn();
    let output = shell.output().expect("a shell");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: {NEEDS}: {}\n{printed}\n{said}", output.status);
    printed
}

/// Each of these stands in the output, in this order.
#[track_caller]
fn assert_shows(page: &str, expected: &[&str]) {
    let printed = run(page);
    let mut rest = printed.as_str();
    for words in expected {
        let at = rest.find(words).unwrap_or_else(|| panic!("{page}: no {words} in\n{rest}\nof\n{printed}"));
        rest = &rest[at + words.len()..];
    }
}

/// 30 of 3,000 sleep for 2 ms.
#[test]
fn a_program_that_can_be_changed() {
    let slept = ["Why they are slow", "slept", "offcpu.sleep"];
    let expected = [&["intervals   3000"][..], &slept, &["offcpu.sleep"]].concat();
    assert_shows("start-your-program.md", &expected);
}

/// Of a server, of 10 of 1,000 calls, of the slow ones among them, and of a bundled capture.
#[test]
fn a_program_that_cannot_be_changed() {
    let expected = [
        "100 intervals",
        "── request:fd",
        "1000 intervals",
        "offcpu.sleep",
        "slow-0001.data",
        "offcpu.sleep",
        "── planted_work",
    ];
    assert_shows("start-other-program.md", &expected);
}

/// 10 of 10,000 sleep for 3 ms, with slices and with bundles.
#[test]
fn production() {
    let slices = ["slow-0001.data", "\"is_complete\": true", "\"intervals\": 10000", "offcpu.sleep"];
    let expected = [&slices[..], &["offcpu.sleep"]].concat();
    assert_shows("start-production.md", &expected);
}

#[test]
fn a_machine_without_intel_pt() {
    assert_shows("start-without-pt.md", &["intervals   3000", "Why they are slow", "slept", "offcpu.sleep"]);
}
