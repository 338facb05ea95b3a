//! Why a source of intervals cannot be used at all. What is wrong with single lines or marks is a
//! [`Diagnostic`](model::Diagnostic), not an error.

use std::path::PathBuf;

use crate::clock::Clock;

/// A source of intervals that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened or read.
    #[error("cannot read the interval file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The file has no line at all.
    #[error("the interval file {} is empty: its first line must name the format (docs/interval-file.md)", path.display())]
    EmptyFile {
        /// The file.
        path: PathBuf,
    },
    /// The first line is none of the known ones.
    #[error(
        "the interval file {} begins with {found}, which is neither `name,start_tsc.CLOCK,end_tsc,pid,tid` (VTune's CSV) nor `# tailtrace-intervals 1 clock=CLOCK` nor its JSON form, nor spans as JSON (docs/interval-file.md)",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The beginning of its first line, escaped.
        found: String,
    },
    /// The header is known, but something in it cannot be used.
    #[error("{}, line {line}: {what}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What is wrong and what would be right.
        what: String,
    },
    /// The file was written by a later version.
    #[error("the interval file {} has version {version}; this tailtrace reads version 1: use a newer one", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it names.
        version: u64,
    },
    /// The clock's name means nothing to us.
    #[error(
        "unknown clock {name:?}: the interval file must name one of tsc, perf, monotonic, monotonic-raw, boottime, realtime (or VTune's TSC, CLOCK_MONOTONIC_RAW, UTC)"
    )]
    UnknownClock {
        /// The name.
        name: String,
    },
    /// The file does not say of which clock its times are.
    #[error(
        "{} does not name the clock of its times: add a line `# clock monotonic` (or monotonic-raw, boottime, realtime, perf) to {}.clocks, beside its clock pairs",
        path.display(),
        path.display()
    )]
    UnnamedClock {
        /// The file.
        path: PathBuf,
    },
    /// Times of the clock cannot be converted to the TSC, and so not matched with the trace.
    #[error("times in {clock} cannot be converted to the trace's clock: {why}")]
    ClockNotJoined {
        /// The clock.
        clock: Clock,
        /// Why not, and what to do.
        why: String,
    },
    /// The `--ptwrite` specification is wrong.
    #[error("--ptwrite {spec}: {what}")]
    PtwriteSpec {
        /// The text.
        spec: String,
        /// What is wrong and what would be right.
        what: String,
    },
    /// Begin and end event do not occur in the capture.
    #[error("no {event} record in the capture: {why}")]
    NoSuchEvent {
        /// The event's name as the user gave it.
        event: String,
        /// What there is, or what to do.
        why: String,
    },
    /// What the fields of an event must hold is not understood, or cannot be asked of it.
    #[error("{pattern}: {what}")]
    EventCondition {
        /// The text.
        pattern: String,
        /// What is wrong and what would be right.
        what: String,
    },
    /// The perf.data could not be read.
    #[error("cannot read the records of the capture: {what}")]
    Capture {
        /// The reader's reason.
        what: String,
    },
}

impl Error {
    /// Records are the source, and they cannot be matched with the trace.
    pub fn no_conversion() -> Error {
        Error::ClockNotJoined {
            clock: Clock::Perf,
            why: "the capture holds no TSC conversion (TIME_CONV), so its records cannot be matched with the trace; record without -k/--clockid".to_owned(),
        }
    }
}
