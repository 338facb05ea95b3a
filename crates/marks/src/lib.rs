//! Marks intervals in programs, for tailtrace: at a cost of some ten nanoseconds a mark, into a file that `--intervals` reads.
//!
//! Input: labels (literals), and keys that pair the marks of one interval. Output: the file of `docs/interval-file.md`, "Binary
//! marks", with clock pairs, as the C header `tailtrace.h` writes it, which lies in `include/` ([`HEADER`]).
#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(feature = "std")]
extern crate std;

pub mod clock;
pub mod record;

// All else needs the time-stamp counter, and Linux's system calls by number.
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod counts;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod cpus;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod doorbell;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod given;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod late;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod output;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod percentile;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod program;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod ring;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod system;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
mod task;

#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub use given::{begin_at, end_at, name_thread, task_await_at};
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub use percentile::RunningPercentile;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub use program::{
    Interval, NO_KEY, begin, close, counter, default_path, end, end_since, interval, open, open_default,
    publish, stage, thread,
};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use system::tsc;
#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
pub use task::{Task, task, task_await, task_ready, task_run};

/// `tailtrace.h`: C99 or C++, Linux on x86-64; it needs no library of tailtrace's.
pub const HEADER: &str = include_str!("../include/tailtrace.h");
