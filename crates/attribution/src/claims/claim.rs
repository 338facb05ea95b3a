//! A claim: a statement of one source that a stretch of time has a cause, before precedence decides.

use std::sync::Arc;

use model::{Cause, Certainty, Cpu, Evidence, Segment, Story, ThreadId, Ticks, TscRange};
use pt::GapReason;

use crate::claims::partition::Bid;
use crate::claims::precedence::Rank;
use crate::walk::hot_paths::HotPaths;

/// What one source states about a stretch of time. Claims may overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Its time, and its strength against others.
    pub(crate) bid: Bid,
    /// The cause.
    pub(crate) cause: Cause,
    /// The certainty.
    pub(crate) certainty: Certainty,
    /// Which occurrence of the cause it is.
    pub(crate) occurrence: u64,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// The particulars.
    pub(crate) detail: String,
    /// The same in parts, for the headline.
    pub(crate) story: Story,
    /// The uncertainty of its boundaries.
    pub(crate) uncertainty: Ticks,
    /// For waits: what the thread that ended the wait was doing.
    pub(crate) during: Vec<Segment>,
    /// Through which functions that thread's time passed, for each of these.
    pub(crate) below: Option<Arc<HotPaths>>,
    /// For waits: the program's own functions that led there, innermost first, each as `serve()`.
    pub(crate) callers: Vec<String>,
    /// For time on a run queue: the thread that ran longest on its CPU then.
    pub(crate) behind: Option<ThreadId>,
    /// For lost trace: what the decoder could not decode.
    pub(crate) gap: Option<GapReason>,
    /// The supporting records.
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
            story: Story::default(),
            uncertainty: Ticks(0),
            during: Vec::new(),
            below: None,
            callers: Vec::new(),
            behind: None,
            gap: None,
            evidence: Vec::new(),
        }
    }

    /// Whether `segment` is a piece of it.
    pub(crate) fn holds(&self, segment: &Segment) -> bool {
        segment.cause == self.cause && self.range().intersection(segment.range) == Some(segment.range)
    }

    /// Its time.
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
