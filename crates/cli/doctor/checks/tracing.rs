//! tracefs and the tracepoints of the records that explain a wait.

use crate::args::Preset;
use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::machine::tracepoints::Tracepoints;
use crate::record::preset::tracepoints as requested;

/// Tracepoints that a report uses where they are recorded (docs/recording.md), and what is unknown without them.
const USED: [(&str, &str); 8] = [
    ("raw_syscalls:sys_enter", "what a wait was for, requests of servers"),
    ("raw_syscalls:sys_exit", "what a call returned"),
    ("sched:sched_migrate_task", "who moved a thread"),
    ("exceptions:page_fault_user", "page faults by address"),
    ("irq_vectors:local_timer_entry", "which vector interrupted"),
    ("ipi:ipi_send_cpu", "the sender of an IPI (Linux 6.4)"),
    ("block:block_rq_issue", "the request of a disk wait"),
    ("tcp:tcp_retransmit_skb", "retransmissions"),
];

/// Whether tracepoints can be looked up.
pub(super) fn tracefs(machine: &Examination) -> Finding {
    const CHECK: &str = "tracefs";
    if Tracepoints::of(&machine.tree).is_some() {
        return Finding::fine(CHECK, "tracefs is mounted and can be read");
    }
    let means = "perf cannot look up the tracepoints that record requests";
    let is_there = machine.tree.has("sys/kernel/tracing");
    let (finding, mend) = if machine.container.is_some() {
        (
            "the container has no tracefs",
            "docker run -v /sys/kernel/tracing:/sys/kernel/tracing …; Kubernetes: a hostPath volume",
        )
    } else if is_there && machine.privileges.is_plain_user() {
        ("tracefs cannot be read by this user", "sudo tailtrace record -- ./program")
    } else if is_there {
        ("tracefs is not mounted", "sudo mount -t tracefs nodev /sys/kernel/tracing")
    } else {
        ("the kernel has no tracefs", "it was built without CONFIG_TRACING: take the distribution's kernel")
    };
    Finding::of(Level::Stops, CHECK, finding, means).mended_by(mend)
}

/// Whether the tracepoints are there that record requests, and those that reports use.
pub(super) fn tracepoints(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "tracepoints";
    let there = Tracepoints::of(&machine.tree)?;
    let lost: Vec<&str> = requested(Preset::Light).into_iter().filter(|event| !there.have(event)).collect();
    let unused: Vec<&(&str, &str)> = USED.iter().filter(|(event, _)| !there.have(event)).collect();
    let build = "the kernel was built without them: take the distribution's kernel, or a newer one";
    Some(if !lost.is_empty() {
        let finding = format!("the kernel has no {}", lost.join(", "));
        let means = "record leaves them out: when threads were off their CPU, why, or what interrupted them is unknown";
        Finding::of(Level::Warning, CHECK, finding, means).mended_by(build)
    } else if !unused.is_empty() {
        let names: Vec<&str> = unused.iter().map(|(event, _)| *event).collect();
        let unknown: Vec<&str> = unused.iter().map(|(_, unknown)| *unknown).collect();
        let means = format!("a report cannot show {}", unknown.join("; "));
        Finding::of(Level::Note, CHECK, format!("the kernel has no {}", names.join(", ")), means)
            .mended_by(build)
    } else {
        Finding::fine(CHECK, "the kernel has all tracepoints that reports use")
    })
}
