//! The walk: it turns the flow of one thread, item by item, into what the thread did ([`activity`]).
//!
//! [`walker`] feeds the trackers in this folder. Imports `tables` and `inputs`; uses no records and no intervals.

pub(crate) mod activity;
pub(crate) mod await_sites;
mod block_uses;
pub(crate) mod call_path;
pub(crate) mod calls;
mod clock;
mod code;
mod entries;
pub(crate) mod hot_paths;
pub(crate) mod kernel_runs;
mod kernel_stack;
mod later_callers;
mod led_to;
pub(crate) mod resched;
pub(crate) mod roots;
mod silences;
mod spin_path;
mod spins;
pub(crate) mod stalls;
pub(crate) mod string_instructions;
mod switches;
mod tail_calls;
mod throttle;
mod user_calls;
pub(crate) mod user_code;
pub(crate) mod user_runs;
pub(crate) mod waits_in_place;
pub(crate) mod walker;

#[cfg(test)]
mod tests;
