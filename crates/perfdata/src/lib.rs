//! Reads perf.data files with Intel PT, and writes slices of them.
//!
//! [`PerfData::open`] maps the file, reads its header, attributes and feature sections, and walks the headers of
//! its records once. Records then come out in the order of time ([`PerfData::records`]); AUX payloads are located
//! ([`PerfData::aux_buffers`]) and never touched. Damage becomes a diagnostic with its file offset.
#![doc = include_str!("../README.md")]

mod attr;
mod aux;
mod aux_sample;
mod auxtrace_index;
mod bytes;
mod clock_steps;
mod companion;
mod compressed;
mod directory;
mod error;
mod features;
mod file;
mod header;
mod intel_pt;
mod loss;
mod maps;
mod ordered_records;
mod perf_data;
mod pipe;
mod policy;
mod read_ahead;
mod reads;
mod record;
mod record_index;
mod repeats;
mod resync;
mod stretches;
#[cfg(test)]
mod test_file;
#[cfg(test)]
mod traced;
mod tracepoint;

pub use attr::{Attr, TYPE_TRACEPOINT, aux_action, sample_type};
pub use aux::{AuxBuffer, AuxFlags, AuxSample};
pub use clock_steps::ClockStep;
pub use companion::companion;
pub use error::Error;
pub use features::{
    ClockData, Compression, CpuCache, CpuLocation, CpuTopology, EventGroup, Features, FileBuildId,
    MemoryTopology, NodeMemory, NumaNode,
};
pub use file::FilePosition;
pub use intel_pt::{IntelPtConfig, IntelPtInfo};
pub use loss::{Loss, LossKind};
pub use ordered_records::{Found, RawSample, Records};
pub use perf_data::PerfData;
pub use policy::asked_frequencies::{AskedFrequencies, AskedFrequency};
pub use policy::cgroups::Cgroups;
pub use policy::files::{FilePlace, is_memory};
pub use policy::machine::{
    BlockDevice, Interrupt, Machine, MachineCpu, MachineIdleState, MachineNode, MemoryRange, NetworkDevice,
    OpenDescriptor,
};
pub use policy::numa::Numa;
pub use policy::pauses::{Pause, Pauses, TraceOf, Turn};
pub use policy::schedule::{LeaveReason, Priority, Run, Runs, Schedule};
pub use policy::slice::{AuxPart, CpuTimes, Renames, SliceNote, SlicePlan};
pub use policy::thread_names::ThreadNames;
pub use record::{
    AuxtraceError, BuildIdRecord, Counter, CounterRead, DataSource, Distance, IdPlace, IdPlaces, MemoryLevel,
    Mmap, OffCpuSample, Record, Sample, SystemCall, SystemCallStep, TimedRecord, Weight, kind_name,
    return_addresses,
};
#[doc(hidden)]
pub use tracepoint::fuzz_formats;
pub use tracepoint::{FieldValue, TracepointField, TracepointFormat};
