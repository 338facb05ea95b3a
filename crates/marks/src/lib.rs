//! Marks for programs that tailtrace explains: `tailtrace.h`, as text.
//!
//! The header is for the *user's* program. It lies in `include/`, and markers of other languages will lie beside it.
#![doc = include_str!("../README.md")]

/// `tailtrace.h`: C99 or C++, Linux on x86-64; it needs no library of tailtrace's.
pub const HEADER: &str = include_str!("../include/tailtrace.h");
