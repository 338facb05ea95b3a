//! From a perf.data with Intel PT to explained intervals: the pipeline of tailtrace, without a command line and without a
//! terminal.
//!
//! ```text
//! Request → Capture → intervals → Population → Study → Report
//! ```
//!
//! Input: a [`Request`] of plain values. Output: a [`report::Report`] by way of a [`Study`]; or a slice of the capture
//! ([`slice`](mod@slice)), a bundle ([`bundle`]), its executed instructions ([`instructions`]). What takes long is decoded on rayon's
//! threads and reports its progress to a [`Meter`]; nothing is printed. `examples/explain.rs` is a program of thirty lines.
//!
//! The modules are floors: `{request, output, expectation, sha256} < capture < intervals_of < {checks, population, hot_code} < study < slice < bundle`,
//! and each imports only those before it; `instructions` needs `capture` and `intervals_of` alone.
#![doc = include_str!("../README.md")]

pub mod bundle;
pub mod capture;
mod checks;
mod error;
pub mod expectation;
pub mod hot_code;
pub mod instructions;
mod intervals_of;
mod nearest;
pub mod output;
mod population;
pub mod request;
pub mod sha256;
pub mod slice;
pub mod study;

pub use capture::{Capture, Meter, NoMeter};
pub use error::{Error, Result};
pub use request::Request;
pub use study::Study;
