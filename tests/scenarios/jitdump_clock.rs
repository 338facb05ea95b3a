//! Code made at run time whose jitdump has another clock than the trace: `CLOCK_MONOTONIC`, as most runtimes write it.
//!
//! The scenario's dump has the TSC's times, and what is found with it is compared with `truth` elsewhere. Here its times are those of
//! another clock, five seconds ahead of perf's, and clock pairs say so: the same must be found.

use std::fs;
use std::path::{Path, PathBuf};

use model::Tsc;
use perfdata::PerfData;
use serde_json::Value;

use super::Made;
use crate::captures::repository;

/// How far the dump's clock is ahead of perf's, in nanoseconds.
const AHEAD: u64 = 5_000_000_000;

fn made() -> Made {
    Made::of(&repository().join("fixtures/scenarios/jit_dump-code_reused.scenario"))
}

fn monotonic(perf: &PerfData, tsc: u64) -> u64 {
    perf.time_conversion().expect("a conversion").to_perf_time(Tsc(tsc)).0 + AHEAD
}

/// Gives the dump the other clock: the header's flag goes, and each record's time is converted (jitdump-specification.txt).
fn change_clock(dump: &Path, perf: &PerfData) {
    let mut bytes = fs::read(dump).expect("the dump");
    let field =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    bytes[32..40].fill(0);
    let mut at = 40;
    while at < bytes.len() {
        let size = field(&bytes, at) >> 32;
        let time = monotonic(perf, field(&bytes, at + 8));
        bytes[at + 8..at + 16].copy_from_slice(&time.to_le_bytes());
        at += size as usize;
    }
    fs::write(dump, bytes).expect("written");
}

/// Two pairs around the recording, as comments of an interval file or lines of `FILE.clocks`.
fn pairs(perf: &PerfData) -> String {
    let range = perf.tsc_range().expect("records with times");
    let pair = |tsc: u64| format!("# clock-pair monotonic tsc={tsc} ns={} error=0\n", monotonic(perf, tsc));
    pair(range.start.0 - 100_000) + &pair(range.stop.0 + 1_000_000)
}

/// The scenario's capture, its dump with the other clock.
fn changed() -> (Made, String) {
    let made = made();
    let perf = PerfData::open(&made.folder.path().join("perf.data")).expect("a capture");
    let dumps = made.folder.path().join("symfs/tmp/tailtrace-scenario");
    let dumps: Vec<PathBuf> =
        fs::read_dir(dumps).expect("dumps").map(|entry| entry.expect("an entry").path()).collect();
    assert!(!dumps.is_empty());
    for dump in &dumps {
        change_clock(dump, &perf);
    }
    let pairs = pairs(&perf);
    (made, pairs)
}

/// Of each explained interval its segments.
fn segments(made: &Made) -> Vec<(u64, Value)> {
    let of = |(id, outlier): (u64, Value)| (id, outlier["segments"].clone());
    let found: Vec<_> = made.explained().into_iter().map(of).collect();
    assert!(found.iter().any(|(_, segments)| segments.to_string().contains("Orders.settle")), "{found:?}");
    found
}

#[test]
fn pairs_beside_the_capture_relate_it() {
    let (changed, pairs) = changed();
    fs::write(changed.folder.path().join("perf.data/clocks"), pairs).expect("written");
    assert_eq!(segments(&changed), segments(&made()));
}

#[test]
fn pairs_of_the_interval_file_relate_it() {
    let (changed, pairs) = changed();
    let intervals = changed.folder.path().join("intervals.csv");
    let text = fs::read_to_string(&intervals).expect("intervals");
    fs::write(&intervals, text + &pairs).expect("written");
    assert_eq!(segments(&changed), segments(&made()));
}

/// Two functions had one place: the later one is taken, and the report says that this is in doubt.
#[test]
fn without_pairs_the_code_is_used_by_its_address() {
    let (changed, _) = changed();
    let settled = |found: &[(u64, Value)]| {
        let names = |segments: &Value| segments.to_string().matches("Orders.settle").count() > 0;
        found.iter().map(|(id, segments)| (*id, names(segments))).collect::<Vec<_>>()
    };
    assert_eq!(settled(&segments(&made())), [(8, false), (17, true)]);
    assert_eq!(settled(&segments(&changed)), [(8, true), (17, true)]);
    let intervals = changed.folder.path().join("intervals.csv");
    let report = changed
        .tailtrace("explain", &["--intervals", intervals.to_str().expect("UTF-8"), "--format", "json"]);
    let said =
        ["when its code was written is unknown", "1 of its 2 functions lay where another one came later"];
    assert!(said.iter().all(|said| report.contains(said)), "{report}");
}
