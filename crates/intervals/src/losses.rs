//! How many marks a program made that its file does not hold, and why.
//!
//! Input: what the file counts, and what its reader finds missing. Output: [`MarkLosses`] and a diagnostic for each
//! reason. A file that was closed counts exactly; one that was not counts what was known some 100 ms before its end.

use model::Severity;

use crate::findings::{Findings, Origin};

/// How many marks there are of a source, and how many are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkLosses {
    /// Marks that were made and are missing.
    pub lost: u64,
    /// Marks that are there.
    pub kept: u64,
}

impl MarkLosses {
    /// All that were made.
    pub fn made(self) -> u64 {
        self.lost.saturating_add(self.kept)
    }
}

/// Why a mark is missing, by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Reason {
    Full = 1,
    Within = 2,
    NoBuffer = 3,
    Unwritten = 4,
    Unreadable = 5,
    Forked = 6,
    Late = 7,
}

const REASONS: [(Reason, &str); 7] = [
    (Reason::Full, "their thread's buffer was full: they came faster than they can be written"),
    (Reason::Within, "signal handlers made them while their thread was within another marker"),
    (
        Reason::NoBuffer,
        "there was no memory for their thread's buffer, or a signal handler interrupted its making",
    ),
    (Reason::Unwritten, "the file could not be written: the disk may have been full"),
    (Reason::Unreadable, "the memory of their label was gone, as after dlclose()"),
    (Reason::Forked, "children of fork() made them, which had opened no file of their own"),
    (Reason::Late, "they came after the file was closed"),
];

/// Counts of one file while it is read.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By reason; the first is what was written.
    totals: [u64; REASONS.len() + 1],
    has_totals: bool,
    closed: bool,
    kept: u64,
    noted: u64,
    damaged: u64,
}

impl Counts {
    /// The file's count for a reason; 0 stands for the marks that it holds. `closed`: it will not change.
    pub(crate) fn total(&mut self, reason: u64, count: u64, closed: bool) {
        self.has_totals = true;
        self.closed |= closed;
        if let Some(total) = usize::try_from(reason).ok().and_then(|reason| self.totals.get_mut(reason)) {
            *total = count;
        }
    }

    /// A mark that is there.
    pub(crate) fn kept(&mut self) {
        self.kept += 1;
    }

    /// A record among the marks that says so many are missing.
    pub(crate) fn noted(&mut self, count: u64) {
        self.noted = self.noted.saturating_add(count);
    }

    /// A place that cannot be read: at least one mark is missing.
    pub(crate) fn damaged(&mut self) {
        self.damaged += 1;
    }

    /// Whether threads that the file does not name may have lost marks at any time.
    pub(crate) fn are_anywhere(&self) -> bool {
        self.totals[Reason::NoBuffer as usize] > 0
    }

    /// The sums, with a diagnostic for each reason.
    pub(crate) fn finish(self, findings: &mut Findings) -> MarkLosses {
        let mut lost = 0u64;
        let mut note = |count: u64, why: &str| {
            if count > 0 {
                lost = lost.saturating_add(count);
                findings.add(Severity::Warning, "reasons of losses", Origin::Unknown, || {
                    format!("{count} markers were lost: {why}")
                });
            }
        };
        for (reason, why) in REASONS {
            note(self.totals[reason as usize], why);
        }
        let counted = self.totals[1..].iter().fold(0u64, |sum, &count| sum.saturating_add(count));
        // The losses among the marks are in the counts, unless these are older.
        note(self.noted.saturating_sub(counted), "the file does not say why");
        // A place that is damaged may have been anything; the count of marks is exact where it is the last one.
        let missing = self.totals[0].saturating_sub(self.kept);
        let missing = if self.closed { missing } else { missing.max(self.damaged) };
        note(missing, "the file is damaged or cut off");
        if self.has_totals && !self.closed {
            findings.add(Severity::Note, "files that were not closed", Origin::Unknown, || {
                "the program ended without closing the interval file: markers of its last 2 ms may be missing"
                    .to_owned()
            });
        }
        MarkLosses { lost, kept: self.kept }
    }
}
