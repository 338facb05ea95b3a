//! Checks the reader against perf and `linux-perf-data` on every capture at hand.
//!
//! Captures are looked for in `TAILTRACE_CORPUS` and `TAILTRACE_EMULATED` (else beside the workspace); a test that
//! finds none says `left out: …`.

mod aux_area;
mod captures;
mod damage;
mod dump;
mod header;
mod peer;
mod samples;
mod schedule;
mod stats;
