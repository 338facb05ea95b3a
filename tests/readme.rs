//! The README's first screen is what the tool prints. `TAILTRACE_BLESS=1` writes it anew; read it before you commit.

use std::fs;
use std::process::Command;

use crate::captures::{emulated, repository};

const MARKER: &str = "<!-- output of: tailtrace ";
/// As much as a first screen holds.
const LINES: usize = 27;

#[test]
fn first_screen_is_real_output() {
    let path = repository().join("README.md");
    let readme = fs::read_to_string(&path).expect("the README is there");
    let (before, rest) = readme.split_once(MARKER).expect("the README has the marker");
    let (arguments, rest) = rest.split_once(" -->\n```text\n").expect("a block follows the marker");
    let (shown, after) = rest.split_once("```").expect("the block ends");
    let printed = run(arguments);
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        fs::write(&path, format!("{before}{MARKER}{arguments} -->\n```text\n{printed}```{after}"))
            .expect("written");
        return;
    }
    assert_eq!(shown, printed, "set TAILTRACE_BLESS=1 to write it anew");
}

/// The first screen of the command's output, without the facts of the capture.
fn run(arguments: &str) -> String {
    let folder = emulated("preempt").root.parent().expect("a parent").to_owned();
    let output = Command::new(env!("CARGO_BIN_EXE_tailtrace"))
        .args(arguments.split(' '))
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .current_dir(folder)
        .output()
        .expect("tailtrace runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let outlier = text.lines().skip_while(|line| !line.starts_with("──"));
    outlier.take(LINES).fold(String::new(), |all, line| all + line.trim_end() + "\n")
}
