//! A claim: "these ticks went to this cause", made by one source, before precedence decides.

use model::{Cause, Certainty, Cpu, Evidence, Segment, Ticks, TscRange};
use pt::GapReason;

use crate::partition::Bid;
use crate::precedence::Rank;

/// What one source says about a stretch of time. Claims may overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// When, and how it stands against others.
    pub(crate) bid: Bid,
    /// Why.
    pub(crate) cause: Cause,
    /// How well it is known.
    pub(crate) certainty: Certainty,
    /// Which happening of the cause it is.
    pub(crate) occurrence: u64,
    /// Where.
    pub(crate) cpu: Option<Cpu>,
    /// The particulars.
    pub(crate) detail: String,
    /// How far its edges may be off.
    pub(crate) uncertainty: Ticks,
    /// For waits: what the thread that ended it did.
    pub(crate) during: Vec<Segment>,
    /// For trace that is lost: what the decoder could not get past.
    pub(crate) gap: Option<GapReason>,
    /// What supports it.
    pub(crate) evidence: Vec<Evidence>,
}

impl Claim {
    /// A claim without particulars.
    pub(crate) fn new(range: TscRange, rank: Rank, cause: Cause, certainty: Certainty) -> Claim {
        Claim {
            bid: Bid { range, rank, depth: 0 },
            cause,
            certainty,
            occurrence: 0,
            cpu: None,
            detail: String::new(),
            uncertainty: Ticks(0),
            during: Vec::new(),
            gap: None,
            evidence: Vec::new(),
        }
    }

    /// When.
    pub(crate) fn range(&self) -> TscRange {
        self.bid.range
    }

    /// Adds to the particulars.
    pub(crate) fn say(&mut self, particular: &str) {
        if particular.is_empty() {
            return;
        }
        if !self.detail.is_empty() {
            self.detail.push_str(", ");
        }
        self.detail.push_str(particular);
    }
}
