//! What the machine's Intel PT can do, as its driver shows it.
//!
//! Source: `arch/x86/events/intel/pt.c` (`PT_CAP`, each printed in hexadecimal), perf-intel-pt(1).

use std::collections::BTreeSet;

use super::tree::{Tree, names};

/// Where the kernel shows Intel PT to perf.
pub(crate) const DEVICE: &str = "sys/bus/event_source/devices/intel_pt";

/// What a trace can hold, or how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    /// CYC packets: time to the cycle.
    Cycles,
    /// MTC packets: time to some hundred cycles.
    Mtc,
    /// PTWRITE packets.
    Ptwrite,
    /// CFE and EVD packets: interrupts and exceptions by their vector.
    EventTrace,
    /// MWAIT, PWRE, PWRX and EXSTOP packets.
    Power,
    /// A trace without TNT packets.
    TntDisable,
    /// A table of several output regions: without it the buffer is one piece of physical memory.
    SeveralRegions,
    /// Returns traced one by one (`noretcomp`).
    EachReturn,
}

/// Features, and the driver's attribute of each.
const FEATURES: [(Feature, &str); 7] = [
    (Feature::Cycles, "psb_cyc"),
    (Feature::Mtc, "mtc"),
    (Feature::Ptwrite, "ptwrite"),
    (Feature::EventTrace, "event_trace"),
    (Feature::Power, "power_event_trace"),
    (Feature::TntDisable, "tnt_disable"),
    (Feature::SeveralRegions, "topa_multiple_entries"),
];

/// The capabilities of Intel PT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pt {
    pub(crate) features: BTreeSet<Feature>,
    /// A bit for each value that `cyc_thresh` may have.
    pub(crate) cycle_thresholds: u64,
    /// Address ranges that a filter may have.
    pub(crate) address_ranges: u64,
}

impl Pt {
    /// Intel PT of the machine; `None` where the kernel offers none. An attribute that is missing counts as absent.
    pub(crate) fn of(tree: &Tree) -> Option<Pt> {
        tree.has(DEVICE).then(|| {
            let cap = |name: &str| {
                let text = tree.text(&format!("{DEVICE}/caps/{name}")).unwrap_or_default();
                u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(0)
            };
            let there = FEATURES.iter().filter(|(_, name)| cap(name) != 0).map(|&(feature, _)| feature);
            let each_return = tree.has(&format!("{DEVICE}/format/noretcomp")).then_some(Feature::EachReturn);
            Pt {
                features: there.chain(each_return).collect(),
                cycle_thresholds: cap("cycle_thresholds"),
                address_ranges: cap("num_address_ranges"),
            }
        })
    }

    /// Whether the trace can have it.
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether the driver shows no capabilities at all: then nothing is known to be missing.
    pub(crate) fn is_undescribed(tree: &Tree) -> bool {
        names(&tree.at(&format!("{DEVICE}/caps"))).is_empty()
    }
}
