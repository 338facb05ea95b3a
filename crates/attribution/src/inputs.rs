//! What the caller provides: the crate's whole interface to its input. A capture with its records, its schedule, the
//! names of functions, threads and files, the queues, and a decoder.
//!
//! Imports `tables` and `records`. The caller implements each trait here over a capture; tests implement it over
//! hand-written tables.

pub(crate) mod capture;
pub(crate) mod comms;
pub(crate) mod decode;
pub(crate) mod files;
pub(crate) mod functions;
pub(crate) mod queues;
pub(crate) mod scene;
pub(crate) mod tasks;
