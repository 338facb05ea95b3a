//! Signal handlers that mark, and children of `fork()`: what they made is in a file, or counted. One test, for a process writes
//! one file at a time; it has no harness's threads, of which `fork()` would take none along.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(unsafe_code, reason = "fork() and signal(), which the standard library has not")]

#[path = "../../tracegen/tests/marks/interval_file.rs"]
mod interval_file;

use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use interval_file::read;
use tailtrace_marks as marks;

const SIGUSR1: c_int = 10;
const WITHIN: usize = 2;
const FORKED: usize = 6;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn getpid() -> c_int;
    fn kill(process: c_int, number: c_int) -> c_int;
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: c_int) {
    marks::begin(c"handler", marks::NO_KEY);
    marks::end(c"handler", marks::NO_KEY);
    HANDLED.fetch_add(2, Ordering::Relaxed);
}

/// A thread signals the process for as long as the main thread marks.
fn handlers(path: &Path) -> u64 {
    marks::open(path).unwrap();
    // SAFETY: the handler calls nothing that a handler must not.
    unsafe { signal(SIGUSR1, on_signal) };
    let storm = thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            // SAFETY: a signal to this process, which handles it.
            unsafe { kill(getpid(), SIGUSR1) };
            thread::sleep(Duration::from_micros(20));
        }
    });
    let mut made = 0;
    while made < 400_000 || HANDLED.load(Ordering::Relaxed) < 1_000 {
        marks::begin(c"main", made);
        marks::end(c"main", made);
        made += 2;
        if made % 4_000 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    DONE.store(true, Ordering::Relaxed);
    storm.join().unwrap();
    marks::close().unwrap();
    made
}

/// Two children: one marks without a file, one opens its own. The parent's file is the parent's.
fn children(path: &Path, childs: &Path) {
    marks::open(path).unwrap();
    marks::begin(c"parent", 1);
    for own in [None, Some(childs)] {
        // SAFETY: the other threads are the writing one, which holds no lock while it sleeps.
        let child = unsafe { fork() };
        if child == 0 {
            if let Some(childs) = own {
                marks::open(childs).unwrap();
            }
            marks::begin(c"child", 2);
            marks::end(c"child", 2);
            // The end of the process closes the file.
            std::process::exit(0);
        }
        let mut status = -1;
        // SAFETY: writes an int.
        assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
    marks::end(c"parent", 1);
    marks::close().unwrap();
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = handlers(&path("handlers.marks")) + HANDLED.load(Ordering::Relaxed);
    let file = read(&path("handlers.marks"));
    assert_eq!(file.totals.iter().sum::<u64>(), made, "{:?}", file.totals);
    assert_eq!(file.totals[0] + file.totals[WITHIN], made, "{:?}", file.totals);
    assert_eq!((file.noted, file.closed), (file.totals[WITHIN], true));
    assert!(file.marks.iter().any(|mark| mark.label == "handler"), "handlers mark, too");

    children(&path("parent.marks"), &path("child.marks"));
    let parent = read(&path("parent.marks"));
    let labels: Vec<&str> = parent.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((labels, parent.totals[FORKED]), (vec!["parent"; 2], 2));
    let child = read(&path("child.marks"));
    let labels: Vec<&str> = child.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((labels, child.closed), (vec!["child"; 2], true));
    assert_ne!(child.marks[0].pid, parent.marks[0].pid);
}
