//! The kernel's functions that work for the recording, and for which event they do.
//!
//! Sources: `include/linux/tracepoint.h` (`__traceiter_*` calls the probes of a tracepoint that has several), `include/trace/perf.h`
//! (`perf_trace_*`, one for each class of events), `include/trace/trace_events.h` (ftrace's), `kernel/events/core.c`,
//! `kernel/trace/trace_kprobe.c`, `trace_uprobe.c`, `arch/x86/events/`.

use std::borrow::Cow;

/// Handlers of classes of events (`DECLARE_EVENT_CLASS` in `include/trace/events/*.h`, `arch/x86/include/asm/trace/*.h`), by the class.
const CLASSES: [(&str, &str); 26] = [
    ("sys_enter", "raw_syscalls:sys_enter"),
    ("sys_exit", "raw_syscalls:sys_exit"),
    ("sched_switch", "sched:sched_switch"),
    ("sched_wakeup_template", "sched:sched_waking, sched:sched_wakeup"),
    ("sched_migrate_task", "sched:sched_migrate_task"),
    ("sched_stat_template", "sched:sched_stat_*"),
    ("sched_stat_runtime", "sched:sched_stat_runtime"),
    ("sched_process_template", "sched:sched_process_*"),
    ("sched_process_fork", "sched:sched_process_fork"),
    ("sched_process_exec", "sched:sched_process_exec"),
    ("x86_exceptions", "exceptions:page_fault_*"),
    ("x86_irq_vector", "irq_vectors:*"),
    ("irq_handler_entry", "irq:irq_handler_entry"),
    ("irq_handler_exit", "irq:irq_handler_exit"),
    ("softirq", "irq:softirq_*"),
    ("ipi_handler", "ipi:ipi_entry, ipi:ipi_exit"),
    ("ipi_raise", "ipi:ipi_raise"),
    ("ipi_send_cpu", "ipi:ipi_send_cpu"),
    ("ipi_send_cpumask", "ipi:ipi_send_cpumask"),
    ("cpu", "power:cpu_idle, power:cpu_frequency"),
    ("block_rq", "block:block_rq_issue, block:block_rq_insert"),
    ("block_rq_completion", "block:block_rq_complete"),
    ("mm_page_alloc", "kmem:mm_page_alloc"),
    ("tlb_flush", "tlb:tlb_flush"),
    ("signal_generate", "signal:signal_generate"),
    ("signal_deliver", "signal:signal_deliver"),
];

/// What else works for the recording, by how its name begins, with what it works for.
const BEGINNINGS: [(&str, &str); 26] = [
    ("__perf_event_task_sched_", "context switches"),
    ("perf_event_task_tick", "perf"),
    ("perf_event_mmap", "mappings"),
    ("perf_event_comm", "names of threads"),
    ("___perf_sw_event", "software events"),
    ("__perf_sw_event", "software events"),
    ("perf_swevent_", "software events"),
    ("intel_pt_", "intel_pt"),
    ("pt_event_", "intel_pt"),
    ("pt_config_", "intel_pt"),
    ("pt_buffer_", "intel_pt"),
    ("pt_handle_", "intel_pt"),
    ("pt_read_offset", "intel_pt"),
    ("pt_update_head", "intel_pt"),
    ("x86_pmu_", "counters"),
    ("intel_pmu_", "counters"),
    ("amd_pmu_", "counters"),
    ("perf_ibs_", "counters"),
    ("kprobe_dispatcher", "kprobes"),
    ("kretprobe_dispatcher", "kprobes"),
    ("kprobe_int3_handler", "kprobes"),
    ("uprobe_pre_sstep_notifier", "uprobes"),
    ("uprobe_notify_resume", "uprobes"),
    ("trace_event_raw_event_", "ftrace"),
    ("trace_event_buffer_", "ftrace"),
    ("perf_", "perf"),
];

/// What a program asks of counters of its own, by system calls.
const OF_PROGRAMS: [&str; 6] =
    ["perf_read", "perf_ioctl", "perf_compat_ioctl", "perf_poll", "perf_mmap", "perf_fasync"];

/// The event, or the part of the recording, that the kernel's `function` works for; `None` for the kernel's own work.
pub(crate) fn recorded_by(function: &str) -> Option<Cow<'static, str>> {
    if let Some(tracepoint) = function.strip_prefix("__traceiter_") {
        return Some(event_of(tracepoint));
    }
    let handler = function.strip_prefix("perf_trace_");
    if let Some(class) = handler.filter(|name| !name.starts_with("buf_") && *name != "run_bpf_submit") {
        return Some(event_of(class));
    }
    if OF_PROGRAMS.contains(&function) {
        return None;
    }
    let found = BEGINNINGS.iter().find(|(beginning, _)| function.starts_with(beginning));
    found.map(|&(_, what)| what.into())
}

fn event_of(class: &str) -> Cow<'static, str> {
    let known = CLASSES.iter().find(|(name, _)| *name == class);
    known.map_or_else(|| class.to_owned().into(), |&(_, event)| event.into())
}

/// What recording itself does in interrupts: it serves the trace buffer or a counter (`arch/x86/events/intel/pt.c`,
/// `arch/x86/events/intel/core.c`, `arch/x86/events/core.c`).
pub(crate) fn serves_the_recording(function: &str) -> bool {
    matches!(
        function,
        "intel_pt_interrupt"
            | "perf_event_nmi_handler"
            | "intel_pmu_handle_irq"
            | "intel_pmu_handle_irq_v4"
            | "perf_pending_irq"
            | "perf_output_wakeup"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_recording_say_their_event() {
        for (function, event) in [
            ("perf_trace_sys_enter", Some("raw_syscalls:sys_enter")),
            ("__traceiter_sched_switch", Some("sched:sched_switch")),
            ("perf_trace_sched_wakeup_template", Some("sched:sched_waking, sched:sched_wakeup")),
            // A class that no table knows is still an event's.
            ("perf_trace_ext4__page_op", Some("ext4__page_op")),
            ("perf_trace_run_bpf_submit", Some("perf")),
            ("perf_trace_buf_alloc", Some("perf")),
            ("__perf_event_task_sched_out", Some("context switches")),
            ("perf_output_sample", Some("perf")),
            ("pt_buffer_reset_markers", Some("intel_pt")),
            ("perf_read", None),
            ("__x64_sys_perf_event_open", None),
            ("trace_hardirqs_on", None),
            ("perfect_hash", None),
            ("schedule", None),
        ] {
            assert_eq!(recorded_by(function).as_deref(), event, "{function}");
        }
    }
}
