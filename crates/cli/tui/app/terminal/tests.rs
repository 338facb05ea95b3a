//! Panics change the process, so each test runs itself once more in a process of its own.

use std::process::{Command, Output};

use super::*;

/// What gives the terminal back: `\e[?1049l` leaves the alternate screen, `\e[?25h` shows the cursor.
const GIVEN_BACK: &str = "\u{1b}[?1049l\u{1b}[?25h";
const INSIDE: &str = "TAILTRACE_PANICS";

/// Runs the named test of this file in a process where [`is_inside`].
fn run_inside(test: &str) -> Output {
    let name = format!("tui::app::terminal::tests::{test}");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", &name, "--nocapture"]).env(INSIDE, "1").output().expect("runs")
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

#[test]
fn a_panic_while_drawing_gives_the_terminal_back_first() {
    if is_inside() {
        give_back_on_panic(std::thread::current().id());
        panic!("nothing was drawn");
    }
    let output = run_inside("a_panic_while_drawing_gives_the_terminal_back_first");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains(GIVEN_BACK));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was drawn"));
}

#[test]
fn a_panic_behind_the_screen_is_kept_for_later() {
    if is_inside() {
        give_back_on_panic(std::thread::current().id());
        let panicked = std::thread::spawn(|| panic!("nothing was decoded")).join();
        assert!(panicked.is_err());
        let words = last_words().expect("kept");
        assert!(words.contains("nothing was decoded") && words.contains("tests.rs"), "{words}");
        assert_eq!(last_words(), None, "told once");
        return;
    }
    let output = run_inside("a_panic_behind_the_screen_is_kept_for_later");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(!stdout.contains(GIVEN_BACK), "the screen is still in use");
    assert!(!stderr.contains("nothing was decoded"), "and nothing is written over it");
}
