//! One plain [`Report`], and pure functions from it to every format.
//!
//! [`OutlierReport::new`] resolves an [`Attribution`](model::Attribution) once: names, nanoseconds that add up,
//! evidence. The renderers ([`render_text`], [`render_markdown`], [`render_html`], [`render_json`], the `stat`
//! forms and the `export`s for other tools) only lay it out; they neither compute nor open files, and every string of the capture passes through one escaping module.
#![doc = include_str!("../README.md")]

mod advice;
mod calls;
mod causes;
mod chain;
mod composition;
mod difference;
mod distribution;
mod escape;
mod expected;
mod export;
mod family;
mod function;
mod headline;
mod hot_code;
mod html;
mod json;
mod left_out;
mod machine;
mod markdown;
mod numa;
mod number;
mod outlier;
mod pebs;
mod reasons;
mod recording;
mod report;
mod serving;
mod snapshots;
mod text;
mod texts;
mod timebase;
mod units;
mod view;

pub use calls::{CallReport, CallTree, StretchReport};
pub use causes::CauseTotal;
pub use chain::{CauseChain, Unnamed, cause_chains};
pub use composition::{
    Composition, CompositionPoint, Constituents, PathClass, Period, Tail, TailCause, Without,
};
pub use difference::html::render_difference_html;
pub use difference::json::{DIFFERENCE_SCHEMA, difference_schema, render_difference_json};
pub use difference::markdown::render_difference_markdown;
pub use difference::text::render_difference_text;
pub use difference::{
    CauseChange, Contrast, Difference, DurationChange, QuantileShift, SharedBin, Side, Spread,
};
pub use distribution::{Bin, Lengths, Mode, Modes, Percentiles};
pub use escape::{for_message, for_terminal};
pub use expected::{Expected, expectation_lines, render_junit};
pub use export::{
    FlameView, export_csv, export_firefox, export_flamegraph, export_folded, export_perfetto, export_stat_csv,
};
pub use family::{Colour, Family, strip};
pub use function::{function_of, unnamed_function};
pub use headline::{headline, population, reasons};
pub use hot_code::{HotBlock, HotInstruction, HotRange, SourceLine, Spent};
pub use html::render_html;
pub use json::{SCHEMA, render_json, render_stat_json, report_schema, schema_of};
pub use machine::{CpuReport, LeftCpu, Machine, RunReport, WakeupReport};
pub use markdown::{render_markdown, render_stat_markdown};
pub use numa::{DeviceUse, MemoryUse, NodeCount, NodeTime, NumaUse, NumaView};
pub use number::JsonNumber;
pub use outlier::perf_script::{perf_script_line, shell_quoted, shell_word};
pub use outlier::{
    AttributeValue, Check, CheckState, ChildSpans, CounterValue, EvidenceReport, OutlierReport,
    SegmentReport, StageReport, ThreadName,
};
pub use pebs::{PebsFunction, PebsMemory, PebsUse};
pub use reasons::{Blame, OutlierReasons, Reason, Reasons};
pub use report::{CaptureFacts, LostMarkers, PopulationSummary, Report, SelectionSummary};
pub use serving::{PartSum, ServingRow, client, part_sums, part_words};
pub use snapshots::{SkippedIntervals, SlowLimit, Snapshots};
pub use text::{
    Style, axis, cells, render_composition, render_full_text, render_reasons, render_stat_text, render_text,
    render_verdict, wrap,
};
pub use texts::ReplaceTexts;
pub use timebase::{TimeUnit, Timebase};
pub use units::{Digits, counted, length, mean_length, percent, percentage, signed_length};
pub use view::{CauseShare, CounterView, DeviceView, IoShare, SplitView, Story, View, WaitView};
