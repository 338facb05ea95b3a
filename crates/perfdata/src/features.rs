//! The feature sections: what perf wrote down about the machine and the recording.
//!
//! Each section stands alone: a damaged one is a diagnostic, its facts are `None`.
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` and `tools/perf/util/header.c`.

mod machine;
mod sections;

use std::ops::Range;

use model::{BuildId, Diagnostic, FileOffset, PerfTime, Pid};

pub use machine::{CpuCache, CpuLocation, CpuTopology, MemoryTopology, NodeMemory, NumaNode};

use crate::attr::Attr;
use crate::header::Header;

/// Numbers of the sections (`HEADER_*`).
mod bit {
    pub(super) const BUILD_ID: u32 = 2;
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OS_RELEASE: u32 = 4;
    pub(super) const VERSION: u32 = 5;
    pub(super) const ARCH: u32 = 6;
    pub(super) const NRCPUS: u32 = 7;
    pub(super) const CPU_DESC: u32 = 8;
    pub(super) const CPU_ID: u32 = 9;
    pub(super) const TOTAL_MEM: u32 = 10;
    pub(super) const COMMAND_LINE: u32 = 11;
    pub(super) const EVENT_DESC: u32 = 12;
    pub(super) const CPU_TOPOLOGY: u32 = 13;
    pub(super) const NUMA_TOPOLOGY: u32 = 14;
    pub(super) const PMU_MAPPINGS: u32 = 16;
    pub(super) const GROUP_DESC: u32 = 17;
    pub(super) const CACHE: u32 = 20;
    pub(super) const SAMPLE_TIME: u32 = 21;
    pub(super) const MEM_TOPOLOGY: u32 = 22;
    pub(super) const CLOCK_ID: u32 = 23;
    pub(super) const BPF_PROG: u32 = 25;
    pub(super) const BPF_BTF: u32 = 26;
    pub(super) const COMPRESSED: u32 = 27;
    pub(super) const CPU_PMU_CAPS: u32 = 28;
    pub(super) const CLOCK_DATA: u32 = 29;
    pub(super) const HYBRID_TOPOLOGY: u32 = 30;
}

/// The section of tracepoint formats, read by [`crate::tracepoint`].
pub(crate) const TRACING_DATA: u32 = 1;
/// The section that lists the AUXTRACE records.
pub(crate) const AUXTRACE: u32 = 18;
/// The sections that name files, the machine and the command line.
pub(crate) const BUILD_ID_SECTION: u32 = 2;
pub(crate) const HOSTNAME_SECTION: u32 = 3;
pub(crate) const COMMAND_LINE_SECTION: u32 = 11;
/// The section that names the events.
pub(crate) const EVENT_DESCRIPTIONS: u32 = 12;
/// The section that says that the file is `data` of a directory.
pub(crate) const DIR_FORMAT: u32 = 24;
/// The section that says how COMPRESSED records are packed.
pub(crate) const COMPRESSED: u32 = 27;

/// What the feature sections say; `None` or empty where a section is missing or damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// The machine's name.
    pub hostname: Option<String>,
    /// The kernel's release (`uname -r`).
    pub os_release: Option<String>,
    /// perf's version.
    pub perf_version: Option<String>,
    /// The architecture (`uname -m`).
    pub arch: Option<String>,
    /// The processor's name.
    pub cpu_description: Option<String>,
    /// Vendor, family, model, stepping: `GenuineIntel,6,94,3`.
    pub cpu_id: Option<String>,
    /// CPUs that were on.
    pub cpus_online: Option<u32>,
    /// CPUs that the machine can have.
    pub cpus_available: Option<u32>,
    /// Memory in KiB.
    pub total_memory_kib: Option<u64>,
    /// perf's command line, one entry an argument.
    pub command_line: Option<Vec<String>>,
    /// Which CPUs share a core, a die, a socket.
    pub topology: Option<CpuTopology>,
    /// The NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Which memory is whose.
    pub memory: Option<MemoryTopology>,
    /// The caches.
    pub caches: Vec<CpuCache>,
    /// Build ids by file.
    pub build_ids: Vec<FileBuildId>,
    /// Event types by the name of their unit: (`intel_pt`, 8).
    pub pmu_mappings: Vec<(String, u32)>,
    /// Groups of events.
    pub groups: Vec<EventGroup>,
    /// Capabilities of the core's counters.
    pub cpu_capabilities: Vec<(String, String)>,
    /// Units of a hybrid processor and their CPUs: (`cpu_core`, `0-15`).
    pub hybrid: Vec<(String, String)>,
    /// Resolution in nanoseconds of the clock given by `-k`.
    pub clock_resolution_ns: Option<u64>,
    /// The same moment on the wall clock and on the clock given by `-k`.
    pub clock_data: Option<ClockData>,
    /// Times of the first and the last sample.
    pub sample_time: Option<Range<PerfTime>>,
    /// How records are compressed.
    pub compression: Option<Compression>,
    /// How many BPF programs are described.
    pub bpf_programs: Option<u32>,
    /// How many BPF type descriptions there are.
    pub bpf_types: Option<u32>,
    /// The numbers of all sections that the file has.
    pub present: Vec<u32>,
}

/// A file and its build ID.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileBuildId {
    /// The process; -1 for the kernel of the host.
    pub pid: Pid,
    /// The file as the recording named it.
    pub path: String,
    /// Its identity.
    pub build_id: BuildId,
    /// Whether it is the kernel or a module.
    pub kernel: bool,
}

/// A group of events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventGroup {
    /// Its name.
    pub name: String,
    /// The first attribute of the group.
    pub leader: u32,
    /// How many attributes it has.
    pub members: u32,
}

/// Two clocks read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockData {
    /// The clock of the records (`CLOCK_*`).
    pub clock_id: u32,
    /// `CLOCK_REALTIME` in nanoseconds.
    pub wall_clock_ns: u64,
    /// The records' clock in nanoseconds.
    pub clock_ns: u64,
}

/// How COMPRESSED records are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compression {
    /// 1 = zstd.
    pub kind: u32,
    /// The level.
    pub level: u32,
    /// Ratio reached.
    pub ratio: u32,
    /// Length of a ring buffer in bytes: the most that one piece unpacks to.
    pub mmap_len: u32,
}

impl Features {
    /// The unit that events of this type belong to.
    pub fn pmu_name(&self, kind: u32) -> Option<&str> {
        self.pmu_mappings.iter().find(|mapping| mapping.1 == kind).map(|mapping| mapping.0.as_str())
    }

    /// Reads all sections of `file`, and adds names to `attrs`.
    pub(crate) fn parse(
        file: &[u8],
        header: &Header,
        attrs: &mut Vec<Attr>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Features {
        let mut features = Features::default();
        for (bit, section) in &header.features {
            if !features.present.contains(bit) {
                features.present.push(*bit);
            }
            let bytes = &file[section.clone()];
            if features.parse_section(*bit, bytes, attrs).is_none() {
                let what =
                    format!("the feature section {} is damaged: not all of it could be read", name(*bit));
                diagnostics.push(Diagnostic::warning(what).at_offset(FileOffset(section.start as u64)));
            }
        }
        features
    }
}

/// perf's name of a section.
fn name(bit: u32) -> String {
    let known = match bit {
        bit::BUILD_ID => "BUILD_ID",
        bit::HOSTNAME => "HOSTNAME",
        bit::OS_RELEASE => "OSRELEASE",
        bit::VERSION => "VERSION",
        bit::ARCH => "ARCH",
        bit::NRCPUS => "NRCPUS",
        bit::CPU_DESC => "CPUDESC",
        bit::CPU_ID => "CPUID",
        bit::TOTAL_MEM => "TOTAL_MEM",
        bit::COMMAND_LINE => "CMDLINE",
        bit::EVENT_DESC => "EVENT_DESC",
        bit::CPU_TOPOLOGY => "CPU_TOPOLOGY",
        bit::NUMA_TOPOLOGY => "NUMA_TOPOLOGY",
        bit::PMU_MAPPINGS => "PMU_MAPPINGS",
        bit::GROUP_DESC => "GROUP_DESC",
        bit::CACHE => "CACHE",
        bit::SAMPLE_TIME => "SAMPLE_TIME",
        bit::MEM_TOPOLOGY => "MEM_TOPOLOGY",
        bit::CLOCK_ID => "CLOCKID",
        bit::BPF_PROG => "BPF_PROG_INFO",
        bit::BPF_BTF => "BPF_BTF",
        bit::COMPRESSED => "COMPRESSED",
        bit::CPU_PMU_CAPS => "CPU_PMU_CAPS",
        bit::CLOCK_DATA => "CLOCK_DATA",
        bit::HYBRID_TOPOLOGY => "HYBRID_TOPOLOGY",
        bit => return bit.to_string(),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests;
