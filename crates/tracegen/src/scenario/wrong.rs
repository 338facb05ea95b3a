//! What is wrong with a scenario, and where.

use std::path::Path;

use crate::error::Error;

/// A mistake in a scenario: its line, from 1, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Wrong {
    pub(super) fn new(line: usize, what: impl Into<String>) -> Wrong {
        Wrong { line, what: what.into() }
    }

    pub(super) fn placed(self, file: &Path) -> Error {
        Error::Scenario { path: file.to_owned(), line: self.line, what: self.what }
    }
}
