//! Recording: the `perf record` command line with the recommended events, perf itself, what becomes of older captures, and the
//! files beside it, which hold what perf does not write down: of the machine, and of its clocks.

pub(crate) mod clocks;
pub(crate) mod command;
mod gather;
pub(crate) mod machine_file;
pub(crate) mod offered;
pub(crate) mod older;
pub(crate) mod perf;
pub(crate) mod preset;
pub(crate) mod snapshots;
