//! Indexes Intel PT streams and decodes single windows of them with libipt.

mod flow;

pub use flow::{Block, BlockEnd, EventKind, Flow, FlowItem, FlowSink, Gap, GapReason, PtEvent, TimeBounds};
