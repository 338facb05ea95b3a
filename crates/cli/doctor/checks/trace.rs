//! Intel PT itself: whether it is there, and what its trace can hold.
//!
//! Source: perf-intel-pt(1); Intel SDM, volume 3, "Intel Processor Trace", CPUID leaf 14H; the `kvm_intel` parameter `pt_mode`.

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::machine::pausing;
use crate::machine::pt::Feature;

/// Whether the kernel offers Intel PT, and if not, why.
pub(super) fn pt(machine: &Examination) -> Finding {
    const CHECK: &str = "pt";
    if let Some(pt) = &machine.pt {
        let filters = report::counted(pt.address_ranges, "address filter");
        return Finding::fine(CHECK, format!("Intel PT is there, with {filters}"));
    }
    let missing = |finding: &str, means: &str| {
        let means = format!("record does without: switches, system calls and samples, no flow. {means}");
        Finding::of(Level::Warning, CHECK, finding, means)
    };
    let vendor = machine.cpu.vendor.as_str();
    if vendor != "GenuineIntel" {
        let vendor = if vendor.is_empty() { "no x86 CPU" } else { vendor };
        missing(&format!("no Intel PT: the CPU is {vendor}"), "Only Intel CPUs have it")
    } else if machine.is_guest() {
        missing(
            "no Intel PT: the hypervisor does not pass it on",
            "The host decides: KVM can, most clouds offer it on bare metal only",
        )
        .mended_by("on the KVM host: modprobe -r kvm_intel && modprobe kvm_intel pt_mode=1")
        .mended_by("on the KVM host: qemu-system-x86_64 -cpu host,intel-pt=on …")
    } else if machine.cpu.has("intel_pt") {
        missing(
            "the CPU has Intel PT, but the kernel does not offer it",
            "The kernel is older than 4.1, or was built without perf's driver for it",
        )
        .mended_by("uname -r; zgrep CONFIG_CPU_SUP_INTEL /proc/config.gz")
    } else {
        missing(
            "no Intel PT: the CPU does not have it, or the firmware hides it",
            "Core CPUs have it since Broadwell (2014), Atoms since Goldmont",
        )
        .mended_by("look in the firmware's setup for \"Processor Trace\"")
    }
}

/// CYC packets.
pub(super) fn cycles(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "pt_cycles";
    let pt = machine.described_pt()?;
    Some(if pt.has(Feature::Cycles) {
        Finding::fine(CHECK, "CYC packets: time to the cycle")
    } else {
        let coarse = if pt.has(Feature::Mtc) { "MTC and TSC packets" } else { "TSC packets" };
        let means = format!("time is as coarse as {coarse}; record leaves cyc and cyc_thresh out");
        Finding::of(Level::Warning, CHECK, "no CYC packets", means)
    })
}

/// Several output regions.
pub(super) fn regions(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "pt_buffer";
    let pt = machine.described_pt()?;
    Some(if pt.has(Feature::SeveralRegions) {
        Finding::fine(CHECK, "the trace buffer may lie in several pieces of memory")
    } else {
        let means = "the kernel must find the whole buffer in one piece, and 64 MiB it seldom does: perf's \"failed to mmap\"";
        Finding::of(Level::Warning, CHECK, "the trace buffer must be one piece of physical memory", means)
            .mended_by("tailtrace record -m 8M,4M -- ./program")
    })
}

/// Packets beyond time and flow.
pub(super) fn packets(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "pt_packets";
    let pt = machine.described_pt()?;
    let all: [(bool, &str); 5] = [
        (pt.has(Feature::Mtc), "MTC (time where CYC is off)"),
        (pt.has(Feature::Ptwrite), "PTWRITE (--ptwrite)"),
        (pt.has(Feature::EventTrace), "Event Trace (vectors of interrupts)"),
        (pt.has(Feature::Power), "power events (C-states)"),
        (pt.has(Feature::TntDisable), "TNT disable"),
    ];
    let missing: Vec<&str> = all.iter().filter(|(has, _)| !has).map(|&(_, name)| name).collect();
    Some(if missing.is_empty() {
        Finding::fine(CHECK, "MTC, PTWRITE, Event Trace, power events and TNT disable")
    } else {
        let means = "records show interrupts and idle states as well; intervals come from another source than PTWRITE";
        Finding::of(Level::Note, CHECK, format!("no {}", missing.join(", ")), means)
    })
}

/// Pauses by other events.
pub(super) fn pauses(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "pt_pause";
    machine.pt.as_ref()?;
    Some(match pausing::missing(&machine.tree, machine.build.as_ref()) {
        None => Finding::fine(CHECK, "other events can pause and resume the trace (--pause, --resume)"),
        Some(missing) => {
            let means = "the trace has all of the time; record leaves --pause and --resume out";
            Finding::of(Level::Note, CHECK, format!("no event can pause the trace: {missing}"), means)
        }
    })
}
