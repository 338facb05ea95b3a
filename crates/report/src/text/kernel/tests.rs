use super::*;
use crate::calls::CallReport;

const STYLE: Style = Style { width: 80, color: false, unicode: true };

/// An interval of 100 us: 40 us of futex calls from two places, of which 8 in a tracepoint; 1 us of a fault, which is too little.
fn outlier() -> OutlierReport {
    let row =
        |parent: Option<usize>, name: &str, recording: &str, self_ns, typical_self_ns, calls| CallReport {
            parent,
            name: name.to_owned(),
            layer: if parent.is_none() { CallLayer::User } else { CallLayer::Kernel },
            recording: recording.to_owned(),
            self_ns,
            typical_self_ns,
            calls,
        };
    let nodes = vec![
        row(None, "one", "", 30_000, 0, 1),
        row(None, "two", "", 29_000, 0, 1),
        row(Some(0), "kernel.syscall.futex", "", 0, 0, 0),
        row(Some(1), "kernel.syscall.futex", "", 0, 0, 0),
        row(Some(2), "entry", "", 100, 0, 1),
        row(Some(3), "entry", "", 100, 1_000, 1),
        row(Some(4), "do_futex", "", 19_800, 500, 1),
        row(Some(5), "do_futex", "", 11_000, 500, 2),
        row(Some(7), "perf_trace_sys_enter", "raw_syscalls:sys_enter", 1_000, 0, 1),
        row(Some(8), "perf_tp_event", "raw_syscalls:sys_enter", 7_000, 0, 1),
        row(Some(7), "short", "", 1_000, 0, 9),
        row(Some(0), "kernel.page-fault.minor", "", 0, 0, 0),
        row(Some(11), "exc_page_fault", "", 1_000, 0, 1),
        // Known by records alone.
        row(Some(0), "kernel.timer", "", 9_000, 0, 1),
    ];
    let calls = CallTree { nodes, stretches: Vec::new() };
    OutlierReport { duration_ns: 100_000, calls, ..OutlierReport::default() }
}

/// 19.9 and 20.1 us come to 40 us, 2 us typical; `do_futex` has 39.8 of them, so it stands in the row of its caller.
#[test]
fn functions_stand_below_their_cause() {
    let expected = [
        "     for   typical  calls  kernel functions",
        " 40.0 us   2.00 us         kernel.syscall.futex",
        " 40.0 us   2.00 us      3    entry > do_futex",
        " 8.00 us         -      1      perf_trace_sys_enter (tracing)",
        " 7.00 us         -      1        perf_tp_event",
    ];
    assert_eq!(lines(&outlier(), 80, STYLE), expected);
}

#[test]
fn nothing_is_said_where_no_kernel_function_is_known() {
    let mut outlier = outlier();
    outlier.calls.nodes.truncate(3);
    assert_eq!(lines(&outlier, 80, STYLE), Vec::<String>::new());
}

#[test]
fn a_long_chain_goes_on_below_itself() {
    let mut outlier = outlier();
    outlier.calls.nodes[4].name = "a_function_with_a_longer_name".to_owned();
    outlier.calls.nodes[5].name = "a_function_with_a_longer_name".to_owned();
    let shown = lines(&outlier, 60, STYLE);
    assert_eq!(shown[2], " 40.0 us   2.00 us      3    a_function_with_a_longer_name >");
    assert_eq!(shown[3], format!("{}do_futex", " ".repeat(31)));
}
