//! What rings the doorbell of `tailtrace record --snapshot-over`, by the pipe's other end. One test: a process has one doorbell.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(unsafe_code, reason = "the environment of this process")]

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tailtrace_marks as marks;

/// Longer than the limits take to be known.
const KNOWN: Duration = Duration::from_millis(350);
const O_NONBLOCK: i32 = 0o4000;

/// `since` and how long, of an interval that takes at least so many milliseconds.
fn interval(label: &'static std::ffi::CStr, key: u64, ms: u64) -> u64 {
    let since = marks::begin(label, key);
    sleep(Duration::from_millis(ms));
    marks::end_since(label, key, since);
    since
}

/// How long after its end the writing thread rings for an interval that ends on another thread. `text` gets what was read.
fn late(reader: &mut std::fs::File, key: u64, text: &mut String) -> Duration {
    marks::begin(c"order", key);
    sleep(Duration::from_millis(25));
    let ended = std::thread::spawn(move || {
        marks::end(c"order", key);
        Instant::now()
    });
    let ended = ended.join().unwrap();
    let before = text.matches("late").count();
    while text.matches("late").count() == before && ended.elapsed() < Duration::from_secs(2) {
        let _ = reader.read_to_string(text);
        sleep(Duration::from_micros(50));
    }
    ended.elapsed()
}

#[test]
fn what_took_longer_than_its_limit_rings() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("doorbell");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut reader = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&pipe).unwrap();
    // SAFETY: no other thread of this process reads the environment now.
    unsafe {
        std::env::set_var("TAILTRACE_OVER", "20ms,order;500ms");
        std::env::set_var("TAILTRACE_DOORBELL", &pipe);
    }
    marks::open(folder.path().join("intervals.marks")).unwrap();
    sleep(KNOWN);
    interval(c"order", 1, 0);
    let slow = interval(c"order", 2, 25);
    // Below the limit of all other labels; an interval whose begin was dropped has no length.
    interval(c"other", 3, 25);
    marks::end_since(c"order", 4, 0);
    let dropped = {
        let _order = marks::interval(c"order", 5);
        sleep(Duration::from_millis(25));
        marks::tsc()
    };
    let (mut text, mut after) = (String::new(), Vec::new());
    for key in 100..120 {
        after.push(late(&mut reader, key, &mut text));
    }
    after.sort_unstable();
    // The middle one, for a machine that does something else, too.
    assert!(after[10] < Duration::from_micros(2_200), "{after:?}");
    // What a key without end, an end without begin, and another label's limit are not.
    marks::begin(c"order", 7);
    marks::end(c"order", 8);
    marks::begin(c"other", 9);
    sleep(Duration::from_millis(25));
    marks::end(c"other", 9);
    marks::close().unwrap();
    interval(c"order", 10, 25);
    // The program is a writer still: what is there is read, and then there is nothing yet.
    assert_eq!(reader.read_to_string(&mut text).unwrap_err().kind(), ErrorKind::WouldBlock);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 2 + 20, "{text}");
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x").unwrap(), 16).unwrap();
    assert_eq!((number(lines[0][0]), lines[0][2]), (slow, "order"));
    assert!(number(lines[0][1]) > slow);
    assert!(number(lines[1][1]) >= dropped && number(lines[1][0]) < dropped);
    for line in &lines[2..] {
        assert_eq!((line[0], line[3]), ("late", "order"), "the writing thread rings, and says so");
        assert!(number(line[1]) < number(line[2]), "{line:?}");
    }
}
