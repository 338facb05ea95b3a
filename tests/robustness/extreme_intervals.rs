//! Extreme intervals: without an end, from the counter's zero, a million times too long, in another clock, empty, a hundred
//! thousand over the same time. They cost what sound ones over the whole recording cost, by counts of records read and of blocks
//! decoded, and every command ends well on them.

use std::any::Any;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use analysis::capture::{Meter, Phase, Watch};
use analysis::request::{Code, Effort, Input, Request, Source};
use analysis::study::{self, Listing, Study};
use analysis::{Error, slice};
use intervals::Selection;

use super::Ending;
use super::interval_files::HEADER;
use crate::captures::{Capture, emulated, repository};

/// As many intervals as the sound ones that they are compared with.
const COUNT: usize = 40;

/// A capture, and all of its time between markers: from the first to the last one, on one thread.
struct Recording {
    capture: Capture,
    first: u64,
    last: u64,
    thread: &'static str,
}

/// A small one with records of a block device: a walk over time looks for these.
fn small(folder: &Path) -> Recording {
    let source = repository().join("fixtures/scenarios/block_io-named_disk.scenario");
    tracegen::scenario::make(&source, folder).unwrap_or_else(|error| panic!("{error}"));
    let root = folder.to_owned();
    let text = fs::read_to_string(root.join("intervals.csv")).expect("intervals");
    let rows = text.lines().skip(2).map(|line| line.split(',').collect::<Vec<_>>());
    let times: Vec<u64> =
        rows.flat_map(|row| [row[2], row[3]].map(|at| at.parse().expect("a TSC"))).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    let capture = Capture { perf_data: root.join("perf.data"), symfs: root.join("symfs"), root };
    Recording { capture, first, last, thread: "100,101" }
}

/// A large one, 57 ms of it, with such records, too.
fn large() -> Recording {
    let capture = emulated("block");
    let text = fs::read_to_string(capture.root.join("intervals.csv")).expect("intervals");
    let marks = text.lines().filter(|line| line.starts_with("begin,") || line.starts_with("end,"));
    let mut times = marks.map(|mark| mark.split(',').nth(2).expect("a TSC").parse().expect("a TSC"));
    let (first, last) = (times.next().expect("a mark"), times.next_back().expect("a mark"));
    Recording { capture, first, last, thread: "139,141" }
}

impl Recording {
    /// Each extreme, by its intervals' starts and stops.
    fn extremes(&self) -> Vec<(&'static str, Vec<(u64, u64)>)> {
        let &Recording { first, last, .. } = self;
        let all = |range: (u64, u64)| vec![range; COUNT];
        let and_a_sound_one = |range| [vec![range; COUNT - 1], vec![(first, last)]].concat();
        let steps = (0..COUNT as u64).map(|n| (first + n, u64::MAX - n)).collect();
        vec![
            ("without an end", all((first, u64::MAX))),
            ("from the counter's zero", all((0, last))),
            ("all of the counter", all((0, u64::MAX))),
            ("each two ticks shorter than the one before", steps),
            ("a million times too long", all((first, first + (last - first) * 1_000_000))),
            ("empty", all((first, first))),
            // As nanoseconds of perf's clock are that are taken for ticks; alone they are an error.
            ("in another clock", and_a_sound_one((1, 1 + (last - first) / 3))),
            ("at the end of the counter", and_a_sound_one((u64::MAX - 1, u64::MAX))),
        ]
    }

    fn rows(&self, ranges: &[(u64, u64)]) -> String {
        ranges.iter().fold(HEADER.to_owned(), |mut text, (start, stop)| {
            writeln!(text, "x,{start},{stop},{}", self.thread).expect("into a string");
            text
        })
    }

    /// So many that are as long as the recording.
    fn sound(&self, count: usize) -> String {
        self.rows(&vec![(self.first, self.last); count])
    }
}

/// Counts what is decoded: the watches of all that was shown.
#[derive(Default)]
struct Decoded(Mutex<Vec<Arc<Watch>>>);

impl Meter for Decoded {
    fn show(&self, _: Phase, watch: &Arc<Watch>) -> Box<dyn Any> {
        self.0.lock().expect("no panic").push(Arc::clone(watch));
        Box::new(())
    }
}

impl Decoded {
    /// Windows, and blocks and events in them.
    fn steps(&self) -> u64 {
        let all = self.0.lock().expect("no panic");
        all.iter().map(|watch| watch.progress()).map(|seen| seen.items + seen.done as u64).sum()
    }
}

/// Does `work` while its steps are counted by `steps`; ends the process where they exceed `most`, for a thread that does not end
/// cannot be stopped.
fn counted<T: Send>(what: &str, most: u64, steps: impl Fn() -> u64, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let working = scope.spawn(work);
        while !working.is_finished() {
            if steps() > most {
                eprintln!("{what}: more than {most} steps");
                process::abort();
            }
            thread::sleep(Duration::from_millis(1));
        }
        working.join().expect("no panic")
    })
}

fn request(capture: &Capture, intervals: &Path) -> Request {
    Request {
        input: Input {
            path: capture.perf_data.clone(),
            code: Code { symfs: Some(capture.symfs.clone()), ..Code::default() },
            ..Input::default()
        },
        source: Some(Source::File(intervals.to_owned())),
        selection: Selection { top: Some(1), ..Selection::default() },
        effort: Effort { baselines: 1, same_path: false },
        ..Request::default()
    }
}

/// The steps of `stat`, of `explain`, and of cutting a slice; at most `most` of each.
fn steps(capture: &Capture, what: &str, content: &str, most: u64) -> [u64; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("intervals.csv");
    fs::write(&path, content).expect("written");
    let request = request(capture, &path);
    let of_study = |work: &(dyn Fn(&Study<'_>) + Sync)| {
        let decoded = Decoded::default();
        let with = study::with(&request, &decoded, |study| {
            let records = || study.capture().perf().read_steps();
            counted(what, most, || records() + decoded.steps(), || work(study));
            Ok::<_, Error>(records() + decoded.steps())
        });
        with.unwrap_or_else(|error| panic!("{what}: {error}"))
    };
    let stat = of_study(&|study| drop(report::render_stat_text(&study.figures(), &STYLE)));
    let explain = of_study(&|study| {
        let report = study.report(Listing::None);
        drop((
            report::render_text(&report, &STYLE),
            report::render_html(&report),
            report::render_json(&report),
        ));
        drop((report::export_csv(&report), report::export_perfetto(&report)));
    });
    let decoded = Decoded::default();
    let cut = || slice::make(&request, &decoded, Listing::None, false).map(drop);
    counted(what, most, || decoded.steps(), cut).unwrap_or_else(|error| panic!("{what}: {error}"));
    [stat, explain, decoded.steps()]
}

const STYLE: report::Style = report::Style { width: 100, color: false, unicode: true };

#[test]
fn they_cost_what_sound_ones_cost() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = small(folder.path());
    let sound = steps(&recording.capture, "sound", &recording.sound(COUNT), u64::MAX);
    assert!(sound[1] > 100, "nothing is counted: {sound:?}");
    // The recording begins before the first marker and ends after the last one.
    let most = sound.map(|steps| steps * 4 + 100);
    for (what, ranges) in recording.extremes() {
        let found = steps(&recording.capture, what, &recording.rows(&ranges), most[1]);
        let bounded = found.iter().zip(most).all(|(&found, most)| found <= most);
        assert!(bounded, "{what}: {found:?} steps, sound ones {sound:?}");
    }
}

/// What a thread waits for is looked up once however many intervals share the wait.
#[test]
fn a_hundred_thousand_over_the_same_time_cost_what_three_cost() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = small(folder.path());
    let three = steps(&recording.capture, "three", &recording.sound(3), u64::MAX);
    let many = steps(&recording.capture, "many", &recording.sound(100_000), three[1] * 2);
    assert!(many[1] <= three[1] * 2, "{many:?} steps for many, {three:?} for three");
}

/// The counter of this guest starts before its perf clock: what lies before the clock's zero is no later time.
#[test]
fn a_start_before_the_perf_clock_hides_no_wait() {
    let (recording, folder) = (large(), tempfile::tempdir().expect("a folder"));
    let waits = |start: u64| {
        let path = folder.path().join(format!("{start}.csv"));
        fs::write(&path, recording.rows(&[(start, recording.last)])).expect("written");
        let paths = [&recording.capture.perf_data, &path].map(|path| path.to_string_lossy().into_owned());
        let words = ["explain", "-i", &paths[0], "--intervals", &paths[1], "--top", "1", "--format", "json"];
        let report = Ending::of("waits", &words).ends_with(0, "").report();
        let waits = report["view"]["waits"].as_array().expect("waits").iter();
        waits.map(|wait| wait["fast"]["count"].as_u64().expect("a count")).sum::<u64>()
    };
    assert!(waits(recording.first) > 100, "the capture's thread reads a hundred times");
    assert!(waits(0) >= waits(recording.first), "{} of {}", waits(0), waits(recording.first));
}

#[test]
fn every_command_ends_well() {
    let folder = tempfile::tempdir().expect("a folder");
    run_every_command(&small(folder.path()));
}

#[test]
#[ignore = "scripts/test captures runs it"]
fn every_command_ends_well_on_a_large_recording() {
    run_every_command(&large());
}

/// All extremes in one file, through every command that takes intervals, under the limit of CPU time and memory.
fn run_every_command(recording: &Recording) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("intervals.csv");
    let mut ranges: Vec<(u64, u64)> =
        recording.extremes().into_iter().flat_map(|(_, ranges)| ranges[..2].to_vec()).collect();
    // Backwards: named, and left out.
    ranges.push((recording.last, recording.first));
    fs::write(&path, recording.rows(&ranges)).expect("written");
    let capture = &recording.capture;
    let paths = [&capture.perf_data, &capture.symfs, &path].map(|path| path.to_string_lossy().into_owned());
    let [perf_data, symfs, intervals] = &paths;
    let out = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    // The first of each extreme has an even id; what is written has a name.
    for (command, option, name) in [
        ("stat", "", ""),
        ("stat --format json", "", ""),
        ("explain --id 0", "--html", "page.html"),
        ("explain --id 4 --format markdown", "", ""),
        ("explain --id 0,2,4,6,8,10,12,14 --format json", "", ""),
        ("slice --id 4", "-o", "slice"),
        ("bundle --id 0", "-o", "bundle"),
        ("export --id 2 --to csv", "-o", "segments.csv"),
        ("export --id 4 --to folded", "-o", "stacks"),
        ("export --id 8 --to firefox", "-o", "profile.json"),
        ("export --id 0 --to perfetto", "-o", "trace"),
    ] {
        let written = out(name);
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["-i", perf_data, "--symfs", symfs, "--intervals", intervals]);
        if !command.starts_with("stat") {
            words.extend(["--baselines", "1"]);
        }
        if !name.is_empty() {
            words.extend([option, &*written]);
        }
        Ending::of(command, &words).ends_with(0, "");
    }
    let sound = out("sound.csv");
    fs::write(&sound, recording.sound(2)).expect("written");
    let words =
        ["diff", perf_data, perf_data, "--symfs", symfs, "--intervals", &sound, "--intervals-b", intervals];
    Ending::of("diff", &[&words[..], &["--top", "1", "--baselines", "1"]].concat()).ends_with(0, "");
    Ending::of("slice again", &["explain", "-i", &out("slice"), "--symfs", symfs]).ends_with(0, "");
    Ending::of("bundle again", &["explain", &out("bundle")]).ends_with(0, "");
}

/// Each of them has all waits of the recording.
#[test]
fn a_hundred_thousand_end_well() {
    let (recording, folder) = (large(), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("many.csv");
    fs::write(&path, recording.rows(&vec![(0, u64::MAX); 100_000])).expect("written");
    let paths = [&recording.capture.perf_data, &path].map(|path| path.to_string_lossy().into_owned());
    for command in [&["stat"][..], &["explain", "--top", "1", "--baselines", "1"]] {
        let words = [command, &["-i", &paths[0], "--intervals", &paths[1]]].concat();
        Ending::of("many", &words).ends_with(0, "");
    }
}
