//! A perf.data that holds just what some outliers need.
//!
//! Explaining them notes which trace and which records it looks at; that, and what decoding it needs, is cut out. So a
//! slice answers as its recording does, whatever explaining comes to look at. `docs/slice-and-bundle.md` is the contract.

mod cut;
mod make;
mod note;
mod redaction;

pub use make::{Slice, make};
pub use redaction::Redaction;
