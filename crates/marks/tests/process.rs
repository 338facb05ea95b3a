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
const SIGCONT: c_int = 18;
const SIGSTOP: c_int = 19;
const FULL: usize = 1;
const WITHIN: usize = 2;
const FORKED: usize = 6;
const LATE: usize = 7;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn getpid() -> c_int;
    fn _exit(status: c_int) -> !;
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

/// Runs `what` in a child, which ends as a process does, and waits for it.
fn in_child(what: impl FnOnce()) {
    // SAFETY: as above.
    let child = unsafe { fork() };
    if child == 0 {
        what();
        std::process::exit(0);
    }
    let mut status = -1;
    // SAFETY: writes an int.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

/// A closed file is its process's: a child neither counts in it nor has its late marks in a file of its own.
fn children_of_a_closed_file(path: &Path, childs: &Path, next: &Path) {
    marks::open(path).unwrap();
    marks::begin(c"parent", 1);
    marks::close().unwrap();
    for key in 0..3 {
        marks::begin(c"late", key);
    }
    in_child(|| ());
    in_child(|| {
        marks::open(childs).unwrap();
        marks::begin(c"child", 2);
    });
    // The parent's file is counted to its end.
    marks::open(next).unwrap();
    marks::close().unwrap();
}

/// There are pages of counts for 64 files: a child that finds none left does not clear the one that its parent counts in.
fn a_child_without_a_page(path: &Path, childs: &Path) {
    for _ in 0..64 {
        marks::open(path).unwrap();
        marks::close().unwrap();
    }
    marks::open(path).unwrap();
    marks::begin(c"parent", 1);
    thread::sleep(Duration::from_millis(50));
    in_child(|| assert_eq!(marks::open(childs).unwrap_err().raw_os_error(), Some(12), "ENOMEM"));
    marks::close().unwrap();
}

/// A stop of a second.
fn a_stop(path: &Path) {
    marks::open(path).unwrap();
    // SAFETY: this process's number, and signals to it from a child that does nothing else.
    unsafe {
        let parent = getpid();
        let child = fork();
        if child == 0 {
            thread::sleep(Duration::from_secs(1));
            kill(parent, SIGCONT);
            _exit(0);
        }
        kill(parent, SIGSTOP);
        thread::sleep(Duration::from_millis(50));
        waitpid(child, std::ptr::null_mut(), 0);
    }
    marks::close().unwrap();
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = handlers(&path("handlers.marks")) + HANDLED.load(Ordering::Relaxed);
    let file = read(&path("handlers.marks"));
    assert_eq!(file.totals.iter().sum::<u64>(), made, "{:?}", file.totals);
    // On a busy machine the writing thread may come late.
    assert_eq!((file.noted, file.closed), (file.totals[FULL] + file.totals[WITHIN], true));
    assert!(file.marks.iter().any(|mark| mark.label == "handler"), "handlers mark, too");

    children(&path("parent.marks"), &path("child.marks"));
    let parent = read(&path("parent.marks"));
    let labels: Vec<&str> = parent.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((labels, parent.totals[FORKED]), (vec!["parent"; 2], 2));
    let child = read(&path("child.marks"));
    let labels: Vec<&str> = child.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((labels, child.closed), (vec!["child"; 2], true));
    assert_ne!(child.marks[0].pid, parent.marks[0].pid);

    children_of_a_closed_file(&path("parent.marks"), &path("child.marks"), &path("next.marks"));
    let parent = read(&path("parent.marks"));
    assert_eq!((parent.marks.len(), parent.totals[LATE], parent.totals[FORKED]), (1, 3, 0));
    let child = read(&path("child.marks"));
    let labels: Vec<&str> = child.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((labels, child.totals[0], child.closed), (vec!["child"], 1, true));

    a_stop(&path("stop.marks"));
    let pairs = &read(&path("stop.marks")).pairs["monotonic"];
    // At the begin, after the stop, at the end, of which the last two may be one; on a busy machine another one before the stop. A
    // burst would be one for each tenth of a second that was stopped.
    assert!((2..=4).contains(&pairs.len()), "{pairs:?}");

    a_child_without_a_page(&path("parent.marks"), &path("none.marks"));
    assert_eq!(read(&path("parent.marks")).totals[0], 1);
}
