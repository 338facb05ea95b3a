//! The file that the crate writes, read by a reader of the format's own: every mark that was made is in it, or counted as lost.
//! One test, for a process writes one file at a time.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../tracegen/tests/marks/interval_file.rs"]
mod interval_file;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use interval_file::{IntervalFile, Mark, read};
use tailtrace_marks as marks;

const THREADS: u64 = 6;
const REQUESTS: u64 = 2_000;
/// Places of the totals.
const FULL: usize = 1;
const LATE: usize = 7;

fn check_sums(file: &IntervalFile, made: u64) {
    assert_eq!(file.totals[0], file.marks.len() as u64);
    assert_eq!(file.totals.iter().sum::<u64>(), made, "{:?}", file.totals);
    assert!(file.closed);
}

/// Begins on one thread, a stage and a counter on the next, and the end on a third one.
fn several_threads(path: &Path) -> Vec<u64> {
    marks::open(path).unwrap();
    let again = marks::open(path).unwrap_err();
    assert_eq!(again.raw_os_error(), Some(114), "EALREADY");
    let begun: Vec<_> = (0..THREADS).map(|number| thread::spawn(move || requests(number))).collect();
    let begins = begun.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    marks::close().unwrap();
    begins
}

fn requests(number: u64) -> Vec<u64> {
    assert!(marks::thread());
    let mut begins = Vec::new();
    for key in number * REQUESTS..(number + 1) * REQUESTS {
        begins.push(marks::begin(c"order", key));
        marks::stage(c"order", key, c"parse");
        marks::counter(c"order", key, c"bytes", -5);
        marks::publish(c"order", key);
        {
            let _nested = marks::interval(
                c"a label that is longer than the twenty-three bytes of one record",
                marks::NO_KEY,
            );
        }
        marks::end(c"order", key);
    }
    begins
}

fn check_several_threads(path: &Path, begins: &[u64]) {
    let file = read(path);
    check_sums(&file, 7 * THREADS * REQUESTS);
    assert_eq!(file.totals[0], 7 * THREADS * REQUESTS, "nothing was lost");
    let tids: BTreeSet<u64> = file.marks.iter().map(|mark| mark.tid).collect();
    assert_eq!(tids.len() as u64, THREADS);
    let of_order: Vec<&Mark> = file.marks.iter().filter(|mark| mark.label == "order").collect();
    for (key, begun) in begins.iter().enumerate() {
        let request: Vec<&&Mark> = of_order.iter().filter(|mark| mark.key == Some(key as u64)).collect();
        let kinds: Vec<&str> = request.iter().map(|mark| mark.kind).collect();
        assert_eq!(kinds, ["begin", "stage", "counter", "publish", "end"], "{key}");
        assert!(request.is_sorted_by_key(|mark| mark.at) && request[0].at == *begun);
        assert_eq!((request[1].name.as_str(), request[1].value), ("parse", None));
        assert_eq!((request[2].name.as_str(), request[2].value), ("bytes", Some(-5)));
    }
    let nested = file.marks.iter().filter(|mark| mark.key.is_none());
    assert!(nested.clone().all(|mark| mark.label.ends_with("twenty-three bytes of one record")));
    assert_eq!(nested.count() as u64, 2 * THREADS * REQUESTS);
    for clock in ["monotonic", "monotonic-raw", "realtime"] {
        let pairs = &file.pairs[clock];
        let last = file.marks.iter().map(|mark| mark.at).max().unwrap();
        assert!(pairs.first().unwrap().0 < begins[0] && last < pairs.last().unwrap().0, "{clock}");
    }
}

/// More than a buffer holds, faster than it is written: what is missing is counted, and so is what comes after the end.
fn too_much(path: &Path) -> u64 {
    marks::open(path).unwrap();
    let made = 3_000_000;
    let begun: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(move || {
                for key in 0..made / 6 {
                    marks::begin(c"full", key);
                    marks::end(c"full", key);
                }
            })
        })
        .collect();
    for thread in begun {
        thread.join().unwrap();
    }
    marks::close().unwrap();
    marks::end(c"late", 1);
    marks::end(c"late", 2);
    made + 2
}

/// Pending once, with its waker for whoever is to wake it.
struct PendingOnce(Option<Sender<Waker>>);

impl Future for PendingOnce {
    type Output = u8;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u8> {
        match self.0.take() {
            None => Poll::Ready(7),
            Some(sender) => {
                sender.send(context.waker().clone()).unwrap();
                Poll::Pending
            }
        }
    }
}

/// Runs `work` on a thread of its own; what it returned, and the thread's number.
fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (T, u64) {
    let tid = || fs::read_link("/proc/thread-self").unwrap().file_name().unwrap().to_str().unwrap().parse();
    thread::spawn(move || (work(), tid().unwrap())).join().unwrap()
}

/// A runtime's waker of its own: what wakes another one does not wake it.
struct Other;

impl Wake for Other {
    fn wake(self: Arc<Self>) {}
}

fn poll_once<F: Future>(task: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    task.as_mut().poll(&mut Context::from_waker(waker))
}

/// A task is polled on two threads and woken by a third; another one is dropped without a poll.
fn a_task(path: &Path) {
    marks::open(path).unwrap();
    let (sender, wakers) = channel();
    let mut task = Box::pin(marks::task(c"task", 9, PendingOnce(Some(sender))));
    let ((mut task, polled), first) = on_a_thread(move || {
        let polled = poll_once(&mut task, Waker::noop());
        (task, polled)
    });
    assert_eq!(polled, Poll::Pending);
    let waker = wakers.recv().unwrap();
    let late = waker.clone();
    let ((), waking) = on_a_thread(move || waker.wake());
    let (polled, second) = on_a_thread(move || poll_once(&mut task, &Waker::from(Arc::new(Other))));
    assert_eq!(polled, Poll::Ready(7));
    // It is over, and its key may be another one's: also for the waker of an earlier poll.
    late.wake();
    drop(marks::task(c"dropped", 10, async {}));
    marks::close().unwrap();
    let mut marks = read(path).marks;
    marks.sort_by_key(|mark| mark.at);
    let found: Vec<(&str, &str, u64)> =
        marks.iter().map(|mark| (mark.label.as_str(), mark.kind, mark.tid)).collect();
    let own = found[0].2;
    let expected = [
        ("task", "begin", own),
        ("task", "ready", own),
        ("task", "run", first),
        ("task", "await", first),
        ("task", "ready", waking),
        ("task", "run", second),
        ("task", "end", second),
        ("dropped", "begin", own),
        ("dropped", "ready", own),
        ("dropped", "end", own),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_marked_is_in_the_file_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Before the first file nothing is counted.
    assert_eq!(marks::begin(c"early", 1), 0);
    assert!(!marks::thread());
    let begins = several_threads(&path("several.marks"));
    check_several_threads(&path("several.marks"), &begins);

    a_task(&path("task.marks"));
    let made = too_much(&path("full.marks"));
    // The next file settles what came late for this one.
    marks::open(path("next.marks")).unwrap();
    let full = read(&path("full.marks"));
    check_sums(&full, made);
    assert_eq!(full.totals[LATE], 2);
    assert_eq!(full.noted, full.totals[FULL]);
    assert!(full.totals[FULL] > 0 || full.totals[0] == made - 2, "{:?}", full.totals);

    // Threads of the file before have ended: their buffers are there for these.
    thread::spawn(|| marks::end(c"new", 3)).join().unwrap();
    marks::close().unwrap();
    let next = read(&path("next.marks"));
    check_sums(&next, 1);
    assert_eq!(marks::open(folder.path()).unwrap_err().raw_os_error(), Some(21), "EISDIR");
}
