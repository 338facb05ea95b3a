//! Counters and samples laid over the stays of an interval: requested frequencies, memory accesses, the front end.
//!
//! Imports `tables`, `records`, `inputs`, `walk` and `threads`. `claims` is beside: neither imports the other.

pub(crate) mod front_end;
pub(crate) mod memory;
pub(crate) mod requested_frequency;
