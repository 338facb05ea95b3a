//! What went wrong with the input, and where: damage is data, so it travels beside the results.

use std::fmt;

use crate::place::{Cpu, FileOffset};

/// How much a [`Diagnostic`] matters to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; no figure changes.
    Note,
    /// Some of the answer is missing or less certain.
    Warning,
    /// An interval or a part of the file could not be used.
    Error,
}

/// Where a diagnostic belongs; every part that is known is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, where it is not the capture itself.
    pub file: Option<String>,
    /// Byte in that file.
    pub file_offset: Option<FileOffset>,
    /// Line of a text file, from 1.
    pub line: Option<u64>,
    /// The CPU whose record or packet it is.
    pub cpu: Option<Cpu>,
    /// Byte in that CPU's (or thread's) AUX stream.
    pub aux_offset: Option<u64>,
}

/// One finding about the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, what it means for the answer and, where something can be done, what.
    pub what: String,
    /// Where.
    pub place: Place,
}

impl Diagnostic {
    /// A note without a place.
    pub fn note(what: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, what: what.into(), place: Place::default() }
    }

    /// A warning without a place.
    pub fn warning(what: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::note(what) }
    }

    /// An error without a place.
    pub fn error(what: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, ..Diagnostic::note(what) }
    }

    /// The same at a byte of the file.
    #[must_use]
    pub fn at_offset(mut self, offset: FileOffset) -> Diagnostic {
        self.place.file_offset = Some(offset);
        self
    }

    /// The same on a CPU.
    #[must_use]
    pub fn on_cpu(mut self, cpu: Option<Cpu>) -> Diagnostic {
        self.place.cpu = cpu;
        self
    }

    /// The same at a byte of the AUX stream.
    #[must_use]
    pub fn at_aux(mut self, aux_offset: u64) -> Diagnostic {
        self.place.aux_offset = Some(aux_offset);
        self
    }

    /// The same in another file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Diagnostic {
        self.place.file = Some(file.into());
        self
    }

    /// The same at a line of a text file, from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Diagnostic {
        self.place.line = Some(line);
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Place {
    /// The known parts, separated by commas; nothing where nothing is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.file.clone(),
            self.line.map(|line| format!("line {line}")),
            self.file_offset.map(|offset| format!("file offset {offset}")),
            self.cpu.map(|cpu| format!("CPU {cpu}")),
            self.aux_offset.map(|offset| format!("AUX offset {offset:#x}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
