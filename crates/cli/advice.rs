//! What to do next, for errors of the crates below: they know what is wrong, but no options.

use std::io::{self, ErrorKind};

use anyhow::{Error, anyhow};

/// For a perf.data that cannot be opened.
pub(crate) fn on_capture(error: perfdata::Error) -> Error {
    let advice = match &error {
        perfdata::Error::Io { source, .. } => on_path(source),
        perfdata::Error::NotPerfData { .. } | perfdata::Error::NoDataFile { .. } => Some(
            "give the file or folder that `perf record -o` wrote with -i; a bundle goes to `tailtrace explain`",
        ),
        perfdata::Error::BigEndian { .. } | perfdata::Error::Version1 { .. } => {
            Some("record with `perf record -e intel_pt//` on the Intel machine")
        }
        _ => None,
    };
    joined(error.into(), advice)
}

/// For a source of intervals that cannot be used.
pub(crate) fn on_source(error: intervals::Error) -> Error {
    let advice = match &error {
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
    };
    joined(error.into(), advice)
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

fn joined(error: Error, advice: Option<&str>) -> Error {
    match advice {
        Some(advice) => anyhow!("{error}; {advice}"),
        None => error,
    }
}
