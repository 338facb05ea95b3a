//! The report for other tools: folded stacks, flame graphs, tables of segments and of the population, Firefox Profiler, Perfetto.
//!
//! Input: a [`Report`](crate::Report). Output: what those tools read. Each outlier stands for itself, at its own perf
//! time with a TSC conversion, else at zero; lengths in ticks stand in for nanoseconds where nothing is known.

mod csv;
mod firefox;
mod flamegraph;
mod folded;
mod perfetto;
mod protobuf;
mod stat;
mod tracks;

pub use csv::export_csv;
pub use firefox::export_firefox;
pub use flamegraph::{FlameView, export_flamegraph};
pub use folded::export_folded;
pub use perfetto::export_perfetto;
pub use stat::export_stat_csv;
