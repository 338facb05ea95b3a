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
use crate::captures::{repository, tailtrace};
use crate::slices::without_capture;

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

/// The report on the odd intervals, without what names the files that it was made from.
fn report(command: &mut std::process::Command, folders: [&Path; 2]) -> Value {
    let output = command.args(["--format", "json"]).output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut report = without_capture(&output);
    let texts = report["diagnostics"].as_array_mut().expect("diagnostics");
    for text in texts.iter_mut().filter_map(|note| note.get_mut("what")) {
        let plain = folders.iter().fold(text.as_str().expect("a text").to_owned(), |text, folder| {
            text.replace(folder.to_str().expect("UTF-8"), "FOLDER")
        });
        *text = Value::from(plain);
    }
    report
}

/// Makes a bundle and a slice of the intervals `ids` of the capture: both explain as the capture does, the bundle with nothing beside it.
pub(super) fn assert_kept(made: &Made, ids: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let [bundle, slice] = ["bundle", "slice"].map(|name| folder.path().join(name));
    let [perf_data, symfs, intervals] =
        ["perf.data", "symfs", "intervals.csv"].map(|name| made.folder.path().join(name));
    let chosen = |command: &str| {
        let mut process = tailtrace();
        process.arg(command).arg("-i").arg(&perf_data).arg("--symfs").arg(&symfs);
        process.arg("--intervals").arg(&intervals).arg("--id").args(ids);
        process
    };
    for (command, out) in [("bundle", &bundle), ("slice", &slice)] {
        let output = chosen(command).arg("-o").arg(out).output().expect("tailtrace runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let original = report(&mut chosen("explain"), [&symfs, &symfs]);
    let of_bundle = report(tailtrace().arg("explain").arg(&bundle), [&bundle.join("symfs"), &symfs]);
    assert_eq!(of_bundle, original);
    let of_slice =
        report(tailtrace().arg("explain").arg("-i").arg(&slice).arg("--symfs").arg(&symfs), [&symfs, &symfs]);
    assert_eq!(of_slice, original);
    assert!(original.to_string().contains("Orders."), "{original}");
}

#[test]
fn slices_and_bundles_have_the_pairs() {
    let (beside, pairs) = changed();
    fs::write(beside.folder.path().join("perf.data/clocks"), &pairs).expect("written");
    assert_kept(&beside, &["8", "17"]);
    let (named, pairs) = changed();
    let intervals = named.folder.path().join("intervals.csv");
    let text = fs::read_to_string(&intervals).expect("intervals");
    fs::write(&intervals, text + &pairs).expect("written");
    assert_kept(&named, &["8", "17"]);
}

/// Without pairs the doubt is the same; and names of a perf map, which has no clock.
#[test]
fn slices_and_bundles_doubt_as_the_recording() {
    let (without, _) = changed();
    assert_kept(&without, &["8", "17"]);
    assert_kept(&Made::named("jit_perf-map"), &["8"]);
}
