//! All intervals by cause.

use super::{Terminal, walk};
use crate::captures::emulated;

/// The page is what `stat --causes` prints, below a picture of which one percentile is chosen.
#[test]
fn all_intervals_by_cause() {
    let capture = emulated("preempt");
    let output = capture.tailtrace("stat", &["--intervals", &capture.intervals(), "--causes"]);
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let took = printed.lines().find(|line| line.trim_start().starts_with("took ")).expect("a table");
    let figures: Vec<&str> = took.split_whitespace().collect();
    let terminal = Terminal::on_capture((100, 40), "", "");
    terminal.wait_for("500 intervals");
    // Of 500 the hundredths are the smallest steps.
    walk(
        &terminal,
        &[
            ("c", "What the time is made of (all 500 explained)"),
            ("Left", " p98 "),
            ("Right", " p99 1.06 ms"),
        ],
    );
    let screen = terminal.screen();
    let shown = screen.lines().find(|line| line.trim_start().starts_with("took ")).expect("the same table");
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), figures);
    walk(
        &terminal,
        &[
            ("Right", "longest 1.17 ms, the mean of 1 interval around it"),
            ("Enter", "10 of 500 listed"),
            ("Escape", "longest 1.17 ms, the mean"),
            ("Escape", "20 outliers"),
        ],
    );
    terminal.keys(&["q"]);
    terminal.ended_with("0");
}
