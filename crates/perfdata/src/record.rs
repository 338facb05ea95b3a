//! Records: what each one says, borrowed from the file and parsed when it is looked at.

mod counters;
mod data_source;
mod header;
mod id_index;
pub(crate) mod kinds;
mod label;
mod layout;
mod off_cpu;
pub(crate) mod parse;
mod sample;
mod system_call;
#[cfg(test)]
mod tests;
pub(crate) mod user;

use std::borrow::Cow;

use model::{Cpu, FileOffset, InodeId, PerfTime, Pid, ThreadId, TimeConversion};

pub use counters::{Counter, CounterRead, Weight};
pub use data_source::{DataSource, Distance, MemoryLevel};
pub(crate) use header::{HEADER_SIZE, Header};
pub use id_index::{IdPlace, IdPlaces};
pub(crate) use kinds::Counts;
pub use kinds::kind_name;
pub(crate) use label::{Label, Placed, Threads, What};
pub(crate) use layout::{Identity, Layout, Schema, cpu as cpu_number};
pub use off_cpu::OffCpuSample;
pub(crate) use sample::raw_at;
pub use sample::{Sample, return_addresses};
pub use system_call::{SystemCall, SystemCallStep};

use crate::aux::AuxFlags;
use crate::bytes::text;

/// What a SWITCH or `SWITCH_CPU_WIDE` record says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Whether the record's thread leaves its CPU, and not comes there.
    pub(crate) out: bool,
    /// Whether it could have gone on.
    pub(crate) preempt: bool,
    /// The thread that it exchanges the CPU with.
    pub(crate) other: Option<ThreadId>,
}

/// A record with what its sample fields or its trailer say.
#[derive(Clone, Debug)]
pub struct TimedRecord<'a> {
    /// Where it stands.
    pub offset: FileOffset,
    /// When; `None` for what perf wrote itself (mappings that existed before, AUXTRACE, …).
    pub time: Option<PerfTime>,
    /// On which CPU.
    pub cpu: Option<Cpu>,
    /// The thread that was on the CPU.
    pub thread: Option<ThreadId>,
    /// The event's id.
    pub id: Option<u64>,
    /// What it says.
    pub record: Record<'a>,
}

/// What a record says. Field names and meanings are the kernel's (`include/uapi/linux/perf_event.h`).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs)] // The kernel's names, each field by its meaning there.
pub enum Record<'a> {
    Sample(Sample<'a>),
    Mmap(Mmap<'a>),
    Mmap2(Mmap<'a>),
    Comm {
        thread: ThreadId,
        name: &'a [u8],
        exec: bool,
    },
    Fork {
        thread: ThreadId,
        parent: ThreadId,
        time: u64,
    },
    Exit {
        thread: ThreadId,
        parent: ThreadId,
        time: u64,
    },
    Lost {
        id: u64,
        lost: u64,
    },
    LostSamples {
        lost: u64,
    },
    Read {
        thread: ThreadId,
    },
    Throttle {
        time: u64,
        id: u64,
        stream_id: u64,
    },
    Unthrottle {
        time: u64,
        id: u64,
        stream_id: u64,
    },
    Switch {
        out: bool,
        preempt: bool,
    },
    SwitchCpuWide {
        out: bool,
        preempt: bool,
        other: ThreadId,
    },
    ItraceStart {
        thread: ThreadId,
    },
    Aux {
        offset: u64,
        size: u64,
        flags: AuxFlags,
    },
    AuxOutputHwId {
        hw_id: u64,
    },
    /// The user's part of the callchains of samples with this cookie, taken when the thread left the kernel (Linux 6.19): return
    /// addresses, eight bytes each, innermost first.
    CallchainDeferred {
        cookie: u64,
        callchain: &'a [u8],
    },
    Namespaces {
        thread: ThreadId,
    },
    Ksymbol {
        address: u64,
        len: u32,
        kind: u16,
        flags: u16,
        name: &'a [u8],
    },
    Bpf {
        kind: u16,
        flags: u16,
        id: u32,
        tag: [u8; 8],
    },
    Cgroup {
        id: u64,
        path: &'a [u8],
    },
    TextPoke {
        address: u64,
        old_bytes: &'a [u8],
        new_bytes: &'a [u8],
    },
    HeaderAttr,
    HeaderEventType,
    HeaderTracingData {
        size: u32,
    },
    HeaderBuildId(BuildIdRecord<'a>),
    HeaderFeature {
        feature: u64,
    },
    FinishedRound,
    FinishedInit,
    /// Which id of an event is of which CPU and thread.
    IdIndex {
        entries: u64,
        places: IdPlaces<'a>,
    },
    AuxtraceInfo {
        kind: u32,
    },
    Auxtrace {
        size: u64,
        aux_offset: u64,
        reference: u64,
        idx: u32,
        tid: u32,
        cpu: u32,
    },
    AuxtraceError(AuxtraceError<'a>),
    /// The threads that were recorded: those that it names, or all.
    ThreadMap {
        names_threads: bool,
    },
    CpuMap,
    StatConfig,
    Stat,
    StatRound,
    EventUpdate,
    TimeConv {
        conversion: Option<TimeConversion>,
    },
    Compressed {
        bytes: &'a [u8],
    },
    /// Of a type that is not known.
    Unknown {
        kind: u32,
    },
    /// Of a known type, but too short for it.
    Damaged {
        kind: u32,
    },
}

/// MMAP and MMAP2: a file appeared in an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mmap<'a> {
    /// Who mapped it; pid -1 is the kernel.
    pub thread: ThreadId,
    /// First address (AVMA).
    pub address: u64,
    /// Length in bytes.
    pub len: u64,
    /// Position in the file of its first byte.
    pub file_offset: u64,
    /// The file as the kernel names it.
    pub path: &'a [u8],
    /// Whether code may run there.
    pub executable: bool,
    /// The file's build ID where MMAP2 carries it; empty where not.
    pub build_id: &'a [u8],
    /// Which file of the recorded machine it was, where MMAP2 says that instead.
    pub inode: Option<InodeId>,
}

/// `HEADER_BUILD_ID`, also the entries of the feature section of build ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildIdRecord<'a> {
    /// The process; -1 for the kernel of the host.
    pub pid: Pid,
    /// The build ID.
    pub build_id: &'a [u8],
    /// The file.
    pub path: &'a [u8],
    /// Whether it is the kernel or a module.
    pub kernel: bool,
}

/// `AUXTRACE_ERROR`: perf noticed damage in the AUX stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuxtraceError<'a> {
    /// 1 = instruction trace.
    pub kind: u32,
    /// The decoder's error number.
    pub code: u32,
    /// On which CPU.
    pub cpu: Option<Cpu>,
    /// Which thread.
    pub thread: ThreadId,
    /// At which address.
    pub ip: u64,
    /// When.
    pub time: Option<PerfTime>,
    /// The message.
    pub message: &'a [u8],
}

impl AuxtraceError<'_> {
    /// The message as text.
    pub fn message_text(&self) -> String {
        text(self.message)
    }
}

impl<'a> Mmap<'a> {
    /// The path as text.
    pub fn path_text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.path)
    }
}
