//! Interval files that are empty, lie, or hold too much: a message with the line, the rest goes on.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Ending;
use crate::captures::{Capture, emulated};

pub(super) const HEADER: &str = "name,start_tsc.TSC,end_tsc,pid,tid\n";
/// An interval of the capture `fault`.
const SOUND: &str = "sound,1443401205,1443446385,118,120\n";

/// Runs `words` over `capture` with an interval file of this content.
#[track_caller]
pub(super) fn over(capture: &Capture, words: &str, content: impl AsRef<[u8]>) -> Ending {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("intervals.csv");
    fs::write(&path, content).expect("written");
    of_file(capture, words, &path)
}

#[track_caller]
fn of_file(capture: &Capture, words: &str, path: &Path) -> Ending {
    let (perf_data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let path = path.to_string_lossy();
    let mut arguments: Vec<&str> = words.split(' ').collect();
    arguments.extend(["-i", &perf_data, "--symfs", &symfs, "--intervals", &path]);
    Ending::of(words, &arguments)
}

#[test]
fn files_that_hold_no_intervals_are_unusable() {
    let capture = emulated("fault");
    for (content, says) in [
        (&b""[..], "is empty"),
        (b"\n", "begins with"),
        (b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe", "begins with"),
        (b"name,start_tsc.QPC,end_tsc,pid,tid\na,1,2,118,120\n", "Windows only"),
        (b"name,start_tsc.WATCH,end_tsc,pid,tid\na,1,2,118,120\n", "WATCH"),
        // A clock that nothing joins with the TSC.
        (b"name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc,pid,tid\na,1,2,118,120\n", "cannot be converted"),
        (b"# tailtrace-intervals 99 clock=tsc\nstart,stop\n1,2\n", "version 99"),
    ] {
        over(&capture, "stat", content).fails_in_one_line(says);
        over(&capture, "explain --format json", content).fails_in_one_line(says);
    }
    // Bytes without a line end, without an end.
    of_file(&capture, "stat", Path::new("/dev/zero")).fails_in_one_line("neither a regular file nor a pipe");
    of_file(&capture, "stat", Path::new("/proc/self/mem")).fails_in_one_line("cannot read");
    of_file(&capture, "stat", &capture.root).fails_in_one_line("a folder without the file `metadata`");
    of_file(&capture, "stat", Path::new("/nowhere.csv")).fails_in_one_line("No such file");
}

#[test]
fn a_header_alone_selects_nothing() {
    over(&emulated("fault"), "stat", HEADER).ends_with(1, "the source holds no interval");
}

#[test]
fn bad_lines_are_named_and_the_rest_is_reported() {
    let capture = emulated("fault");
    for (line, says) in [
        ("late,1443446385,1443401205,118,120", "line 2"),
        ("big,18446744073709551616,5,118,120", "line 2"),
        ("negative,-1,5,118,120", "line 2"),
        ("nan,NaN,inf,118,120", "line 2"),
        ("short,1", "line 2"),
        ("\u{0}\u{1b}[2J,x,y,z,z", "line 2"),
    ] {
        let content = format!("{HEADER}{line}\n{SOUND}");
        let ending = over(&capture, "explain --top 9 --format json", content).ends_with(0, says);
        assert_eq!(ending.report()["population"]["count"], 1, "{line}");
    }
    let long = format!("{HEADER}{},1443401205,1443446385,118,120\n{SOUND}", "x".repeat(10_000_000));
    let ending = over(&capture, "stat --format json", long).ends_with(0, "line 2");
    assert_eq!(ending.report()["population"]["count"], 1);
}

#[test]
fn times_at_the_ends_of_64_bits_are_reported_exactly() {
    let capture = emulated("fault");
    let most = u64::MAX;
    for (start, stop) in [(0, 0), (0, most), (most - 1, most), (1, 2), (1_443_401_205, most), (most, most)] {
        let content = format!("{HEADER}far,{start},{stop},118,120\n{SOUND}");
        let ending = over(&capture, "explain --id 0 --format json", content).ends_with(0, "");
        let report = ending.report();
        let outlier = &report["outliers"][0];
        assert_eq!(outlier["start_tsc"], start.to_string(), "{start} to {stop}");
        assert_eq!(outlier["stop_tsc"], stop.to_string(), "{start} to {stop}");
    }
}

#[test]
fn hostile_names_reach_no_terminal() {
    let capture = emulated("fault");
    let content = format!(
        "{HEADER}\u{1b}]0;owned\u{7}\u{9b}31m<script>,1443401205,1443446385,118,120\n{}x,1443401206,1443446385,118,120\n",
        "\u{202e}".repeat(300_000),
    );
    for format in ["text", "markdown", "json"] {
        let ending = over(&capture, &format!("explain --top 2 --format {format}"), &content).ends_with(0, "");
        let raw = ending.stdout.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}');
        assert_eq!(raw, None, "{format}");
        assert!(format != "markdown" || !ending.stdout.contains("<script>"), "{}", ending.stdout);
    }
}

#[test]
fn a_million_intervals_take_seconds_and_little_memory() {
    let capture = emulated("fault");
    let mut content = HEADER.to_owned();
    for index in 0..1_000_000_u64 {
        let start = 1_443_401_205 + index * 300;
        let stop = start + 1000 + index * 7919 % 4000;
        writeln!(content, "l,{start},{stop},118,{}", 120 + index % 3).expect("into a string");
    }
    let ending = over(&capture, "stat --format json", content).ends_with(0, "");
    let population = &ending.report()["population"];
    assert_eq!(population["count"], 1_000_000);
    // 4999 ticks at the capture's 2 599 988 001 Hz.
    assert_eq!(population["max_ns"].as_f64().map(f64::round), Some(1923.0));
}
