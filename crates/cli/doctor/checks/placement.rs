//! Which CPUs are kept free, and what runs there in spite of it: interrupts, the timer tick, SMT siblings.
//!
//! Source: admin-guide/kernel-parameters (`isolcpus`, `nohz_full`), core-api/irq/irq-affinity.

use std::collections::BTreeSet;

use model::{Cpu, CpuList};

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::machine::cpu;
use crate::machine::tree::numbered;

/// How many interrupts are named.
const NAMED: usize = 8;

/// Whether isolated CPUs have no tick.
pub(super) fn isolation(machine: &Examination) -> Finding {
    const CHECK: &str = "isolation";
    let isolated = &machine.isolated;
    let ticking: BTreeSet<u32> = isolated.difference(&cpu::without_tick(&machine.tree)).copied().collect();
    let list = cpu::as_list(isolated);
    if isolated.is_empty() {
        let means = "any thread may run beside a critical one; a report names it";
        Finding::of(Level::Note, CHECK, "no CPU is isolated", means).mended_by(
            "boot with isolcpus=LIST nohz_full=LIST, and run the critical threads there by taskset",
        )
    } else if ticking.is_empty() {
        Finding::fine(CHECK, format!("CPUs {list} are isolated, and have no tick while one task runs"))
    } else {
        let means = "the timer interrupts the critical thread up to 1000 times a second";
        let ticking = cpu::as_list(&ticking);
        Finding::of(Level::Warning, CHECK, format!("isolated CPUs {ticking} keep their timer tick"), means)
            .mended_by(format!("boot with nohz_full={list}"))
    }
}

/// Whether devices interrupt isolated CPUs.
pub(super) fn interrupts(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "irq_affinity";
    if machine.isolated.is_empty() {
        return None;
    }
    let free: BTreeSet<u32> = machine.online.difference(&machine.isolated).copied().collect();
    let wrong: Vec<u64> =
        numbered(&machine.tree.at("proc/irq"), "").into_iter().filter(|irq| reaches(machine, *irq)).collect();
    Some(if wrong.is_empty() {
        Finding::fine(CHECK, "no device interrupts an isolated CPU")
    } else {
        let named: Vec<String> = wrong.iter().take(NAMED).map(|&irq| name(machine, irq)).collect();
        let more = wrong.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let means = "their handlers and softirqs run between the critical thread's instructions";
        let finding = format!("isolated CPUs serve the interrupts {}{more}", named.join(", "));
        let numbers: Vec<String> = wrong.iter().map(u64::to_string).collect();
        Finding::of(Level::Warning, CHECK, finding, means).mended_by(format!(
            "for irq in {}; do echo {} | sudo tee /proc/irq/$irq/smp_affinity_list; done",
            numbers.join(" "),
            cpu::as_list(&free)
        ))
    })
}

/// Whether the interrupt has a handler and goes to an isolated CPU.
fn reaches(machine: &Examination, irq: u64) -> bool {
    let list = |name: &str| machine.tree.text(&format!("proc/irq/{irq}/{name}"));
    // The effective list, where the kernel shows it, is what the interrupt controller does.
    let cpus = list("effective_affinity_list").or_else(|| list("smp_affinity_list"));
    let cpus = cpus.and_then(|text| CpuList::parse(&text)).unwrap_or_default();
    let is_used = machine.tree.text(&format!("sys/kernel/irq/{irq}/actions")).is_some();
    is_used && cpus.iter().any(|Cpu(cpu)| machine.isolated.contains(&cpu))
}

fn name(machine: &Examination, irq: u64) -> String {
    let actions = machine.tree.text(&format!("sys/kernel/irq/{irq}/actions")).unwrap_or_default();
    format!("{irq} ({actions})")
}

/// Whether two CPUs share a core.
pub(super) fn smt(machine: &Examination) -> Finding {
    const CHECK: &str = "smt";
    let siblings = |cpu: u32| cpu::siblings(&machine.tree, cpu);
    let isolated = &machine.isolated;
    let of_isolated = isolated.iter().flat_map(|&cpu| siblings(cpu));
    let loud: BTreeSet<u32> =
        of_isolated.filter(|cpu| !isolated.contains(cpu) && machine.online.contains(cpu)).collect();
    let shared = machine
        .online
        .iter()
        .any(|&cpu| siblings(cpu).iter().filter(|cpu| machine.online.contains(cpu)).count() > 1);
    if !loud.is_empty() {
        let loud = cpu::as_list(&loud);
        let means = "what runs on a sibling takes execution units and cache from the isolated CPU";
        Finding::of(
            Level::Warning,
            CHECK,
            format!("CPUs {loud} are SMT siblings of isolated CPUs, and not isolated"),
            means,
        )
        .mended_by(format!(
            "isolate CPUs {loud} as well, or: echo 0 | sudo tee /sys/devices/system/cpu/cpu{{{loud}}}/online"
        ))
    } else if shared {
        let means = "what runs on a sibling makes a CPU slower; a report names it";
        Finding::of(Level::Note, CHECK, "two CPUs share each core (SMT)", means)
            .mended_by("echo off | sudo tee /sys/devices/system/cpu/smt/control")
    } else {
        Finding::fine(CHECK, "no two CPUs share a core")
    }
}
