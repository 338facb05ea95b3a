//! What can go wrong with the tables. What is wrong with a capture is a row, and no error.

use std::io;
use std::path::PathBuf;

/// Why tables cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{what}")]
    Io {
        /// What cannot be done, and of which path.
        what: String,
        /// Its reason.
        source: io::Error,
    },
    /// A file cannot be written or read as Parquet.
    #[error("{} is no table of this schema", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: parquet::errors::ParquetError,
    },
    /// A table's file lacks a column, or has one of another type.
    #[error("{}: the column {column} is missing or of another type", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A row does not fit its table.
    #[error("a row of {table} does not fit its column {column}")]
    Row {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A line of rows is no JSON.
    #[error("a line of rows is no JSON")]
    Line(#[source] serde_json::Error),
    /// A line names a table that the schema has not.
    #[error("there is no table {0}")]
    Table(String),
    /// Another run writes there.
    #[error("another tailtrace is writing to {}", .0.display())]
    Busy(PathBuf),
}

/// The result of a step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// For `map_err`: the operating system's refusal of what `what` says.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}
