//! Diagnostics of a source, a bounded number of each kind: a million broken lines are twenty diagnostics and a count.

use std::collections::BTreeMap;

use model::{Cpu, Diagnostic, FileOffset, Place, Severity};

use crate::interval_set::IntervalSet;

/// How many diagnostics of one kind are kept.
pub const KEPT_PER_KIND: u64 = 20;

/// Where in its source a mark or an interval stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Not known.
    #[default]
    Unknown,
    /// A line of the interval file, from 1.
    Line(u64),
    /// A byte of the interval file.
    Byte(u64),
    /// A byte of one of the files in the interval folder ([`Findings::part`]).
    Part {
        /// Which of them.
        part: u32,
        /// The byte, from 0.
        byte: u64,
    },
    /// A byte of the interval file, and its line: some files are one line.
    Text {
        /// The line, from 1.
        line: u64,
        /// The byte, from 0.
        byte: u64,
    },
    /// A record of the perf.data.
    Record(FileOffset),
    /// A packet in the AUX stream of a CPU, or of a thread (no CPU).
    Aux {
        /// The CPU whose stream it is.
        cpu: Option<Cpu>,
        /// Byte in that stream.
        offset: u64,
    },
}

impl Origin {
    /// As a diagnostic's place, in `file` where that is not the capture.
    pub fn place(self, file: Option<&str>) -> Place {
        let mut place = Place { file: file.map(str::to_owned), ..Place::default() };
        match self {
            Origin::Unknown => {}
            Origin::Line(line) => place.line = Some(line),
            Origin::Byte(offset) | Origin::Part { byte: offset, .. } => {
                place.file_offset = Some(FileOffset(offset));
            }
            Origin::Text { line, byte } => {
                place.line = Some(line);
                place.file_offset = Some(FileOffset(byte));
            }
            Origin::Record(offset) => place.file_offset = Some(offset),
            Origin::Aux { cpu, offset } => {
                place.cpu = cpu;
                place.aux_offset = Some(offset);
            }
        }
        place
    }
}

/// Collects diagnostics; of each kind the first [`KEPT_PER_KIND`] and the number of the others.
#[derive(Debug, Default)]
pub struct Findings {
    file: Option<String>,
    /// Files of the folder that the file is.
    parts: Vec<String>,
    kept: Vec<Diagnostic>,
    counts: BTreeMap<&'static str, (Severity, u64)>,
}

impl Findings {
    /// Findings about the capture itself.
    pub fn new() -> Findings {
        Findings::default()
    }

    /// Findings about another file.
    pub fn in_file(file: impl Into<String>) -> Findings {
        Findings { file: Some(file.into()), ..Findings::default() }
    }

    /// A file of the folder that these are about; its number for [`Origin::Part`].
    pub fn part(&mut self, file: String) -> u32 {
        self.parts.push(file);
        u32::try_from(self.parts.len() - 1).unwrap_or(u32::MAX)
    }

    fn file_of(&self, origin: Origin) -> Option<&str> {
        let part = if let Origin::Part { part, .. } = origin { usize::try_from(part).ok() } else { None };
        part.and_then(|part| self.parts.get(part)).or(self.file.as_ref()).map(String::as_str)
    }

    /// Records one. `what` is only called if it will be kept; `kind` names the kind in the plural ("begins without
    /// end").
    pub fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        origin: Origin,
        what: impl FnOnce() -> String,
    ) {
        let (worst, count) = self.counts.entry(kind).or_insert((severity, 0));
        *worst = (*worst).max(severity);
        *count += 1;
        if *count <= KEPT_PER_KIND {
            let place = origin.place(self.file_of(origin));
            self.kept.push(Diagnostic { severity, what: what(), place });
        }
    }

    /// Takes over what another source found, as it is.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        self.kept.extend(diagnostics);
    }

    /// All that were kept, and one line for each kind of which there were more.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut all = self.kept;
        for (kind, (severity, count)) in self.counts {
            if count > KEPT_PER_KIND {
                let what = format!("{} more {kind}", count - KEPT_PER_KIND);
                all.push(Diagnostic { severity, what, place: Origin::Unknown.place(self.file.as_deref()) });
            }
        }
        all
    }

    /// The finished set: `intervals` in order of their starts, with what was found.
    pub fn into_set(self, mut intervals: Vec<model::Interval>) -> IntervalSet {
        intervals.sort_by_key(|interval| (interval.range.start, interval.id));
        IntervalSet { intervals, diagnostics: self.into_diagnostics(), ..IntervalSet::default() }
    }
}
