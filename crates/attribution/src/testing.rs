//! The test kit of this crate: hand-written flows, schedules and functions.

pub(crate) mod code;
pub(crate) mod script;
