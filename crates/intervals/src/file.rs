//! Reads interval files: `VTune`'s CSV and our own three forms, which differ in the first line, and spans as JSON.
//!
//! Input: a path, or any byte stream, and the clocks that are known from elsewhere. Output: intervals in ticks with a
//! diagnostic for each line that could not be used. `docs/interval-file.md` is the contract.

mod cells;
mod columns;
mod contexts;
mod draft;
mod lines;
mod lost;
mod mark_context;
mod marks;
mod objects;
mod pairs;
mod records;
mod spans;
mod tree;
mod utc;
mod vtune;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use model::Diagnostic;
use perfdata::companion;

use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::findings::Findings;
use crate::interval_set::IntervalSet;
use draft::Draft;
use lines::{Line, Lines};
use objects::Header;
use vtune::Columns;

pub use contexts::SpanContext;
pub use records::MARK_BYTES;

/// An interval file that is read, before its clock is related to the TSC.
pub struct IntervalFile(Draft);

impl IntervalFile {
    /// Reads the file at `path`, in any of its forms, or the folder of a CTF trace; clock pairs also from `PATH.clocks`.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::EmptyFile`], [`Error::UnknownFormat`], [`Error::Header`], [`Error::Version`],
    /// [`Error::UnknownClock`], [`Error::UnnamedClock`]. Single lines never end the reading.
    pub fn read(path: &Path) -> Result<IntervalFile, Error> {
        if path.is_dir() {
            let read = |draft: &mut Draft| spans::read_folder(path, draft);
            return IntervalFile::with_pairs(path, read_spans(path, read)?);
        }
        IntervalFile::from_reader(path, open(path)?)
    }

    /// Reads from `reader` what is, or is a part of, the file at `path`.
    ///
    /// # Errors
    /// As [`IntervalFile::read`].
    pub fn from_reader(path: &Path, reader: impl Read) -> Result<IntervalFile, Error> {
        IntervalFile::with_pairs(path, Source::new(path, reader).read()?)
    }

    /// With the clock pairs of `PATH.clocks`.
    fn with_pairs(path: &Path, mut draft: Draft) -> Result<IntervalFile, Error> {
        let sidecar = clocks_beside(path);
        if draft.clock != Clock::Perf && sidecar.exists() {
            Source::new(&sidecar, open(&sidecar)?).read_pairs(&mut draft)?;
        }
        settle_clock(&mut draft, path, &Clocks::default())?;
        Ok(IntervalFile(draft))
    }

    /// The clock of its times.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// What joins other clocks with the TSC.
    pub fn pairs(&self) -> &[ClockPair] {
        &self.0.pairs
    }

    /// The ids of its spans, where one of them names no thread: records of the capture may say which threads worked for them.
    pub fn threadless(&self) -> Option<HashSet<u64>> {
        self.0.threadless()
    }

    /// Its intervals, with the clocks that are known from elsewhere.
    ///
    /// # Errors
    /// [`Error::ClockNotJoined`] where the times cannot be converted to the TSC.
    pub fn finish(self, clocks: &Clocks) -> Result<IntervalSet, Error> {
        self.finish_with(clocks, &[])
    }

    /// The same, with what is known of the threads of its spans.
    ///
    /// # Errors
    /// As [`IntervalFile::finish`].
    pub fn finish_with(self, clocks: &Clocks, contexts: &[SpanContext]) -> Result<IntervalSet, Error> {
        self.0.finish(clocks, contexts)
    }
}

/// Reads the interval file at `path` with the clocks that are known from elsewhere.
///
/// # Errors
/// As [`IntervalFile::read`] and [`IntervalFile::finish`].
pub fn read_interval_file(path: &Path, clocks: &Clocks) -> Result<IntervalSet, Error> {
    IntervalFile::read(path)?.finish(clocks)
}

/// Reads an interval file from `reader`; `path` only names it.
///
/// # Errors
/// As [`read_interval_file`].
pub fn read_intervals(path: &Path, reader: impl Read, clocks: &Clocks) -> Result<IntervalSet, Error> {
    let mut draft = Source::new(path, reader).read()?;
    settle_clock(&mut draft, path, clocks)?;
    draft.finish(clocks, &[])
}

/// The times must be of a clock that the file, its pairs or `clocks` name.
fn settle_clock(draft: &mut Draft, path: &Path, clocks: &Clocks) -> Result<(), Error> {
    if draft.settle_clock(clocks) { Ok(()) } else { Err(Error::UnnamedClock { path: path.to_owned() }) }
}

/// Reads the file of clock pairs at `path`; none where there is no such file, or none that can be read.
pub fn read_clock_pairs(path: &Path) -> (Vec<ClockPair>, Vec<Diagnostic>) {
    let name = path.display().to_string();
    if !path.exists() {
        return (Vec::new(), Vec::new());
    }
    let mut draft = Draft::of_unnamed_clock(Findings::in_file(name.clone()));
    let read = open(path).and_then(|file| Source::new(path, file).read_pairs(&mut draft));
    let mut said = draft.findings.into_diagnostics();
    if let Err(error) = read {
        said.push(Diagnostic::warning(format!("its clock pairs are not used: {error}")).in_file(name));
    }
    (draft.pairs, said)
}

/// The name of a file of clock pairs, as [`companion`] takes it.
pub const CLOCKS: &str = "clocks";

/// Where the clock pairs of the interval file or of the capture at `path` lie, if they are not in it.
pub fn clocks_beside(path: &Path) -> PathBuf {
    companion(path, CLOCKS)
}

/// Opens a file, or a pipe that another program writes. Devices have no end, and some files of `/proc` wait for their next line, as
/// `kmsg` does: those say that they are empty.
fn open(path: &Path) -> Result<File, Error> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    let kind = path.metadata().map_err(read_error)?;
    if kind.is_file() && kind.len() == 0 {
        let is_proc = path.canonicalize().is_ok_and(|path| path.starts_with("/proc"));
        let unusable = io::Error::new(io::ErrorKind::InvalidInput, "a file of /proc holds no intervals");
        return Err(if is_proc { read_error(unusable) } else { Error::EmptyFile { path: path.to_owned() } });
    }
    // Reading a folder is refused by the operating system.
    if !(kind.is_file() || kind.is_dir() || kind.file_type().is_fifo()) {
        return Err(read_error(io::Error::new(
            io::ErrorKind::InvalidInput,
            "neither a regular file nor a pipe",
        )));
    }
    File::open(path).map_err(read_error)
}

/// Spans of the file at `path`, as `read` takes them.
fn read_spans(
    path: &Path,
    read: impl FnOnce(&mut Draft) -> io::Result<Result<(), String>>,
) -> Result<Draft, Error> {
    let mut draft = Draft::of_unnamed_clock(Findings::in_file(path.display().to_string()));
    let path = path.to_owned();
    match read(&mut draft) {
        Ok(Ok(())) => Ok(draft),
        Ok(Err(what)) => Err(Error::Header { path, line: 1, what }),
        Err(source) => Err(Error::Read { path, source }),
    }
}

struct Source<'a, R> {
    path: &'a Path,
    lines: Lines<BufReader<R>>,
}

/// The first line, understood.
enum Form {
    Vtune(Clock, Columns),
    Csv(Clock),
    Objects(Clock),
    /// Its records begin at this byte.
    Binary(u64),
}

impl<'a, R: Read> Source<'a, R> {
    fn new(path: &'a Path, reader: R) -> Source<'a, R> {
        Source { path, lines: Lines::new(BufReader::with_capacity(1 << 18, reader)) }
    }

    fn read(mut self) -> Result<Draft, Error> {
        let path = self.path.to_owned();
        let read_error = |source| Error::Read { path: path.clone(), source };
        if spans::are_binary(self.lines.beginning().map_err(read_error)?) {
            return self.read_spans();
        }
        let first = match self.lines.read().map_err(read_error)? {
            None => return Err(Error::EmptyFile { path }),
            Some(Line::TooLong) => None,
            Some(Line::Text(text)) => Some(text.to_vec()),
        };
        if spans::begin_with(self.lines.raw()) {
            return self.read_spans();
        }
        let Some(first) = first else {
            return Err(self.unknown_format(b"a line of more than 1 MiB"));
        };
        let findings = Findings::in_file(path.display().to_string());
        match self.form(&first)? {
            Form::Vtune(clock, columns) => {
                let mut draft = Draft::new(clock, findings);
                vtune::read(&mut self.lines, &columns, &mut draft).map_err(read_error)?;
                Ok(draft)
            }
            Form::Csv(clock) => {
                let mut draft = Draft::new(clock, findings);
                let header = columns::read(&mut self.lines, &mut draft).map_err(read_error)?;
                header.map(|()| draft).map_err(|what| self.header_error(what))
            }
            Form::Binary(offset) => {
                let mut draft = Draft::new(Clock::Tsc, findings);
                records::read(self.lines.into_reader(), offset, &mut draft).map_err(read_error)?;
                Ok(draft)
            }
            Form::Objects(clock) => {
                let mut draft = Draft::new(clock, findings);
                objects::read(&mut self.lines, &mut draft).map_err(read_error)?;
                Ok(draft)
            }
        }
    }

    fn read_spans(self) -> Result<Draft, Error> {
        read_spans(self.path, |draft| spans::read(self.lines.into_whole(), draft))
    }

    /// Reads a file of clock pairs into `draft`; its diagnostics name that file.
    fn read_pairs(mut self, draft: &mut Draft) -> Result<(), Error> {
        let mut pairs = Draft::of_unnamed_clock(Findings::in_file(self.path.display().to_string()));
        let read = pairs::read(&mut self.lines, &mut pairs);
        read.map_err(|source| Error::Read { path: self.path.to_owned(), source })?;
        pairs.named_clock().into_iter().for_each(|clock| draft.name_clock(clock));
        draft.pairs.append(&mut pairs.pairs);
        draft.findings.extend(pairs.findings.into_diagnostics());
        Ok(())
    }

    fn form(&self, first: &[u8]) -> Result<Form, Error> {
        let text = first.trim_ascii();
        let form = if text.starts_with(b"{") {
            let header: Header = serde_json::from_slice(text).map_err(|error| {
                self.header_error(format!(
                    "the header {{\"tailtrace-intervals\": 1, \"clock\": …}} is wrong: {error}"
                ))
            })?;
            self.expect_version(header.version)?;
            Form::Objects(self.clock(header.clock.as_deref())?)
        } else if let Some(header) = text.strip_prefix(b"#") {
            let header = String::from_utf8_lossy(header).into_owned();
            let mut words = header.split_ascii_whitespace();
            if words.next() != Some("tailtrace-intervals") {
                return Err(self.unknown_format(first));
            }
            let version = words.next().and_then(|word| cells::unsigned(word.as_bytes()));
            self.expect_version(
                version.ok_or_else(|| self.header_error("the version number is missing".to_owned()))?,
            )?;
            let words: Vec<&str> = words.collect();
            let value = |name| words.iter().find_map(|word| word.strip_prefix(name));
            let clock = self.clock(value("clock="))?;
            match value("form=") {
                None | Some("text") => Form::Csv(clock),
                // The line, and its end.
                Some("binary") if clock == Clock::Tsc => Form::Binary(self.lines.bytes()),
                Some("binary") => {
                    return Err(self.header_error("binary markers are of clock=tsc".to_owned()));
                }
                Some(other) => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(self.header_error(format!(
                        "form={shown} is unknown: there are form=text and form=binary"
                    )));
                }
            }
        } else if memchr::memmem::find(&text.to_ascii_lowercase(), b"start_tsc").is_some() {
            let columns = vtune::columns(text).map_err(|what| self.header_error(what))?;
            Form::Vtune(usable(&columns.clock)?, columns)
        } else {
            return Err(self.unknown_format(first));
        };
        Ok(form)
    }

    fn expect_version(&self, version: u64) -> Result<(), Error> {
        if version == 1 { Ok(()) } else { Err(Error::Version { path: self.path.to_owned(), version }) }
    }

    fn clock(&self, name: Option<&str>) -> Result<Clock, Error> {
        let missing = || {
            self.header_error(
                "the header names no clock: write clock=tsc, or another of docs/interval-file.md".to_owned(),
            )
        };
        usable(name.ok_or_else(missing)?)
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

/// The clock of this name; one without any conversion is refused before a long file is read.
fn usable(name: &str) -> Result<Clock, Error> {
    let clock: Clock = name.parse()?;
    if clock == Clock::Qpc {
        Clocks::default().join(clock)?;
    }
    Ok(clock)
}

#[cfg(test)]
mod tests;
