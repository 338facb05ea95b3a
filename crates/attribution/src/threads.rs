//! Where the interval's threads were, by records and by flow, and what they did there.
//!
//! The entry point is [`whose_time`]: which thread's time it is, in which stays, with which activity. Imports
//! `tables`, `records`, `inputs` and `walk`. Nothing here claims a tick for a cause.

pub(crate) mod addresses;
pub(crate) mod contradictions;
pub(crate) mod follow;
pub(crate) mod hand_off;
pub(crate) mod interrupt_chain;
pub(crate) mod late_switches;
pub(crate) mod pauses;
pub(crate) mod stays;
mod unrecorded;
pub(crate) mod waker;
pub(crate) mod wakeup;
pub(crate) mod whose_time;
