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

/// 8.2 of the 11.5 us of the futex call, and 1 us of 40 us of faults, which is too little to say.
#[test]
fn a_cause_says_how_much_of_it_is_tracing() {
    let recording = Recording::of(&tree()).expect("kernel functions");
    let cause = |name: &str, duration_ns, detail: &str| CauseTotal {
        cause: name.to_owned(),
        duration_ns,
        typical_ns: 0,
        excess_ns: 0,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: detail.to_owned(),
    };
    let words = |cause: &CauseTotal| particulars(cause, Some(&recording), TimeUnit::Nanoseconds);
    let futex = cause("kernel.syscall.futex", 11_500, "FUTEX_WAKE");
    assert_eq!(words(&futex), "FUTEX_WAKE; 8.20 us of its 11.5 us is tracing");
    assert_eq!(particulars(&futex, None, TimeUnit::Nanoseconds), "FUTEX_WAKE");
    let faults = cause("kernel.page-fault.minor", 40_000, "");
    assert_eq!(words(&faults), "");
}

/// Two outliers of 46 and 23 us with 9.2 us each, 18.4 of 69 us; typical 1.2 of 8 us each. What reports need has no advice.
#[test]
fn all_outliers_together_name_the_event_that_took_most() {
    let outlier = |duration_ns| OutlierReport {
        duration_ns,
        baseline_mean_ns: Some(8_000),
        calls: tree(),
        ..OutlierReport::default()
    };
    let unknown = OutlierReport { duration_ns: 1_000_000, ..OutlierReport::default() };
    let all = [outlier(46_000), outlier(23_000), unknown];
    assert_eq!(
        of_all(&all, TimeUnit::Nanoseconds),
        "27 % of the time of 2 outliers, 15 % of that of typical intervals; most of it for raw_syscalls:sys_enter (10.4 us, which \
         record --preset light leaves out)"
    );
    assert_eq!(of_all(&all[2..], TimeUnit::Nanoseconds), "");
    assert_eq!((left_out_by("sched:sched_switch"), left_out_by("perf")), ("", ""));
}
