//! Reads perf.data files with Intel PT, and writes slices of them.
//!
//! [`PerfData::open`] maps the file, reads its header, attributes and feature sections, and walks the headers of
//! its records once. Records then come out in the order of time ([`PerfData::records`]); AUX payloads are located
//! ([`PerfData::aux_buffers`]) and never touched. Damage becomes a diagnostic with its file offset.

mod asked_frequencies;
mod attr;
mod aux;
mod aux_sample;
mod auxtrace_index;
mod bytes;
mod clock_steps;
mod compressed;
mod directory;
mod error;
mod features;
mod file;
mod files;
mod header;
mod intel_pt;
mod loss;
mod machine;
mod maps;
mod numa;
mod perf_data;
mod read_ahead;
mod reads;
mod record;
mod repeats;
mod resync;
mod schedule;
mod slice;
mod stretches;
#[cfg(test)]
mod test_file;
mod thread_names;
#[cfg(test)]
mod traced;
mod tracepoint;
mod walk;

pub use asked_frequencies::{AskedFrequencies, AskedFrequency};
pub use attr::{Attr, TYPE_TRACEPOINT, sample_type};
pub use aux::{AuxBuffer, AuxFlags, AuxSample};
pub use clock_steps::ClockStep;
pub use error::Error;
pub use features::{
    ClockData, Compression, CpuCache, CpuLocation, CpuTopology, EventGroup, Features, FileBuildId,
    MemoryTopology, NodeMemory, NumaNode,
};
pub use file::FilePosition;
pub use files::{FilePlace, is_memory};
pub use intel_pt::{IntelPtConfig, IntelPtInfo};
pub use loss::{Loss, LossKind};
pub use machine::{BlockDevice, Interrupt, Machine, MachineNode, MemoryRange, NetworkDevice};
pub use numa::Numa;
pub use perf_data::{PerfData, Records};
pub use record::{
    AuxtraceError, BuildIdRecord, Counter, CounterRead, DataSource, Distance, MemoryLevel, Mmap, Record,
    Sample, SystemCall, SystemCallStep, TimedRecord, Weight, kind_name,
};
pub use schedule::{LeaveReason, Run, Runs, Schedule};
pub use slice::{AuxPart, CpuTimes, Renames, SliceNote, SlicePlan};
pub use thread_names::ThreadNames;
#[doc(hidden)]
pub use tracepoint::fuzz_formats;
pub use tracepoint::{FieldValue, TracepointField, TracepointFormat};
