//! Writes perf.data files with Intel PT whose truth is known.
//!
//! Input: a scenario (what ran where and when) or a finished capture. Output: a capture that stock perf opens, and what it must
//! decode to. Imports nothing of the readers and shares no constant with them: a wrong number cannot agree with itself.

#![allow(
    clippy::cast_possible_truncation,
    reason = "packet and record fields are cut to their width on purpose; sizes are of what lies in memory already"
)]

mod assembler;
mod capture;
mod code_copies;
mod container;
mod core_event;
pub mod damage;
mod dice;
mod elf;
pub mod encoder;
mod error;
pub mod instruction;
pub mod packet;
pub mod random;
pub mod recorded;
pub mod repeat;
pub mod scenario;
pub mod snapshots;
mod tracepoint;
mod tree;

pub use error::Error;
