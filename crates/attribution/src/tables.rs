//! Facts about Linux, x86 and language runtimes, each with its source. To add a symbol, a vector, a runtime or a CPU
//! model, edit only this folder.
//!
//! Imports nothing of this crate: no file here uses records, flows or intervals.

pub(crate) mod cgroups;
pub(crate) mod collectors;
pub(crate) mod cpu_models;
pub(crate) mod event_loops;
pub(crate) mod exceptions;
pub(crate) mod goroutines;
pub(crate) mod kernel_entries;
pub(crate) mod kernel_spins;
pub(crate) mod libraries;
pub(crate) mod page_faults;
pub(crate) mod read_write_locks;
pub(crate) mod recording;
pub(crate) mod signals;
pub(crate) mod sleeping_locks;
pub(crate) mod syscalls;
pub(crate) mod task_wakers;
pub(crate) mod timers;
pub(crate) mod wait_functions;
