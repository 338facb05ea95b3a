//! What a machine can record, read from its `/sys` and `/proc` below a root that a test may choose, and from perf itself.
//!
//! It reads and judges nothing: [`crate::doctor`] says what a fact means, [`crate::record`] chooses options by it.

pub(crate) mod build;
pub(crate) mod clock;
pub(crate) mod cpu;
pub(crate) mod kcore;
pub(crate) mod pausing;
pub(crate) mod privileges;
pub(crate) mod pt;
pub(crate) mod tracepoints;
pub(crate) mod tree;
