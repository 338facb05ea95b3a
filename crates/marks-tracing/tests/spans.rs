//! Spans of several threads, and the file that comes of them, read by a reader of the format's own.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../tracegen/tests/marks/interval_file.rs"]
mod interval_file;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use interval_file::{Mark, read};
use tailtrace_marks as marks;
use tailtrace_marks_tracing::MarksLayer;
use tracing::span::EnteredSpan;
use tracing::{Dispatch, Span, dispatcher, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

const REQUESTS: usize = 500;

/// Begun here, handed over to another thread, which knows a number more; a child on this thread; one that is never entered.
fn request(dispatch: &Dispatch) {
    let span = info_span!("request", bytes = 7_u64, late = tracing::field::Empty, name = "text");
    span.in_scope(|| info_span!("child", depth = -1_i64).in_scope(|| ()));
    span.in_scope(|| ());
    let _unentered: Span = info_span!("unentered");
    let (dispatch, span) = (dispatch.clone(), span);
    let other = thread::spawn(move || {
        dispatcher::with_default(&dispatch, || {
            span.in_scope(|| span.record("late", 9));
            drop(span);
        });
    });
    other.join().unwrap();
}

#[test]
fn spans_are_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.marks");
    marks::open(&path).unwrap();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(MarksLayer::new()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let dispatch = dispatch.clone();
            let requests =
                move || (0..REQUESTS).for_each(|_| request(&dispatcher::get_default(Clone::clone)));
            thread::spawn(move || dispatcher::with_default(&dispatch, requests))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    marks::close().unwrap();
    check_requests(&path);
    two_layers(&folder.path().join("two.marks"));
}

/// Two layers in one subscriber mark a span once, and a third one in another subscriber gives keys of its own. The last span ends with
/// its thread, after what the thread keeps of names is gone.
fn two_layers(path: &Path) {
    thread_local! {
        static LAST: RefCell<Option<EnteredSpan>> = const { RefCell::new(None) };
    }
    marks::open(path).unwrap();
    let two = || tracing_subscriber::registry().with(MarksLayer::new()).with(MarksLayer::default());
    for dispatch in
        [Dispatch::new(two()), Dispatch::new(tracing_subscriber::registry().with(MarksLayer::new()))]
    {
        let thread = thread::spawn(move || {
            dispatcher::with_default(&dispatch, || {
                LAST.with(|last| drop(last.borrow()));
                info_span!("request", bytes = 7_u64).in_scope(|| ());
                LAST.with(|last| *last.borrow_mut() = Some(info_span!("last").entered()));
            });
        });
        thread.join().unwrap();
    }
    marks::close().unwrap();
    let file = read(path);
    let kinds: Vec<(&str, &str)> = file.marks.iter().map(|mark| (mark.label.as_str(), mark.kind)).collect();
    let once = [
        ("request", "begin"),
        ("request", "counter"),
        ("request", "end"),
        ("last", "begin"),
        ("last", "end"),
    ];
    assert_eq!(kinds, [once, once].concat());
    let keys: BTreeSet<Option<u64>> = file.marks.iter().map(|mark| mark.key).collect();
    assert_eq!(keys.len(), 4);
}

fn check_requests(path: &Path) {
    let file = read(path);
    assert_eq!(file.totals[1..].iter().sum::<u64>(), 0);
    let of = |label: &str| file.marks.iter().filter(|mark| mark.label == label).collect::<Vec<&Mark>>();
    assert!(of("unentered").is_empty());
    let children = of("child");
    assert_eq!(children.len(), 2 * REQUESTS * 3, "begin, counter, end");
    let requests = of("request");
    assert_eq!(requests.len(), 2 * REQUESTS * 5);
    let mut keys: Vec<u64> = requests.iter().map(|mark| mark.key.unwrap()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 2 * REQUESTS);
    for key in keys {
        let mut own: Vec<&&Mark> = requests.iter().filter(|mark| mark.key == Some(key)).collect();
        own.sort_by_key(|mark| mark.at);
        let said: Vec<(&str, &str, Option<i64>)> =
            own.iter().map(|mark| (mark.kind, mark.name.as_str(), mark.value)).collect();
        let expected = [
            ("begin", "", None),
            ("counter", "bytes", Some(7)),
            ("publish", "", None),
            ("counter", "late", Some(9)),
            ("end", "", None),
        ];
        assert_eq!(said, expected);
        assert!(own[0].tid == own[1].tid && own[0].tid != own[2].tid && own[2].tid == own[4].tid);
    }
}
