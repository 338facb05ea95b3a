//! Reads interval files: VTune's CSV and our own two forms, told apart by the first line.
//!
//! Input: a path, or any byte stream, and the clocks that are known from elsewhere. Output: intervals in ticks with a
//! diagnostic for each line that could not be used. `docs/interval-file.md` is the contract.

mod cells;
mod draft;
mod lines;
mod utc;
mod vtune;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::clock::{Clock, Clocks};
use crate::findings::Findings;
use crate::{Error, IntervalSet};
use draft::Draft;
use lines::{Line, Lines};

/// Reads an interval file, in any of the three forms; clock pairs also from `PATH.clocks`.
///
/// # Errors
/// [`Error::Read`], [`Error::EmptyFile`], [`Error::UnknownFormat`], [`Error::Header`], [`Error::Version`],
/// [`Error::UnknownClock`]; [`Error::ClockNotJoined`] where the times cannot be joined with the TSC. Single lines never
/// end the reading.
pub fn read_interval_file(path: &Path, clocks: &Clocks) -> Result<IntervalSet, Error> {
    let file = File::open(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    read_intervals(path, file, clocks)
}

/// Reads an interval file from `reader`; `path` only names it.
///
/// # Errors
/// As [`read_interval_file`].
pub fn read_intervals(path: &Path, reader: impl Read, clocks: &Clocks) -> Result<IntervalSet, Error> {
    let mut source = Source { path, lines: Lines::new(BufReader::with_capacity(1 << 18, reader)) };
    let draft = source.read()?;
    draft.finish(clocks)
}

struct Source<'a, R> {
    path: &'a Path,
    lines: Lines<R>,
}

impl<R: BufRead> Source<'_, R> {
    fn read(&mut self) -> Result<Draft, Error> {
        let path = self.path.to_owned();
        let read_error = |source| Error::Read { path: path.clone(), source };
        let first = match self.lines.read().map_err(read_error)? {
            None => return Err(Error::EmptyFile { path }),
            Some(Line::TooLong) => return Err(self.unknown_format(b"a line of more than 1 MiB")),
            Some(Line::Text(text)) => text.to_vec(),
        };
        if memchr::memmem::find(&first.to_ascii_lowercase(), b"start_tsc").is_some() {
            let columns = vtune::columns(&first).map_err(|what| self.header_error(what))?;
            let mut draft = Draft::new(columns.clock.parse()?, self.findings());
            refuse_early(draft.clock)?;
            vtune::read(&mut self.lines, &columns, &mut draft).map_err(read_error)?;
            return Ok(draft);
        }
        Err(self.unknown_format(&first))
    }

    fn findings(&self) -> Findings {
        Findings::in_file(self.path.display().to_string())
    }

    fn header_error(&self, what: String) -> Error {
        Error::Header { path: self.path.to_owned(), line: self.lines.number(), what }
    }

    fn unknown_format(&self, first: &[u8]) -> Error {
        let shown = &first[..first.len().min(60)];
        Error::UnknownFormat {
            path: PathBuf::from(self.path),
            found: if shown.is_empty() {
                "an empty line".to_owned()
            } else {
                format!("\"{}\"", shown.escape_ascii())
            },
        }
    }
}

/// A clock that can never be joined is refused before a long file is read.
fn refuse_early(clock: Clock) -> Result<(), Error> {
    if clock == Clock::Qpc { Clocks::default().join(clock).map(drop) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
