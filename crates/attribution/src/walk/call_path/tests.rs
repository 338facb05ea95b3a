//! Paths from callchains and call sites, and their text.

use std::sync::Arc;

use model::{Pid, Tsc};

use super::{CallPath, Site};
use crate::testing::script::Table;

const PID: Pid = Pid(100);

fn table() -> Table {
    Table::new(&["__schedule", "futex_wait_queue", "__x86_indirect_thunk_rax"], &["main", "consume", "lock"])
}

/// A return address at the very start of a function belongs to the call before it: the last byte of the one before.
#[test]
fn a_callchain_is_turned_round_and_its_return_addresses_are_calls() {
    let table = table();
    let start = |name| table.start(name);
    let chain = [
        start("__schedule") + 8,
        start("futex_wait_queue") + 5,
        start("lock"),
        start("lock"),
        start("consume"),
    ];
    let path = CallPath::of_callchain(&chain, PID, Tsc(7), &table);
    let names = |sites: &[Site]| sites.iter().map(|site| site.function.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&path.kernel), ["futex_wait_queue", "__schedule"]);
    assert_eq!(names(&path.user), ["main", "consume", "lock"]);
    assert_eq!(path.kernel_functions().collect::<Vec<_>>(), ["__schedule", "futex_wait_queue"]);
    assert_eq!(path.tell_user().as_deref(), Some("lock() < consume() < main()"));
}

#[test]
fn thunks_and_repetitions_are_left_out() {
    let table = table();
    let ips = ["futex_wait_queue", "futex_wait_queue", "__x86_indirect_thunk_rax", "__schedule"];
    let path = CallPath::of(ips.map(|name| table.start(name)).into_iter(), PID, Tsc(0), &table);
    assert_eq!(path.kernel.len(), 2);
    assert!(path.user.is_empty() && path.tell_user().is_none());
}

#[test]
fn the_innermost_known_line_is_told() {
    let site = |name: &str, line: Option<&str>| Site {
        ip: 0,
        function: name.into(),
        line: line.map(Arc::from),
        library: false,
        collector: None,
    };
    let user = vec![
        site("main", Some("queue.c:120")),
        site("consume", Some("queue.c:88")),
        site("pthread_mutex_lock", None),
        site("__lll_lock_wait", None),
    ];
    let path = CallPath { user, ..CallPath::default() };
    let told = "__lll_lock_wait() < pthread_mutex_lock() < consume() at queue.c:88";
    assert_eq!(path.tell_user().as_deref(), Some(told));
}

/// Go keeps lines of its own runtime: the path into `futex()` is the same for every purpose of the sleep.
#[test]
fn who_sleeps_is_told_not_how() {
    let told = |functions: &[&str]| {
        let site = |name: &&str| Site {
            ip: 0,
            function: (*name).into(),
            line: Some(Arc::from("proc.go:1967")),
            library: false,
            collector: None,
        };
        let path = CallPath { user: functions.iter().map(site).collect(), ..CallPath::default() };
        path.tell_user().unwrap_or_default()
    };
    let parked = [
        "main.next",
        "runtime.chanrecv",
        "runtime.gopark",
        "runtime.mcall",
        "runtime.park_m",
        "runtime.schedule",
        "runtime.stoplockedm",
        "runtime.notesleep",
        "runtime.futexsleep",
    ];
    assert_eq!(told(&parked), "runtime.chanrecv() < main.next() at proc.go:1967");
    assert_eq!(told(&parked[5..]), "runtime.stoplockedm() at proc.go:1967");
    assert_eq!(told(&["runtime.futexsleep", "runtime.futex.abi0"]), "runtime.futex.abi0() at proc.go:1967");
}
