//! Clocks, frequencies and idle states: what a figure of time can be trusted for, and what makes the machine slow at times.
//!
//! Source: `machine/clock.rs`, `arch/x86/kernel/tsc.c`, admin-guide/pm/intel_pstate, admin-guide/pm/cpuidle.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::machine::{clock, cpu};

/// Microseconds from which an idle state's exit counts in a slow request.
const SLOW_EXIT_US: u64 = 50;
/// Whether a hypervisor runs beneath.
pub(super) fn guest(machine: &Examination) -> Finding {
    const CHECK: &str = "guest";
    if !machine.is_guest() {
        return Finding::fine(CHECK, "no hypervisor runs below this kernel");
    }
    let product = machine.tree.text("sys/class/dmi/id/product_name");
    let kind = machine.tree.text("sys/hypervisor/type").or(product);
    let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
    let means = "when the host runs something else on a CPU, the guest's records do not show it: it looks like a stall";
    Finding::of(Level::Note, CHECK, format!("this is a guest of a hypervisor{kind}"), means)
        .mended_by("on the host: pin the virtual CPUs, and record there as well")
}

/// Whether TSC and perf time can be converted.
pub(super) fn perf_clock(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "clock";
    let current = clock::current(&machine.tree)?;
    let missing = clock::missing_flags(&machine.cpu);
    let means = "records cannot be matched with the trace where perf has no conversion from TSC: only a thread's own trace is \
                 explained. Without a trace, record uses CLOCK_MONOTONIC_RAW, which the interval file's clock pairs relate";
    let warning = |finding: String| Finding::of(Level::Warning, CHECK, finding, means);
    Some(if machine.cpu.vendor.is_empty() {
        Finding::fine(CHECK, format!("the clock is {current}"))
    } else if !missing.is_empty() {
        warning(format!("the TSC is not invariant: the CPU has no {}", missing.join(" and no ")))
    } else if let Some(clock) = clock::of_hypervisor(&machine.tree) {
        warning(format!("perf's clock is {clock}, not the TSC"))
            .mended_by("boot the guest with no-kvmclock clocksource=tsc, if the host has an invariant TSC")
    } else if current == "tsc" {
        Finding::fine(CHECK, "the clock is an invariant TSC")
    } else {
        warning(format!("the clock is {current}: the kernel found the TSC unstable")).mended_by(
            "sudo dmesg | grep -i tsc    # why; then update the firmware, or boot with tsc=reliable",
        )
    })
}

/// Whether the frequency changes with load.
pub(super) fn governor(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "governor";
    let mut cpus: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for &cpu in &machine.online {
        if let Some(governor) = cpu::governor(&machine.tree, cpu) {
            cpus.entry(governor).or_default().insert(cpu);
        }
    }
    if cpus.is_empty() {
        return None;
    }
    let others: Vec<String> = cpus
        .iter()
        .filter(|(governor, _)| *governor != "performance")
        .map(|(governor, cpus)| format!("{governor} on CPUs {}", cpu::as_list(cpus)))
        .collect();
    Some(if others.is_empty() {
        Finding::fine(CHECK, "the frequency governor is performance on all CPUs")
    } else {
        let means = "a CPU that was idle begins at a low frequency: the same work takes longer";
        Finding::of(Level::Warning, CHECK, format!("the frequency governor is {}", others.join(", ")), means)
            .mended_by("sudo cpupower frequency-set -g performance")
    })
}

/// Whether CPUs sleep so deeply that it shows.
pub(super) fn idle(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "idle_states";
    let states = machine.online.iter().flat_map(|&cpu| cpu::idle_states(&machine.tree, cpu));
    let deepest = states.filter(|state| state.is_enabled).max_by_key(|state| state.exit_us)?;
    let (name, exit) = (&deepest.name, deepest.exit_us);
    Some(if exit >= SLOW_EXIT_US {
        let means = format!("a wake-up of an idle CPU takes up to {exit} us longer");
        Finding::of(
            Level::Note,
            CHECK,
            format!("CPUs idle as deep as {name} (exit latency {exit} us)"),
            means,
        )
        .mended_by(format!("sudo cpupower idle-set -D {}    # until the next boot", SLOW_EXIT_US - 1))
    } else {
        Finding::fine(CHECK, format!("the deepest idle state is {name} (exit latency {exit} us)"))
    })
}

/// Whether CPUs are of two kinds.
pub(super) fn hybrid(machine: &Examination) -> Finding {
    const CHECK: &str = "hybrid";
    let cpus =
        |kind: &str| cpu::listed(&machine.tree, &format!("sys/bus/event_source/devices/cpu_{kind}/cpus"));
    let (fast, small) = (cpus("core"), cpus("atom"));
    if small.is_empty() {
        Finding::fine(CHECK, "all CPUs are of one kind")
    } else {
        let (fast, small) = (cpu::as_list(&fast), cpu::as_list(&small));
        let means =
            "the same work takes longer on an efficiency core; a moved thread can change its kind of core";
        Finding::of(
            Level::Note,
            CHECK,
            format!("CPUs {fast} are performance cores, CPUs {small} efficiency cores"),
            means,
        )
        .mended_by(format!("taskset -c {fast} ./program"))
    }
}
