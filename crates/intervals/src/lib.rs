//! Markers become intervals, intervals a population, the population its outliers and their baselines.
//!
//! ```text
//! interval file, records, PTWRITE, decoded flow → marks → pairing → IntervalSet
//! IntervalSet → Filters → Population (statistics) → Selection (outliers, with the rule) → baselines
//! ```
//!
//! Input: files and streams of marks in any clock that can be converted to the TSC. Output: intervals in ticks, in order
//! of their starts, and a diagnostic for everything that could not be used. Nothing is guessed: a clock that cannot be
//! converted is an error. `docs/interval-file.md` and `docs/statistics.md` are the contract.
#![doc = include_str!("../README.md")]

mod baselines;
mod change;
mod clock;
pub mod confidence;
mod counters;
mod error;
pub mod events;
mod file;
mod filters;
mod findings;
pub mod functions;
mod histogram;
mod interval_set;
mod losses;
mod outliers;
pub mod pairing;
mod population;
pub mod pt_regions;
pub mod ptwrite;
mod selection;
mod sketch;
mod unit;

pub use baselines::{baselines, baselines_of_all, ranks_evenly_apart};
pub use change::{Change, QuantileChange};
pub use clock::{Clock, ClockPair, Clocks, Join, Line};
pub use counters::{CounterStatistics, RankCorrelation, Side, Split};
pub use error::Error;
pub use events::{EventPair, EventPattern, from_events, span_contexts};
pub use file::{
    CLOCKS, IntervalFile, MARK_BYTES, SpanContext, clocks_beside, read_clock_pairs, read_interval_file,
    read_intervals,
};
pub use filters::{Filters, ThreadFacts, TimeSpan};
pub use findings::{Findings, KEPT_PER_KIND, Origin};
pub use functions::{EntryPoint, FoundCalls, FunctionCalls, MarkCache, join_calls};
pub use histogram::{Bin, Histogram, Mode, TwoModes};
pub use interval_set::IntervalSet;
pub use losses::MarkLosses;
pub use outliers::{Judgement, LabelThreshold, OutlierRule};
pub use population::{Percentiles, Population, PopulationStatistics, nearest_rank};
pub use ptwrite::{PtwriteOccurrence, PtwriteSpec, from_ptwrites};
pub use selection::{DEFAULT_MOST, Selected, Selection};
pub use sketch::Sketch;
pub use unit::Unit;
