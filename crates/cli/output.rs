//! What the process says besides its results: the exit code, and diagnostics on stderr.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Args, ColorChoice};
use model::{Diagnostic, Severity};

mod expected;
mod written;

pub(crate) use expected::print_expected;
pub(crate) use written::print_written;

/// How results and messages look, for all commands.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Manner {
    /// Colours in text. `auto`: where stdout is a terminal other than a dumb one; `NO_COLOR`, `CLICOLOR=0` and `CLICOLOR_FORCE=1`
    /// change that.
    #[arg(long, global = true, display_order = 1000, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Prints no progress, notes and warnings: only errors and results.
    #[arg(long, short, global = true, display_order = 1001)]
    pub(crate) quiet: bool,
}

/// What the arguments say; set once, before any command runs.
static MANNER: OnceLock<Manner> = OnceLock::new();

impl Manner {
    /// It counts for all that is printed from now on.
    pub(crate) fn set(self) {
        // Only the first counts, and there is no second.
        let _ = MANNER.set(self);
    }
}

/// Whether only errors and results are wanted.
pub(crate) fn is_quiet() -> bool {
    MANNER.get().is_some_and(|manner| manner.quiet)
}

/// Whether progress may be drawn on stderr: a terminal that can go back to the beginning of a line.
pub(crate) fn may_draw() -> bool {
    io::stderr().is_terminal() && !is_dumb() && !is_quiet()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Every selected interval was reported.
    Reported,
    /// No interval was selected.
    NothingSelected,
    /// The input could not be used, or a selected interval has no report.
    Failed,
    /// Something that was expected of the population does not hold, or something stops a recording.
    NotMet,
    /// A program that was run for the user ended with this exit code.
    Passed(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Reported => 0,
            Outcome::NothingSelected => 1,
            Outcome::Failed => 2,
            Outcome::NotMet => 3,
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
    let is_wanted = |diagnostic: &&Diagnostic| !is_quiet() || diagnostic.severity == Severity::Error;
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().filter(is_wanted).collect();
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
    if is_quiet() {
        return;
    }
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

/// Whether an output of this name goes to stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a result to stdout.
///
/// # Errors
/// What the operating system says; [`is_broken_pipe`] recognizes a broken pipe.
pub(crate) fn print_result(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())?;
    if text.ends_with('\n') { Ok(()) } else { print_bytes(b"\n") }
}

/// Writes what may be no text to stdout.
///
/// # Errors
/// As [`print_result`].
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
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

/// Whether text has colours (`--color`, no-color.org, and CLICOLOR as bixense.com describes it).
fn has_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match MANNER.get().map_or(ColorChoice::Auto, |manner| manner.color) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR").is_some() => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorChoice::Auto => is_terminal() && !is_dumb() && set("CLICOLOR").is_none_or(|value| value != "0"),
    }
}

/// How text results look here: as wide as `COLUMNS` or the terminal says, and coloured as [`has_colours`] says.
pub(crate) fn style() -> report::Style {
    let width = columns().unwrap_or(100);
    let unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_none_or(|value| value.to_ascii_lowercase().contains("utf"));
    report::Style { width, color: has_colours(), unicode }
}
