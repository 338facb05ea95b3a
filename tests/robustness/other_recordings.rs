//! Intervals of another recording or in another clock: an error where all are, a share in each head where some are; and one
//! interval file for two captures.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Ending;
use super::interval_files::{HEADER, over};
use crate::captures::{Capture, emulated};

/// Of the capture `fault`, whose records and trace cover some 0.14 s from TSC 1128240824 on.
const INSIDE: &str = "a,1443401205,1443446385,118,120\nb,1443501205,1443546385,118,120\n";
/// The same two by perf's clock, as if its nanoseconds were ticks.
const OTHER_CLOCK: &str = "a,518902559,518919936,118,120\nb,518941020,518958397,118,120\n";

fn file(folder: &Path, name: &str, rows: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, format!("{HEADER}{rows}")).expect("written");
    path.to_string_lossy().into_owned()
}

fn words<'a>(command: &'a str, capture: &'a [String; 2], more: &[&'a str]) -> Vec<&'a str> {
    let [perf_data, symfs] = capture;
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(["-i", perf_data, "--symfs", symfs]);
    words.extend(more);
    words
}

fn paths(capture: &Capture) -> [String; 2] {
    [&capture.perf_data, &capture.symfs].map(|path| path.to_string_lossy().into_owned())
}

#[test]
fn intervals_that_all_lie_elsewhere_are_an_error() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let intervals = file(folder.path(), "other.csv", OTHER_CLOCK);
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let paths = paths(&capture);
    for (command, more) in [
        ("stat", &[][..]),
        ("stat --format json", &[][..]),
        ("explain", &[][..]),
        ("explain --format markdown --top 1", &[][..]),
        ("export --to csv", &["-o", &out][..]),
        ("slice --top 1", &["-o", &out][..]),
        ("bundle --top 1", &["-o", &out][..]),
    ] {
        let mut words = words(command, &paths, &["--intervals", &intervals]);
        words.extend(more);
        let ending = Ending::of(command, &words);
        assert!(ending.stderr.contains("TSC 1128240824 to"), "{command}: {}", ending.stderr);
        assert!(ending.stderr.contains("the clock that the first line"), "{command}: {}", ending.stderr);
        ending.fails_in_one_line("0 of 2 intervals lie in the recording");
        assert!(!Path::new(&out).exists(), "{command} wrote something");
    }
    let perf_data = &*paths[0];
    for (a, b) in [(&*intervals, &*capture.intervals()), (&*capture.intervals(), &*intervals)] {
        let words = ["diff", perf_data, perf_data, "--intervals", a, "--intervals-b", b];
        Ending::of("diff", &words).fails_in_one_line("0 of 2 intervals lie in the recording");
    }
}

/// A slice knows from when to when its recording lasted, and a bundle's slice does.
#[test]
fn a_slice_and_a_bundle_refuse_them_too() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let other = file(folder.path(), "other.csv", OTHER_CLOCK);
    // Outside the slice of interval 1, and within the recording.
    let elsewhere = file(folder.path(), "elsewhere.csv", "a,1128250000,1128260000,118,120\n");
    let made = |command: &str| {
        let out = folder.path().join(command).to_string_lossy().into_owned();
        let (paths, intervals) = (paths(&capture), capture.intervals());
        let words = words(command, &paths, &["--intervals", &intervals, "--id", "1", "-o", &out]);
        Ending::of(command, &words).ends_with(0, "");
        out
    };
    let (slice, bundle) = (made("slice"), made("bundle"));
    let symfs = capture.symfs.to_string_lossy();
    for (command, code) in [("stat", 0), ("explain", 1)] {
        let words = [command, "-i", &slice, "--symfs", &symfs, "--intervals"];
        let refused = [&words[..], &[&*other]].concat();
        Ending::of("slice", &refused).fails_in_one_line("0 of 2 intervals lie in the recording");
        let other = [&words[..], &[&*elsewhere]].concat();
        Ending::of("slice", &other).ends_with(code, "this capture is a slice");
    }
    Ending::of("bundle", &["explain", &bundle, "--intervals", &other])
        .fails_in_one_line("0 of 2 intervals lie in the recording");
    // Without other intervals both say what the recording said.
    Ending::of("slice", &["explain", "-i", &slice, "--symfs", &symfs]).ends_with(0, "");
    Ending::of("bundle", &["explain", &bundle]).ends_with(0, "");
}

#[test]
fn a_partial_share_stands_in_each_head() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let rows = format!("{INSIDE}{OTHER_CLOCK}");
    let said = "2 of 4 lie in the recording";
    for command in ["stat", "explain --top 1", "explain --top 1 --format markdown", "explain --over 1s"] {
        let ending = over(&capture, command, format!("{HEADER}{rows}"));
        let one_line = ending.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(one_line.matches(said).count(), 1, "{command}: {one_line}");
    }
    for command in ["stat --format json", "explain --top 1 --format json"] {
        let report = over(&capture, command, format!("{HEADER}{rows}")).report();
        let population = &report["population"];
        assert_eq!((&population["count"], &population["in_recording"]), (&4.into(), &2.into()), "{command}");
        let whole = over(&capture, command, format!("{HEADER}{INSIDE}"));
        assert_eq!(whole.report()["population"]["in_recording"], 2, "{command}");
        assert!(!whole.stderr.contains("lie in the recording"), "{command}");
    }
    let (intervals, html) = (file(folder.path(), "some.csv", &rows), folder.path().join("report.html"));
    let (paths, out) = (paths(&capture), html.to_string_lossy().into_owned());
    let words = words("explain --top 1", &paths, &["--intervals", &intervals, "--html", &out]);
    Ending::of("html", &words).ends_with(0, "");
    assert!(fs::read_to_string(&html).expect("the page").contains(said));
    let perf_data = &*paths[0];
    for format in ["text", "markdown", "html"] {
        let words = [
            "diff",
            perf_data,
            perf_data,
            "--symfs",
            &*paths[1],
            "--intervals",
            &intervals,
            "--format",
            format,
        ];
        let stdout = Ending::of(format, &words).ends_with(0, "").stdout;
        let one_line = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(said), "diff as {format}: {one_line}");
    }
}

/// What is counted is the population: filters leave the others out.
#[test]
fn the_share_is_that_of_the_population() {
    let rows = INSIDE.to_owned() + &OTHER_CLOCK.replace("a,", "far,");
    for (label, expected) in [("a", (1, 1)), ("far", (1, 0)), ("b", (2, 1))] {
        let command = format!("stat --format json --label {label}");
        let population =
            &over(&emulated("fault"), &command, format!("{HEADER}{rows}")).report()["population"];
        let found = (population["count"].as_u64(), population["in_recording"].as_u64());
        assert_eq!(found, (Some(expected.0), Some(expected.1)), "{label}");
    }
}

/// A copy of a capture is another recording as far as anybody knows.
fn copy_of(capture: &Capture, folder: &Path) -> PathBuf {
    let copy = folder.join("copy");
    fs::create_dir(&copy).expect("made");
    for entry in fs::read_dir(&capture.perf_data).expect("a perf.data directory") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
        }
    }
    copy
}

#[test]
fn one_interval_file_for_two_captures_is_an_error_unless_it_is_meant() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let [perf_data, symfs] = paths(&capture);
    let copy = copy_of(&capture, folder.path()).to_string_lossy().into_owned();
    let intervals = capture.intervals();
    let (linked, copied) = (folder.path().join("linked.csv"), folder.path().join("copied.csv"));
    std::os::unix::fs::symlink(&intervals, &linked).expect("linked");
    fs::copy(&intervals, &copied).expect("copied");
    let [linked, copied] = [linked, copied].map(|path| path.to_string_lossy().into_owned());
    let diff = |b: &str, more: &[&str]| {
        let mut words = vec!["diff", &*perf_data, b, "--symfs", &*symfs, "--top", "1", "--baselines", "1"];
        words.extend(["--intervals", &*intervals]);
        words.extend(more);
        Ending::of(&format!("{b} {more:?}"), &words)
    };
    diff(&copy, &[]).fails_in_one_line("--same-intervals");
    diff(&copy, &["--intervals-b", &linked]).fails_in_one_line("--intervals-b");
    for (b, more) in [
        (&copy, &["--same-intervals"][..]),
        (&copy, &["--intervals-b", &copied][..]),
        // The capture against itself.
        (&perf_data, &[][..]),
    ] {
        diff(b, more).ends_with(0, "");
    }
}

#[test]
fn the_share_has_its_figures() {
    let mut rows = String::from(HEADER);
    for index in 0..640_u64 {
        let start = if index < 28 { 9_000_000_000 } else { 1_443_401_205 } + index * 100;
        writeln!(rows, "l,{start},{},118,120", start + 1_000 + index).expect("a string");
    }
    let ending = over(&emulated("fault"), "stat", rows).ends_with(0, "");
    let one_line = ending.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("640 (612 of 640 lie in the recording; the figures are of all)"), "{one_line}");
}
