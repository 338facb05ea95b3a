//! Marks for programs that tailtrace explains: `tailtrace.h`, as text, and the clock pairs that relate a program's clocks with its marks.
//!
//! The header is for the *user's* program. It lies in `include/`, and markers of other languages will lie beside it.
#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod clock;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod system;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use system::tsc;

/// `tailtrace.h`: C99 or C++, Linux on x86-64; it needs no library of tailtrace's.
pub const HEADER: &str = include_str!("../include/tailtrace.h");
