//! What the machine offers to a recording: record requests nothing that perf would refuse.

use std::path::Path;

use crate::machine::clock;
use crate::machine::cpu::CpuModel;
use crate::machine::kcore::Kcore;
use crate::machine::privileges::Privileges;
use crate::machine::pt::{self, Pt};
use crate::machine::tracepoints::Tracepoints;
use crate::machine::tree::{Tree, names};

/// What is there. Where nothing is known, all counts as there, and perf decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offered {
    /// What Intel PT can do, where it describes itself.
    pub(crate) pt: Option<Pt>,
    /// Whether there is no Intel PT.
    no_pt: bool,
    /// Whether a recording holds the conversion from TSC to perf time.
    has_conversion: bool,
    /// The event of samples, where the CPU's cycles can be counted.
    cycles: Option<&'static str>,
    /// Whether the kernel's code cannot be copied.
    no_kcore: bool,
    tracepoints: Option<Tracepoints>,
    /// Whether the CPU counts slots of the top-down method; unknown where no `cpu` is described.
    has_top_down: Option<bool>,
}

/// Where the kernel shows the CPU's counters to perf, where all CPUs are of one kind.
const COUNTERS: &str = "sys/bus/event_source/devices/cpu";

impl Offered {
    /// What the machine below `root` offers.
    pub(crate) fn below(root: &Path) -> Offered {
        Tree::new(root).map(|tree| Offered::by(&tree)).unwrap_or_default()
    }

    /// The same of a tree.
    pub(crate) fn by(tree: &Tree) -> Offered {
        Offered {
            pt: Pt::of(tree).filter(|_| !Pt::is_undescribed(tree)),
            no_pt: !tree.has(pt::DEVICE),
            has_conversion: clock::is_published(tree, &CpuModel::of(tree)),
            cycles: names(&tree.at("sys/bus/event_source/devices"))
                .iter()
                .any(|device| device == "cpu" || device == "cpu_core" || device.starts_with("armv8_"))
                .then_some("cycles"),
            no_kcore: Kcore::of(tree, &Privileges::of(tree)) != Kcore::Readable,
            tracepoints: Tracepoints::of(tree),
            has_top_down: tree.has("sys/bus/event_source/devices").then(|| {
                ["slots", "topdown-retiring", "topdown-be-bound"]
                    .iter()
                    .all(|event| tree.has(&format!("{COUNTERS}/events/{event}")))
            }),
        }
    }

    /// Whether the kernel offers Intel PT.
    pub(crate) fn has_pt(&self) -> bool {
        !self.no_pt
    }

    /// Whether a recording holds the conversion from TSC to perf time.
    pub(crate) fn has_conversion(&self) -> bool {
        self.has_conversion
    }

    /// The event whose samples show where CPUs are: a guest without counters has a timer only.
    pub(crate) fn sampling(&self) -> &'static str {
        self.cycles.unwrap_or("cpu-clock")
    }

    /// Whether perf can copy the kernel's code.
    pub(crate) fn has_kcore(&self) -> bool {
        !self.no_kcore
    }

    /// Whether the CPU has the counters of the top-down method's first level (Ice Lake and later).
    pub(crate) fn has_top_down(&self) -> bool {
        self.has_top_down.unwrap_or(true)
    }

    /// Whether the kernel has the tracepoint.
    pub(crate) fn has(&self, event: &str) -> bool {
        self.tracepoints.as_ref().is_none_or(|tracepoints| tracepoints.have(event))
    }
}
