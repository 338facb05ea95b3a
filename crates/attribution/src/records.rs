//! perf's records as typed events: their contents, lookup by time, thread and CPU, and their descriptions.
//!
//! Imports `tables`. Uses no intervals, no flows, and no causes that need more than one record.

mod classify;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod read;
mod readers;
pub(crate) mod recent;
pub(crate) mod sampled;
pub(crate) mod sideband;
pub(crate) mod transfers;
pub(crate) mod words;
