//! Bad input on the binary: a clear message or a diagnostic, nothing lost, never a panic, bounded time and memory.
//!
//! Each test is a table of cases; each case is damage by a small function with a name, or an argument, and what must be
//! said about it. Every run is under a limit of CPU time and memory, and every report's segments must add up.

mod arguments;
mod clocks;
mod code_files;
mod counters;
mod damaged_captures;
mod disk_full;
mod endings;
mod extreme_intervals;
mod interval_files;
mod next_steps;
mod other_recordings;
mod output_files;
mod outputs;
mod packing;
mod special_files;
mod strangers;
mod strangers_code;

use std::process::{Command, Output};

use serde_json::Value;

/// CPU seconds and KiB of address space that a run may take; a debug build on a busy machine needs a tenth.
const LIMITS: &str = "ulimit -t 10; ulimit -v 4194304; exec \"$@\"";

/// How a run of the binary ended.
struct Ending {
    /// What was run, for messages.
    what: String,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ending {
    /// Runs `tailtrace` with `arguments`; fails where it ends in a way that is not documented.
    #[track_caller]
    fn of(what: &str, arguments: &[&str]) -> Ending {
        Ending::judged(what, limited(arguments).output().expect("sh runs"))
    }

    /// What holds for every ending: an exit code of the contract, no panic, one line where nothing could be done, a sound
    /// report otherwise.
    #[track_caller]
    fn judged(what: &str, output: Output) -> Ending {
        let ending = Ending {
            what: what.to_owned(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        };
        let Ending { code, stderr, .. } = &ending;
        assert!(matches!(code, Some(0..=2)), "{what}: {} {stderr}", output.status);
        assert!(!stderr.contains("panicked"), "{what}: {stderr}");
        let hides = |c: char| {
            c.is_control() && c != '\n'
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!stderr.contains(hides), "{what}: {stderr:?}");
        if *code == Some(2) {
            assert!(!stderr.is_empty(), "{what}: failed in silence");
        }
        if ending.stdout.starts_with('{') {
            check_sums(what, &ending.report());
        }
        ending
    }

    #[track_caller]
    fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{}: {error}", self.what))
    }

    /// The exit code is `code`, and stderr says `text`.
    #[track_caller]
    fn ends_with(self, code: i32, text: &str) -> Ending {
        assert_eq!(self.code, Some(code), "{}: {}", self.what, self.stderr);
        assert!(self.stderr.contains(text), "{}: `{text}` is not said: {}", self.what, self.stderr);
        self
    }

    /// Nothing but one line on stderr that says `text`.
    #[track_caller]
    fn fails_in_one_line(self, text: &str) {
        let ending = self.ends_with(2, text);
        assert_eq!(ending.stderr.lines().count(), 1, "{}: {}", ending.what, ending.stderr);
        assert_eq!(ending.stdout, "", "{}", ending.what);
    }
}

/// The binary under [`LIMITS`].
fn limited(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", LIMITS, "sh", env!("CARGO_BIN_EXE_tailtrace")]).args(arguments);
    command.env("XDG_CACHE_HOME", "/dev/null");
    command
}

/// The segments of each outlier add up to its duration, exactly.
#[track_caller]
fn check_sums(what: &str, report: &Value) {
    for outlier in report["outliers"].as_array().into_iter().flatten() {
        let segments = outlier["segments"].as_array().expect("segments");
        let duration = |of: &Value| of["duration_ns"].as_u64().unwrap_or_else(|| panic!("{what}: {of}"));
        let sum: u64 = segments.iter().map(duration).sum();
        assert_eq!(sum, duration(outlier), "{what}: interval {}", outlier["id"]);
    }
}
