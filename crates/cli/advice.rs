//! What to do next, for errors of the crates below: they know what is wrong, but no options.

use std::io::{self, ErrorKind};

use anyhow::{Error, anyhow};

/// The error as a person reads it: with what to do next, where that is known.
pub(crate) fn on(error: analysis::Error) -> Error {
    let advice = match &error {
        analysis::Error::Capture(error) => on_capture(error),
        analysis::Error::Intervals(error) => on_source(error),
        _ => None,
    };
    match advice {
        Some(advice) => anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}

/// For a perf.data that cannot be opened.
fn on_capture(error: &perfdata::Error) -> Option<&'static str> {
    match error {
        perfdata::Error::Io { source, .. } => on_path(source),
        perfdata::Error::NotPerfData { .. } | perfdata::Error::NoDataFile { .. } => {
            Some("give the file or folder that `perf record -o` wrote, or a bundle")
        }
        perfdata::Error::BigEndian { .. } | perfdata::Error::Version1 { .. } => {
            Some("record with `perf record -e intel_pt//` on the Intel machine")
        }
        _ => None,
    }
}

/// For a source of intervals that cannot be used.
fn on_source(error: &intervals::Error) -> Option<&'static str> {
    match error {
        intervals::Error::Read { source, .. } => match source.kind() {
            ErrorKind::IsADirectory => {
                Some("--intervals takes a file; its formats are in docs/interval-file.md")
            }
            _ => on_path(source),
        },
        intervals::Error::NoSuchEvent { .. } => {
            Some("name two of the recorded ones, or record yours with another `perf record -e EVENT`")
        }
        _ => None,
    }
}

fn on_path(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::NotFound => Some("check the path, or the folder you are in"),
        ErrorKind::PermissionDenied => {
            Some("it is another user's, as root's recordings are: `sudo chown $USER` it, or copy it")
        }
        _ => None,
    }
}
