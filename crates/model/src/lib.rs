//! The nouns that all floors of tailtrace share.
//!
//! Times ([`Tsc`], [`Ticks`], [`PerfTime`], [`TimeConversion`]), places ([`Cpu`], [`ThreadId`], [`FileOffset`]),
//! code in memory ([`Mapping`], [`CodeBytes`]), what the user measures ([`Interval`]), and what tailtrace says
//! about it ([`Cause`], [`Segment`], [`Attribution`]). No I/O, no formats, no policy.
#![doc = include_str!("../README.md")]

mod attribution;
mod calls;
mod cause;
mod code;
mod cpu_list;
mod device;
mod diagnostic;
mod interval;
mod label;
mod number;
mod place;
mod segment;
mod story;
mod time;

pub use attribution::{Attribution, PartitionError};
pub use calls::{CallLayer, CallNode, CallStretch, Calls};
pub use cause::{Cause, FaultKind, OffCpu, Slower};
pub use code::{BuildId, CodeBytes, CodeEpoch, CodeSection, InodeId, MapEvent, Mapping};
pub use cpu_list::CpuList;
pub use device::Device;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use interval::{Attribute, Child, Counter, Details, Interval, IntervalId, Phase, PhaseKind, Stage};
pub use label::Label;
pub use number::Number;
pub use place::{Cpu, FileOffset, Pid, ThreadId, Tid};
pub use segment::{Certainty, Evidence, EvidenceKind, Segment};
pub use story::{Part, Role, SampledFunction, Story};
pub use time::{PerfTime, Ticks, TimeConversion, Tsc, TscRange};
