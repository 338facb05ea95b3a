//! A segment: an exclusive piece of an interval with its one cause, and how we know.

use std::fmt;

use crate::cause::Cause;
use crate::place::{Cpu, FileOffset, ThreadId};
use crate::story::Story;
use crate::time::{Ticks, TscRange};

/// How well a statement is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Nothing supports it.
    Unknown,
    /// It follows from a comparison or a rule of thumb.
    Inferred,
    /// It follows from the decoded control flow.
    Decoded,
    /// A record says so.
    Measured,
}

/// What kind of thing supports a statement.
// Exhaustive: each kind needs its word in the JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvidenceKind {
    /// A record of the perf.data.
    Record,
    /// A packet of the AUX stream.
    Packet,
    /// A function at an address.
    Symbol,
}

/// One thing a reader can look up to check a statement, with `perf script -D` or a disassembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// Where it stands in the perf.data.
    pub file_offset: Option<FileOffset>,
    /// The CPU it belongs to.
    pub cpu: Option<Cpu>,
    /// Where it stands in that CPU's AUX stream.
    pub aux_offset: Option<u64>,
    /// What it says, in a few words.
    pub text: String,
}

/// An exclusive piece of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When.
    pub range: TscRange,
    /// The CPU on which it passed; `None` while the thread was on none, or where it is not known.
    pub cpu: Option<Cpu>,
    /// The thread whose time it is.
    pub thread: Option<ThreadId>,
    /// Why.
    pub cause: Cause,
    /// Which occurrence of this cause it belongs to: segments of one interval that share cause and number are pieces
    /// of one occurrence (a page fault cut in three by a nested interrupt), and count once. Any numbers will do.
    pub occurrence: u64,
    /// How well that is known.
    pub certainty: Certainty,
    /// The particulars: by whom preempted, which function, which address. Empty where there are none.
    pub detail: String,
    /// Object, place and the other thread, as far as they are known: what a headline is made of.
    pub story: Story,
    /// How far its edges may be off, where that is known to be more than a tick.
    pub edge_uncertainty: Ticks,
    /// For a wait: the same partition for the thread that ended it. Not part of the interval's sum.
    pub during: Vec<Segment>,
    /// What supports it, strongest first.
    pub evidence: Vec<Evidence>,
}

impl Evidence {
    /// A record at its place in the file.
    pub fn record(offset: FileOffset, cpu: Option<Cpu>, text: impl Into<String>) -> Evidence {
        Evidence {
            kind: EvidenceKind::Record,
            file_offset: Some(offset),
            cpu,
            aux_offset: None,
            text: text.into(),
        }
    }

    /// A packet at its place in the AUX stream of `cpu`.
    pub fn packet(aux_offset: u64, cpu: Option<Cpu>, text: impl Into<String>) -> Evidence {
        Evidence {
            kind: EvidenceKind::Packet,
            file_offset: None,
            cpu,
            aux_offset: Some(aux_offset),
            text: text.into(),
        }
    }

    /// A function that ran.
    pub fn symbol(text: impl Into<String>) -> Evidence {
        Evidence {
            kind: EvidenceKind::Symbol,
            file_offset: None,
            cpu: None,
            aux_offset: None,
            text: text.into(),
        }
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Certainty::Unknown => "unknown",
            Certainty::Inferred => "inferred",
            Certainty::Decoded => "decoded",
            Certainty::Measured => "measured",
        })
    }
}

impl fmt::Display for EvidenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EvidenceKind::Record => "record",
            EvidenceKind::Packet => "packet",
            EvidenceKind::Symbol => "symbol",
        })
    }
}
