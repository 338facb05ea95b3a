//! One interval becomes exclusive segments with causes.
//!
//! [`examine()`] follows the interval's threads through schedule, records and decoded flow and lets precedence decide
//! each tick; [`attribute`] compares an outlier's user code with its baselines'. The model: `docs/attribution.md`.
//!
//! The folders form layers, and imports go to the left only: `tables < records < inputs < walk < threads < {samples,
//! claims} < examine < compare`, with `population` beside the last two. A workspace test checks this
//! (`tests/layering/floors.rs`).
#![doc = include_str!("../README.md")]

mod claims;
mod compare;
mod examine;
mod inputs;
mod population;
mod records;
mod samples;
mod tables;
#[cfg(test)]
mod testing;
mod threads;
mod walk;

pub use compare::call_tree::calls;
pub use compare::{attribute, attribute_alone, attribute_baseline};
pub use examine::examined::Examined;
pub use examine::{examine, examine_baseline};
pub use inputs::capture::Capture;
pub use inputs::comms::Comms;
pub use inputs::decode::Decode;
pub use inputs::functions::{Function, Functions, Variable};
pub use inputs::queues::Queues;
pub use population::access::{Access, Direction, accesses};
pub use population::ran_on;
pub use population::requests::{AnsweredRequest, LeftOut, Requests, requests};
pub use population::waits::{ObjectWait, WaitObject, records_of_wait, wait_of_one_of_many, wait_of_stay};
pub use records::recent::RecentRecords;
pub use samples::memory::{Accessed, MemoryAccess, MemoryAccesses, memory_accesses, memory_is_sampled};
pub use tables::cgroups::group_words;
pub use tables::collectors::collector_of;
pub use tables::cpu_models::CodeCaches;
pub use tables::kernel_entries::{Thunk, thunk};
pub use tables::libraries::is_system_library;
pub use threads::hand_off::HandOff;
pub use threads::stays::{Stay, Whereabouts, most_stays, runs_on, stays};
pub use walk::calls::CallSites;
