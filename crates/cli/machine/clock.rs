//! perf's clock: whether the kernel publishes how it follows from the TSC.
//!
//! Source: `arch/x86/events/core.c` (`arch_perf_update_userpage`: no conversion without a stable, native `sched_clock`),
//! `arch/x86/kernel/kvmclock.c` (a guest's `sched_clock` is the hypervisor's clock, whichever clock source is current).

use super::cpu::CpuModel;
use super::tree::Tree;

const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
/// Clocks of hypervisors: where there is one, `sched_clock` is it.
const GUEST_CLOCKS: [&str; 3] = ["kvm-clock", "hyperv_clocksource", "xen"];

/// The current clock source; `None` where the tree does not say.
pub(crate) fn current(tree: &Tree) -> Option<String> {
    tree.text(&format!("{FOLDER}/current_clocksource"))
}

/// The hypervisor's clock, which the kernel has or uses.
pub(crate) fn of_hypervisor(tree: &Tree) -> Option<String> {
    let available = tree.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let current = current(tree);
    let known = |name: &&str| GUEST_CLOCKS.iter().any(|clock| name.starts_with(clock));
    available.split_whitespace().chain(current.as_deref()).find(known).map(str::to_owned)
}

/// What an invariant TSC is called in `/proc/cpuinfo`, as far as the CPU has not got it.
pub(crate) fn missing_flags(cpu: &CpuModel) -> Vec<&'static str> {
    ["constant_tsc", "nonstop_tsc"].into_iter().filter(|flag| !cpu.has(flag)).collect()
}

/// Whether a perf.data of this machine holds the conversion from TSC to perf time.
pub(crate) fn is_published(tree: &Tree, cpu: &CpuModel) -> bool {
    !cpu.vendor.is_empty()
        && missing_flags(cpu).is_empty()
        && current(tree).is_some_and(|clock| clock == "tsc")
        && of_hypervisor(tree).is_none()
}
