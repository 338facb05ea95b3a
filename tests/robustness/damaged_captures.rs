//! Damaged perf.data files: cut, with lying sizes, offsets and counts, with a broken trace.
//!
//! Each damage is named (`tracegen::damage`, and the small functions here) and repeats by its seed.

use std::fs;
use std::path::Path;

use clap::ValueEnum as _;
use tempfile::TempDir;
use tracegen::damage::{Damage, damage};

use super::Ending;
use crate::captures::{Capture, bundled, emulated};

/// `PERF_RECORD_AUXTRACE`: its PT bytes follow the record.
const AUXTRACE: usize = 71;

/// Where a record lies, and its type.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    kind: usize,
    /// Where the next record begins: after the PT bytes of an AUXTRACE record.
    next: usize,
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    bytes[at..at + width].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The records of a sound file: header {type 4, misc 2, size 2}, the section's place at byte 40.
fn places(bytes: &[u8]) -> Vec<Place> {
    let (start, size) = (number(bytes, 40, 8), number(bytes, 48, 8));
    let mut places = Vec::new();
    let mut at = start;
    while at < start + size {
        let kind = number(bytes, at, 4);
        let trace = if kind == AUXTRACE { number(bytes, at + 8, 8) } else { 0 };
        let next = at + number(bytes, at + 6, 2) + trace;
        places.push(Place { at, kind, next });
        at = next;
    }
    places
}

/// Runs all commands over `bytes` that make sense for a small capture.
struct Bench {
    folder: TempDir,
    capture: Capture,
    sound: Vec<u8>,
}

impl Bench {
    fn of(name: &str) -> Bench {
        let capture = bundled(name);
        let sound = fs::read(&capture.perf_data).expect("readable");
        Bench { folder: tempfile::tempdir().expect("a folder"), capture, sound }
    }

    #[track_caller]
    fn run(&self, what: &str, bytes: &[u8], command: &[&str]) -> Ending {
        let path = self.folder.path().join("perf.data");
        fs::write(&path, bytes).expect("written");
        let (path, symfs) = (path.to_string_lossy(), self.capture.symfs.to_string_lossy());
        let mut arguments = command.to_vec();
        arguments.extend(["-i", &path, "--symfs", &symfs]);
        Ending::of(what, &arguments)
    }

    /// How many records `dump --records` counts.
    #[track_caller]
    fn records(&self, what: &str, bytes: &[u8]) -> (Ending, usize) {
        let ending = self.run(what, bytes, &["dump", "--records"]).ends_with(0, "");
        let count = |line: &str| line.split_once('\t').and_then(|(_, count)| count.parse::<usize>().ok());
        let sum = ending.stdout.lines().filter_map(count).sum();
        (ending, sum)
    }
}

#[test]
fn a_file_cut_at_any_record_keeps_all_records_before() {
    for name in ["single", "multicore"] {
        let bench = Bench::of(name);
        let places = places(&bench.sound);
        // Every border of the small one; the large one repeats the same switch record 302 times.
        let step = if name == "single" { 1 } else { 7 };
        for (before, place) in places.iter().enumerate().step_by(step) {
            let what = format!("{name} cut at {:#x}", place.at);
            let (ending, count) = bench.records(&what, &bench.sound[..place.at]);
            assert_eq!(count, before, "{what}");
            assert!(ending.stderr.contains("the rest is missing"), "{what}: {}", ending.stderr);
            // In the middle of the header, and of the body; what PT bytes there are belong to the capture.
            for into in [1, 7, 9].into_iter().filter(|into| place.at + into < place.next) {
                let what = format!("{name} cut at {:#x} + {into}", place.at);
                let (ending, count) = bench.records(&what, &bench.sound[..place.at + into]);
                assert_eq!(count, before, "{what}");
                assert!(ending.stderr.contains("file offset"), "{what}: {}", ending.stderr);
            }
        }
    }
}

#[test]
fn a_file_cut_in_its_trace_decodes_up_to_there() {
    let bench = Bench::of("multicore");
    let whole = bench.run("whole", &bench.sound, &["dump", "--insns", "--cpu", "45"]).ends_with(0, "").stdout;
    let trace =
        places(&bench.sound).into_iter().find(|place| place.kind == AUXTRACE).expect("trace of CPU 45");
    let start = trace.at + 48;
    for end in (start..trace.next).step_by(97) {
        let what = format!("cut at {end:#x}");
        let command = ["dump", "--insns", "--cpu", "45"];
        let cut = bench.run(&what, &bench.sound[..end], &command);
        assert!(whole.starts_with(&cut.stdout) || cut.stderr.contains("could not be decoded"), "{what}");
        assert!(end == start || cut.code == Some(0), "{what}: {}", cut.stderr);
        assert!(cut.stderr.contains("the rest is lost"), "{what}: {}", cut.stderr);
    }
}

#[test]
fn sections_that_lie_are_said() {
    let bench = Bench::of("multicore");
    let length = bench.sound.len() as u64;
    for at in (8..104).step_by(8) {
        for value in [0, 1, 63, 0xffff, length - 1, length, length + 1, u64::MAX / 2, u64::MAX - 7, u64::MAX]
        {
            let mut bytes = bench.sound.clone();
            put(&mut bytes, at, value);
            let what = format!("{value:#x} at {at:#x} of the header");
            let ending = bench.run(&what, &bytes, &["dump", "--records"]);
            assert!(
                ending.code == Some(0) || ending.stderr.lines().count() == 1,
                "{what}: {}",
                ending.stderr
            );
        }
    }
}

#[test]
fn records_that_lie_about_their_size_cost_only_themselves() {
    let bench = Bench::of("multicore");
    let places = places(&bench.sound);
    for place in places.iter().skip(5).step_by(23) {
        for size in [0_u16, 1, 7, 8, 9, 65535, 65528] {
            let mut bytes = bench.sound.clone();
            bytes[place.at + 6..place.at + 8].copy_from_slice(&size.to_le_bytes());
            let what = format!("the record at {:#x} says {size} bytes", place.at);
            let (ending, count) = bench.records(&what, &bytes);
            assert!(ending.stderr.contains("file offset"), "{what}: {}", ending.stderr);
            // After a record of 8 bytes its body is taken for records of unknown types.
            if size != 8 {
                assert_eq!(count, places.len() - 1, "{what}: {}", ending.stderr);
            }
        }
    }
}

#[test]
fn aux_ranges_may_overlap_lie_outside_or_come_out_of_order() {
    let bench = Bench::of("multicore");
    let traces: Vec<Place> =
        places(&bench.sound).into_iter().filter(|place| place.kind == AUXTRACE).collect();
    // AUXTRACE: size at 8, offset at 16, reference at 24, then idx, tid and cpu.
    let hurt = |what: &str, field: usize, value: u64| {
        let mut bytes = bench.sound.clone();
        put(&mut bytes, traces[0].at + field, value);
        let _ = bench.run(what, &bytes, &["dump", "--insns"]);
    };
    for value in [0, 1, 0xb57, 0xb59, 1 << 20, 1 << 40, u64::MAX / 2, u64::MAX - 7, u64::MAX] {
        for (field, name) in [(8, "size"), (16, "offset"), (24, "reference")] {
            hurt(&format!("AUXTRACE {name} {value:#x}"), field, value);
        }
    }
    // Two buffers of one CPU: the same place, overlapping, swapped, and far apart.
    for offset in [0, 5, 0x1000, 0x1670, 0x1671, u64::MAX - 0x1670, u64::MAX] {
        let mut bytes = bench.sound.clone();
        let one = traces[1].at;
        bytes.copy_within(one + 32..one + 48, traces[0].at + 32);
        put(&mut bytes, traces[0].at + 16, offset);
        let what = format!("both buffers on CPU 51, the first at {offset:#x}");
        let ending = bench.run(&what, &bytes, &["dump", "--insns"]).ends_with(0, "AUX offset");
        assert!(ending.stdout.lines().count() < 1_000_000, "{what}");
    }
}

#[test]
fn more_streams_than_threads_are_an_error() {
    // 40,000 buffers of 16 bytes, each of a CPU of its own.
    let bench = Bench::of("single");
    let places = places(&bench.sound);
    let auxtrace = places.iter().find(|place| place.kind == AUXTRACE).expect("a trace");
    let mut bytes = bench.sound[..auxtrace.at].to_vec();
    for cpu in 0..40_000_u32 {
        let start = bytes.len();
        bytes.extend(&bench.sound[auxtrace.at..auxtrace.at + 48]);
        put(&mut bytes, start + 8, 16);
        bytes[start + 40..start + 44].copy_from_slice(&cpu.to_le_bytes());
        bytes.extend([0x02, 0x82].repeat(8));
    }
    let size = (bytes.len() - number(&bytes, 40, 8)) as u64;
    put(&mut bytes, 48, size);
    let ending = bench.run("40,000 CPUs", &bytes, &["dump", "--insns"]);
    assert!(ending.code == Some(0) || ending.stderr.contains("streams at once"), "{}", ending.stderr);
}

#[test]
fn every_named_damage_leaves_a_report_whose_segments_add_up() {
    let capture = emulated("fault");
    let intervals = capture.intervals();
    let symfs = capture.symfs.to_string_lossy();
    for kind in Damage::value_variants() {
        for seed in 0..2 {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("perf.data");
            let done = damage(*kind, &capture.perf_data, &path, seed).expect("damaged");
            let what = format!("{kind:?} by seed {seed}: {done}");
            let run = |command: &[&str]| {
                let mut arguments = command.to_vec();
                let path = path.to_string_lossy();
                arguments.extend(["-i", &path, "--symfs", &symfs]);
                Ending::of(&what, &arguments)
            };
            let ending = run(&[
                "explain",
                "--intervals",
                &intervals,
                "--top",
                "2",
                "--baselines",
                "3",
                "--format",
                "json",
            ]);
            if ending.code == Some(0) {
                assert_eq!(ending.report()["outliers"].as_array().map(Vec::len), Some(2), "{what}");
            }
            if seed == 0 {
                let _ = run(&["dump", "--insns"]);
                let _ = run(&["explain", "--intervals", &intervals, "--top", "2", "--format", "markdown"]);
                let _ = run(&["stat", "--ptwrite", "begin=0x51,end=0x52,tag=56..63,id=32..55"]);
            }
        }
    }
}

#[test]
fn what_is_no_file_is_unusable() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("empty-folder")).expect("made");
    fs::create_dir_all(at("folder/data")).expect("made");
    std::os::unix::fs::symlink("nowhere", at("dangling")).expect("made");
    super::code_files::make_fifo(&at("fifo"));
    for (path, says) in [
        (at("missing"), "No such file"),
        (at("dangling"), "No such file"),
        (at("empty-folder"), "holds a file named `data`"),
        (at("folder"), "holds a file named `data`"),
        (at("fifo"), "neither a regular file nor a directory"),
        (Path::new("/dev/zero").into(), "neither a regular file nor a directory"),
        (Path::new("/proc/self/mem").into(), "/proc/self/mem"),
    ] {
        let path = path.to_string_lossy();
        for command in [&["dump", "--records"][..], &["dump", "--insns"], &["stat", "--function", "main"]] {
            let mut arguments = command.to_vec();
            arguments.extend(["-i", &path]);
            Ending::of(&path, &arguments).fails_in_one_line(says);
        }
    }
}
