//! What can go wrong while a capture is made.

use std::path::PathBuf;

/// Why a capture could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read, written or copied.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input is not a perf.data file that can be worked on.
    #[error("{}: {what} (at file offset {offset:#x})", path.display())]
    Capture {
        /// The perf.data file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// An interval file that cannot be shifted.
    #[error("{}:{line}: {what}", path.display())]
    Intervals {
        /// The interval file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// A scenario with a mistake.
    #[error("{}:{line}: {what}", path.display())]
    Scenario {
        /// The scenario file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A command line that asks for nothing sensible.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// For `map_err`: a failed file operation on `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { path, source }
    }
}
