use model::CallLayer;

use super::*;
use crate::calls::CallReport;

/// `work` calls the kernel: a futex call of 11.5 us, 8.2 of them in handlers (1.2 of 2 us typical), and a fault of 4 us with 1 us.
fn tree() -> CallTree {
    let row = |parent: Option<usize>, name: &str, layer, recording: &str, own, typical| CallReport {
        parent,
        name: name.to_owned(),
        layer,
        recording: recording.to_owned(),
        self_ns: own,
        typical_self_ns: typical,
        calls: 1,
    };
    let kernel = CallLayer::Kernel;
    let nodes = vec![
        row(None, "work", CallLayer::User, "", 34_500, 8_000),
        row(Some(0), "kernel.syscall.futex", kernel, "", 100, 0),
        row(Some(1), "entry_SYSCALL_64", kernel, "", 3_200, 800),
        row(Some(2), "perf_trace_sys_enter", kernel, "raw_syscalls:sys_enter", 200, 200),
        row(Some(3), "perf_tp_event", kernel, "raw_syscalls:sys_enter", 5_000, 600),
        row(Some(2), "perf_trace_sys_exit", kernel, "raw_syscalls:sys_exit", 3_000, 400),
        row(Some(0), "kernel.page-fault.minor", kernel, "", 0, 0),
        row(Some(6), "perf_trace_x86_exceptions", kernel, "exceptions:page_fault_*", 1_000, 0),
        row(Some(6), "exc_page_fault", kernel, "", 3_000, 0),
    ];
    CallTree { nodes, stretches: Vec::new() }
}

#[test]
fn the_recording_is_a_part_of_each_cause() {
    let tree = tree();
    let recording = Recording::of(&tree).expect("kernel functions");
    assert_eq!((recording.own_ns, recording.typical_ns), (9_200, 1_200));
    let causes: Vec<(&str, u64)> =
        recording.causes.iter().map(|(cause, own)| (cause.as_str(), *own)).collect();
    assert_eq!(causes, [("kernel.page-fault.minor", 1_000), ("kernel.syscall.futex", 8_200)]);
    let events: Vec<(&str, u64)> =
        recording.events.iter().map(|(event, own)| (event.as_str(), *own)).collect();
    let expected = [
        ("raw_syscalls:sys_enter", 5_200),
        ("raw_syscalls:sys_exit", 3_000),
        ("exceptions:page_fault_*", 1_000),
    ];
    assert_eq!(events, expected);
}

/// A cause without functions, as records show it, does not mean that the recording took nothing.
#[test]
fn nothing_is_said_where_no_kernel_function_is_known() {
    let mut tree = tree();
    tree.nodes.truncate(2);
    assert_eq!(Recording::of(&tree), None);
}
