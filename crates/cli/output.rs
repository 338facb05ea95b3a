//! What the process says besides its results: the exit code, and diagnostics on stderr.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use model::Diagnostic;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Every selected interval was reported.
    Reported,
    /// No interval was selected.
    NothingSelected,
    /// The input could not be used, or a selected interval has no report.
    Failed,
    /// A program that was run for the user ended with this exit code.
    Passed(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Reported => 0,
            Outcome::NothingSelected => 1,
            Outcome::Failed => 2,
            Outcome::Passed(code) => code,
        })
    }
}

impl From<analysis::study::Outcome> for Outcome {
    fn from(outcome: analysis::study::Outcome) -> Outcome {
        match outcome {
            analysis::study::Outcome::Reported => Outcome::Reported,
            analysis::study::Outcome::NothingSelected => Outcome::NothingSelected,
            analysis::study::Outcome::Incomplete => Outcome::Failed,
        }
    }
}

/// How many diagnostics are printed: a file with more is damaged all over, and no one reads on.
const DIAGNOSTICS_SHOWN: usize = 100;

/// Prints diagnostics, one line each, most severe first; the order of the input otherwise.
pub(crate) fn print_diagnostics(diagnostics: &[Diagnostic]) {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    let mut stderr = io::stderr().lock();
    for diagnostic in sorted.iter().take(DIAGNOSTICS_SHOWN) {
        let place = diagnostic.place.to_string();
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        let line = format!("{}: {}{place}", diagnostic.severity, diagnostic.what);
        // Nothing can be done where stderr is closed.
        let _ = writeln!(stderr, "tailtrace: {}", report::for_message(&line));
    }
    if let Some(more @ 1..) = sorted.len().checked_sub(DIAGNOSTICS_SHOWN) {
        let more = report::counted(more as u64, "more diagnostic");
        let _ = writeln!(stderr, "tailtrace: {more}; a report in JSON has all");
    }
}

/// Prints what the user may want to know of what happens, on stderr.
pub(crate) fn print_note(text: &str) {
    let _ = writeln!(io::stderr(), "tailtrace: {}", report::for_message(text));
}

/// Prints why a command failed: one line, the causes one after the other, none of them twice.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    let _ = writeln!(io::stderr(), "tailtrace: {}", report::for_message(&line));
}

/// Whether a person reads stdout here and now: then the report itself shows its diagnostics, and once is enough.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a result to stdout.
///
/// # Errors
/// What the operating system says; [`is_broken_pipe`] recognizes a broken pipe.
pub(crate) fn print_result(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Prints help (on stdout) or what is wrong with the arguments (on stderr).
pub(crate) fn print_usage(usage: &clap::Error) -> ExitCode {
    match usage.print() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_error(&error.into());
            Outcome::Failed.into()
        }
        _ if usage.use_stderr() => Outcome::Failed.into(),
        _ => Outcome::Reported.into(),
    }
}

/// Whether the reader of our output went away, which is its right.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The width of text: what `COLUMNS` asks for, which goes before all else as in perf and POSIX; else the terminal's, where
/// stdout is one.
fn columns() -> Option<usize> {
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    wanted.filter(|&columns| columns > 0).or_else(terminal)
}

/// How text results look here: as wide as `COLUMNS` or the terminal says, and colour where it is one and `NO_COLOR` is
/// not set.
pub(crate) fn style() -> report::Style {
    let terminal = is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = columns().unwrap_or(100);
    let unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_none_or(|value| value.to_ascii_lowercase().contains("utf"));
    report::Style { width, color: colour, unicode }
}
