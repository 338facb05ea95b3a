//! Spans and events such as Tokio makes for its tasks, and the phases that come of them. With Tokio itself: `tests/tasks.rs` of the root.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../tracegen/tests/marks/interval_file.rs"]
mod interval_file;

use std::thread;

use interval_file::{Mark, read};
use tailtrace_marks as marks;
use tailtrace_marks_tracing::MarksLayer;
use tracing::{Dispatch, Span, dispatcher, info_span, trace, trace_span};
use tracing_subscriber::layer::SubscriberExt as _;

/// A task's span, as `tokio::spawn` in line `line` of a file makes it.
fn spawn(name: &str, line: u32) -> Span {
    trace_span!(target: "tokio::task", parent: None, "runtime.spawn", kind = %"task", task.name = %name,
        task.id = 3_u64, loc.file = "/home/user/shop/src/main.rs", loc.line = line, loc.col = 9_u32)
}

fn waker(operation: &'static str, task: &Span) {
    let id = task.id().unwrap().into_u64();
    trace!(target: "tokio::task::waker", op = operation, task.id = id);
}

/// Runs it on another thread.
fn elsewhere(work: impl FnOnce() + Send) {
    let dispatch = dispatcher::get_default(Clone::clone);
    thread::scope(|scope| {
        scope.spawn(|| dispatcher::with_default(&dispatch, work));
    });
}

/// What the marks of a label say, in order of time: kind, and whether by the thread of the first one.
fn phases<'a>(marks: &'a [Mark], label: &str) -> Vec<(&'a str, bool)> {
    let mut own: Vec<&Mark> = marks.iter().filter(|mark| mark.label == label).collect();
    own.sort_by_key(|mark| mark.at);
    let kinds = own.iter().filter(|mark| mark.kind != "counter");
    kinds.map(|mark| (mark.kind, mark.tid == own[0].tid)).collect()
}

/// A task is polled twice, with a span of the program's own around its future, and is woken by another thread in between.
fn woken_elsewhere() {
    let (task, request) = (spawn("", 17), info_span!("request"));
    elsewhere(|| task.in_scope(|| request.in_scope(|| ())));
    waker("waker.clone", &task);
    waker("waker.wake", &task);
    waker("waker.wake_by_ref", &task);
    elsewhere(|| {
        task.in_scope(|| request.in_scope(|| ()));
        // The future is dropped.
        task.in_scope(|| drop(request));
    });
}

/// A task that wakes itself while it is polled, and in whose poll a span is entered twice.
fn woken_while_running() {
    let task = spawn("self", 18);
    task.in_scope(|| {
        let twice = info_span!("twice");
        twice.in_scope(|| ());
        twice.in_scope(|| waker("waker.wake_by_ref", &task));
    });
    task.in_scope(|| ());
}

/// Wake-ups that the filter keeps back: a poll on another thread shows that there was one.
fn woken_unseen() {
    let task = spawn("unseen", 19);
    task.in_scope(|| ());
    elsewhere(|| task.in_scope(|| ()));
}

#[test]
fn tasks_have_phases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.marks");
    marks::open(&path).unwrap();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(MarksLayer::new()));
    dispatcher::with_default(&dispatch, || {
        woken_elsewhere();
        woken_while_running();
        woken_unseen();
        trace_span!(target: "tokio::sync::mutex", "runtime.resource", kind = "Sync").in_scope(|| ());
        trace!(target: "tokio::task::waker", op = "waker.wake", task.id = 0_u64);
    });
    marks::close().unwrap();
    let marks = read(&path).marks;
    let task = [
        ("begin", true),
        ("ready", true),
        ("run", false),
        ("await", true),
        ("ready", true),
        ("run", false),
        ("end", true),
    ];
    assert_eq!(phases(&marks, "src/main.rs:17"), task);
    // It is first entered, and ends, on the workers.
    let request = [("begin", true), ("await", false), ("ready", false), ("run", false), ("end", false)];
    assert_eq!(phases(&marks, "request"), request);
    let own = ["begin", "ready", "run", "ready", "await", "run", "end"].map(|kind| (kind, true));
    assert_eq!(phases(&marks, "self"), own);
    assert_eq!(phases(&marks, "twice"), [("begin", true), ("ready", true), ("await", true), ("end", true)]);
    let unseen =
        [("begin", true), ("ready", true), ("run", true), ("await", false), ("run", false), ("end", true)];
    assert_eq!(phases(&marks, "unseen"), unseen);
    assert_eq!(phases(&marks, "runtime.resource"), []);
}
