//! The code in which most of the outliers' time went, for the report: block by block, with disassembly and source.
//!
//! Input: examined intervals, whose flows are decoded once more. Output: [`HotRange`](report::HotRange)s per outlier. Blocks
//! are matched between intervals by function and offset, so that the baselines may be other processes of the same program.

mod cost;
mod costs;
mod cut;
mod sources;
mod stopwatch;
mod timing;

pub use sources::SourcePlaces;

pub(crate) use timing::Timing;
