//! An explained interval, as the pages show it.

use model::Diagnostic;
use report::{OutlierReasons, OutlierReport};

use super::lanes::Lane;

/// An interval and those it is compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explained {
    /// The interval.
    pub(crate) outlier: OutlierReport,
    /// Why it is slow, as far as others may be so, too.
    pub(crate) reasons: OutlierReasons,
    /// The typical ones, each on its own.
    pub(crate) baselines: Vec<OutlierReport>,
    /// What the reader must know beside it.
    pub(crate) remarks: Vec<Diagnostic>,
    /// Its timeline, row by row.
    pub(crate) lanes: Vec<Lane>,
}
