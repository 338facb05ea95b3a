//! The CPUs: model, flags, which are online, isolated, siblings; how they are clocked and how they idle.
//!
//! Source: Documentation/ABI/testing/sysfs-devices-system-cpu, admin-guide/pm/cpuidle, admin-guide/pm/cpufreq,
//! `/proc/cpuinfo` (`arch/x86/kernel/cpu/proc.c`).

use std::collections::BTreeSet;

use model::{Cpu, CpuList};

use super::tree::{Tree, numbered};

/// Where the kernel describes the CPUs.
pub(crate) const CPUS: &str = "sys/devices/system/cpu";

/// What `/proc/cpuinfo` says of the first CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuModel {
    /// `GenuineIntel`, `AuthenticAMD`; empty on other architectures.
    pub(crate) vendor: String,
    flags: BTreeSet<String>,
}

impl CpuModel {
    /// The model of the machine's first CPU.
    pub(crate) fn of(tree: &Tree) -> CpuModel {
        let text = tree.text("proc/cpuinfo").unwrap_or_default();
        let value = |key: &str| {
            let found = text.lines().filter_map(|line| line.split_once(':'));
            found.into_iter().find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
        };
        let flags = value("flags").unwrap_or_default();
        CpuModel {
            vendor: value("vendor_id").unwrap_or_default(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Whether the CPU has the feature that `/proc/cpuinfo` calls `flag`.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }
}

/// The CPUs that the kernel lists at `path`; none where there is no such list.
pub(crate) fn listed(tree: &Tree, path: &str) -> BTreeSet<u32> {
    let list = tree.text(path).and_then(|text| CpuList::parse(&text)).unwrap_or_default();
    list.iter().map(|Cpu(cpu)| cpu).collect()
}

/// The CPUs that run; at least one.
pub(crate) fn online(tree: &Tree) -> BTreeSet<u32> {
    let cpus = listed(tree, &format!("{CPUS}/online"));
    if cpus.is_empty() { BTreeSet::from([0]) } else { cpus }
}

/// The CPUs that the scheduler leaves alone (`isolcpus=`, or an isolated partition of cpusets).
pub(crate) fn isolated(tree: &Tree) -> BTreeSet<u32> {
    listed(tree, &format!("{CPUS}/isolated"))
}

/// The CPUs without a timer tick while one task runs (`nohz_full=`).
pub(crate) fn without_tick(tree: &Tree) -> BTreeSet<u32> {
    // The kernel writes `(null)` where there are none.
    listed(tree, &format!("{CPUS}/nohz_full"))
}

/// The CPUs of the core that `cpu` is one of, itself among them.
pub(crate) fn siblings(tree: &Tree, cpu: u32) -> BTreeSet<u32> {
    listed(tree, &format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"))
}

/// How the frequency of `cpu` is chosen: `performance`, `powersave`, `schedutil`; `None` where nothing chooses.
pub(crate) fn governor(tree: &Tree, cpu: u32) -> Option<String> {
    tree.text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"))
}

/// A state in which a CPU idles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdleState {
    /// `C1`, `C6`.
    pub(crate) name: String,
    /// Microseconds from the wake-up to the first instruction, at most, as the driver has it.
    pub(crate) exit_us: u64,
    /// Whether the governor may choose it.
    pub(crate) is_enabled: bool,
}

/// The idle states of `cpu`, by number.
pub(crate) fn idle_states(tree: &Tree, cpu: u32) -> Vec<IdleState> {
    let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
    let state = |number: u64| {
        let attribute = |name: &str| tree.text(&format!("{folder}/state{number}/{name}"));
        Some(IdleState {
            name: attribute("name")?,
            exit_us: attribute("latency")?.parse().ok()?,
            is_enabled: attribute("disable").is_none_or(|text| text == "0"),
        })
    };
    numbered(&tree.at(&folder), "state").into_iter().filter_map(state).collect()
}

/// CPUs as the kernel writes them: `0-3,8`.
pub(crate) fn as_list(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}
