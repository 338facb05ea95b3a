//! An opened capture with its population and the chosen intervals; each interval's explanation comes on demand.
//!
//! Input: a [`Request`](crate::Request). Opening decodes nothing (but where the marks lie in the trace itself).
//! [`Study::baselines`] names whom an interval is compared with, [`Study::examine`] decodes, and [`Study::outlier_report`]
//! joins both: the same whether all chosen intervals are wanted at once or one of them.

mod account;
mod carried;
mod composition;
mod difference;
mod expected;
mod machine;
mod opened;
mod outcome;
mod path_classes;
mod placement;
mod places;
mod reasons;
mod same_path;
mod typical;

pub use crate::population::labels::LabelFigures;
pub use account::{Account, BundleCounts, LostEvents, SLICES, slices};
pub use difference::{difference, difference_expecting};
pub use opened::{Baselines, Listing, Study, watched, with};
pub use outcome::{Outcome, explain, explain_chosen};

pub(crate) use carried::{DiagnosticTwin, IntervalTwin, Note, OutlierTwin, PairTwin};
