//! A scenario: a few readable lines that say what ran where and when, and what the answer must be.
//!
//! Input: a scenario file (`docs/scenario-language.md`). Output: a capture with its images, interval file and truth.
//! Invariant: the same file gives the same bytes.

mod data_source;
mod execution;
mod image;
mod parse;
mod program;
mod statement;
mod write;
mod wrong;

use std::path::Path;

use crate::error::Error;
pub use execution::{Caused, Executed, Happened, Interval, Owner, Retired};
pub use program::Scenario;
pub use write::write;
pub use wrong::Wrong;

/// Reads the scenario in `file`, and what it includes.
///
/// # Errors
/// [`Error::File`]; [`Error::Scenario`] for a line that is not understood.
pub fn read(file: &Path) -> Result<Scenario, Error> {
    let text = std::fs::read_to_string(file).map_err(Error::file(file))?;
    let beside = |name: &str| std::fs::read_to_string(file.with_file_name(name));
    parse::parse(&text, &beside).map_err(|wrong| wrong.placed(file))
}

/// Reads and runs the scenario in `file` and writes its capture into the directory `output`: `perf.data/`, `symfs/`,
/// `intervals.csv`, `instructions.cpuN` or `.threadN` (one address per executed and traced instruction) and `truth.json`.
///
/// # Errors
/// [`Error::File`]; [`Error::Scenario`] for a line that is not understood, an execution that cannot happen, or causes whose
/// times do not add up to their interval.
pub fn make(file: &Path, output: &Path) -> Result<Executed, Error> {
    let scenario = read(file)?;
    let executed = Executed::run(&scenario).map_err(|wrong| wrong.placed(file))?;
    write(&scenario, &executed, output)?;
    Ok(executed)
}
