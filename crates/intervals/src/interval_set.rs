//! What every source of intervals gives.

use model::{Diagnostic, Interval};

use crate::losses::MarkLosses;

/// Intervals of one source, and what was wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalSet {
    /// In order of their starts, then of their ids.
    pub intervals: Vec<Interval>,
    /// What could not be used, and why.
    pub diagnostics: Vec<Diagnostic>,
    /// How many marks there are, and how many the program made and the source does not hold.
    pub losses: MarkLosses,
}
