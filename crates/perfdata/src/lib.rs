//! Reads perf.data files with Intel PT.

mod schedule;

pub use schedule::{LeaveReason, Run, Schedule};
