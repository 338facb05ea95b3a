//! Recording: the `perf record` command line with the recommended events, perf itself, what becomes of older captures, and the
//! files beside it, which hold what perf does not write down: of the machine, and of its clocks.

pub(crate) mod buffers;
pub(crate) mod clocks;
pub(crate) mod code_copies;
pub(crate) mod command;
pub(crate) mod descriptors;
mod gather;
pub(crate) mod machine_file;
pub(crate) mod offered;
pub(crate) mod older;
pub(crate) mod pausing;
pub(crate) mod perf;
pub(crate) mod preset;
pub(crate) mod ptwrite;
pub(crate) mod snapshots;
mod sockets;
mod targets;
