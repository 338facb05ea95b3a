//! What can be wrong with a file that the address spaces refer to. None of it ends the work: each becomes a
//! [`model::Diagnostic`].

use std::io;
use std::path::PathBuf;

use model::BuildId;

/// A file that could not be used, and what that means.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file begins like an ELF file but is none that can be read.
    #[error("{}: damaged ELF file ({what})", path.display())]
    DamagedElf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file is not the one that was recorded.
    #[error(
        "{}: its build ID {} is not the recorded {recorded}: another build of the file, refused",
        path.display(), found.as_ref().map_or_else(|| "(none)".to_owned(), ToString::to_string)
    )]
    OtherBuild {
        /// The file.
        path: PathBuf,
        /// The build ID in the recording.
        recorded: BuildId,
        /// The build ID of the file.
        found: Option<BuildId>,
    },
    /// The file is named like a jitdump.
    #[error("{}: {source}", path.display())]
    NoJitDump {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        source: crate::jitdump::NoDump,
    },
    /// The file has symbols only.
    #[error("{}: a separate debug file, it holds no code", path.display())]
    NoCode {
        /// The file.
        path: PathBuf,
    },
}
