//! What is recorded beside the trace: few records, those that the bundled captures have, or all that reports can use.
//!
//! docs/recording.md says what each adds, and what it costs.

use crate::args::Preset;

/// The records that show why a thread was off its CPU, and what interrupted it.
const LIGHT: &[&str] = &["sched:sched_switch", "sched:sched_waking", "irq:*", "power:cpu_idle"];
/// What waits were for, page faults, and who sent or moved what. Not `irq_vectors:*`: the kernel refuses perf `irq_work_exit`
/// (`TRACE_EVENT_PERF_PERM` in `arch/x86/include/asm/trace/irq_vectors.h`).
const STANDARD: &[&str] = &[
    "sched:sched_migrate_task",
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
    "exceptions:*",
    "irq_vectors:local_timer_entry",
    "irq_vectors:local_timer_exit",
    "irq_vectors:reschedule_entry",
    "irq_vectors:reschedule_exit",
    "irq_vectors:call_function_entry",
    "irq_vectors:call_function_exit",
    "irq_vectors:call_function_single_entry",
    "irq_vectors:call_function_single_exit",
    "irq_vectors:thermal_apic_entry",
    "irq_vectors:thermal_apic_exit",
    "ipi:ipi_send_cpu",
    "ipi:ipi_send_cpumask",
    "tlb:tlb_flush",
];
/// Disks, in `full`, and in recordings without a trace.
pub(super) const DISKS: &[&str] = &["block:block_rq_issue", "block:block_rq_complete"];
/// Connections, frequencies.
const FULL: &[&str] = &["tcp:tcp_retransmit_skb", "power:cpu_frequency"];

/// The counters of the top-down method's first level, in one group, read when `slots` overflows (perf-list(1), "Topdown").
pub(crate) const TOP_DOWN: &str =
    "{slots,cycles,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}:S";

/// The tracepoints, those that cost least first.
pub(crate) fn tracepoints(preset: Preset) -> Vec<&'static str> {
    let sets: &[&[&str]] = match preset {
        Preset::Light => &[LIGHT],
        Preset::Standard => &[LIGHT, STANDARD],
        Preset::Full => &[LIGHT, STANDARD, DISKS, FULL],
    };
    sets.concat()
}

/// What follows the event on perf's command line: perf's own system calls, one for each buffer that it writes, would be
/// recorded as well.
pub(crate) fn option_after(event: &str) -> Option<&'static str> {
    event.starts_with("raw_syscalls:").then_some("--exclude-perf")
}
