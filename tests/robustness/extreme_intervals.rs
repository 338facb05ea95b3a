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

use super::interval_files::HEADER;
use super::{Ending, limited};
use crate::captures::{Capture, emulated};

/// Of the capture `block`: the first and the last marker of its one thread. It has records of a block device.
const FIRST: u64 = 4_075_403_630;
const LAST: u64 = 4_223_686_375;
const THREAD: &str = "139,141";
/// As many intervals as the sound ones that they are compared with.
const COUNT: usize = 40;

/// Each extreme, by its intervals' starts and stops.
fn extremes() -> Vec<(&'static str, Vec<(u64, u64)>)> {
    let length = LAST - FIRST;
    let all = |range: (u64, u64)| vec![range; COUNT];
    // Nanoseconds of perf's clock for ticks, and one that is right: an error otherwise.
    let mut other_clock: Vec<(u64, u64)> =
        (1..COUNT as u64).map(|n| (1_500_000_000 + n * 1_000, 1_500_100_000)).collect();
    other_clock.push((FIRST, LAST));
    let steps = (0..COUNT as u64).map(|n| (FIRST + n, u64::MAX - n)).collect();
    vec![
        ("without an end", all((FIRST, u64::MAX))),
        ("from the counter's zero", all((0, LAST))),
        ("all of the counter", all((0, u64::MAX))),
        ("each a tick shorter than the one before", steps),
        ("a million times too long", all((FIRST, FIRST + length * 1_000_000))),
        ("in another clock", other_clock),
        ("empty", all((FIRST, FIRST))),
        (
            "at the end of the counter, and one sound",
            [vec![(u64::MAX - 1, u64::MAX); COUNT - 1], vec![(FIRST, LAST)]].concat(),
        ),
    ]
}

fn rows(ranges: &[(u64, u64)]) -> String {
    ranges.iter().fold(HEADER.to_owned(), |mut text, (start, stop)| {
        writeln!(text, "x,{start},{stop},{THREAD}").expect("into a string");
        text
    })
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
        },
        source: Some(Source::File(intervals.to_owned())),
        selection: Selection { top: Some(1), ..Selection::default() },
        effort: Effort { baselines: 2 },
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
    let capture = emulated("block");
    let sound = steps(&capture, "sound", &rows(&[(FIRST, LAST); COUNT]), u64::MAX);
    assert!(sound[1] > 10_000, "nothing is counted: {sound:?}");
    // The recording begins before the first marker and ends after the last one.
    let most = sound.map(|steps| steps * 4 + 100);
    for (what, ranges) in extremes() {
        let found = steps(&capture, what, &rows(&ranges), most[1]);
        let bounded = found.iter().zip(most).all(|(&found, most)| found <= most);
        assert!(bounded, "{what}: {found:?} steps, sound ones {sound:?}");
    }
}

/// What a thread waits for is looked up once however many intervals share the wait.
#[test]
fn a_hundred_thousand_over_the_same_time_cost_little_more_than_one() {
    let capture = emulated("block");
    let one = steps(&capture, "three", &rows(&[(FIRST, LAST); 3]), u64::MAX);
    let many = steps(&capture, "many", &rows(&vec![(FIRST, LAST); 100_000]), one[1] * 2);
    assert!(many[1] <= one[1] * 2, "{many:?} steps for many, {one:?} for three");
}

/// All extremes in one file, through every command that takes intervals, under the limit of CPU time and memory.
#[test]
fn every_command_ends_well() {
    let (capture, folder) = (emulated("block"), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("intervals.csv");
    let mut ranges: Vec<(u64, u64)> =
        extremes().into_iter().flat_map(|(_, ranges)| ranges[..3].to_vec()).collect();
    // Backwards: named, and left out.
    ranges.push((LAST, FIRST));
    fs::write(&path, rows(&ranges)).expect("written");
    let paths = [&capture.perf_data, &capture.symfs, &path].map(|path| path.to_string_lossy().into_owned());
    let [perf_data, symfs, intervals] = &paths;
    let out = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let page = out("page.html");
    let outputs = ["slice", "bundle", "csv", "folded", "firefox", "perfetto"].map(&out);
    let [slice, bundle, csv, folded, firefox, perfetto] = &outputs;
    for (command, more) in [
        ("stat", &[][..]),
        ("stat --format json", &[][..]),
        ("explain --top 4", &["--html", &page][..]),
        ("explain --top 4 --format markdown", &[][..]),
        ("explain --top 40 --format json", &[][..]),
        ("slice --top 2", &["-o", slice][..]),
        ("bundle --top 2", &["-o", bundle][..]),
        ("export --top 4 --to csv", &["-o", csv][..]),
        ("export --top 4 --to folded", &["-o", folded][..]),
        ("export --top 4 --to firefox", &["-o", firefox][..]),
        ("export --top 4 --to perfetto", &["-o", perfetto][..]),
    ] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["-i", perf_data, "--symfs", symfs, "--intervals", intervals]);
        if !command.starts_with("stat") {
            words.extend(["--baselines", "1"]);
        }
        words.extend(more);
        Ending::of(command, &words).ends_with(0, "");
    }
    let sound = out("sound.csv");
    fs::write(&sound, rows(&[(FIRST, LAST); 3])).expect("written");
    let words =
        ["diff", perf_data, perf_data, "--symfs", symfs, "--intervals", &sound, "--intervals-b", intervals];
    Ending::of("diff", &[&words[..], &["--top", "2", "--baselines", "1"]].concat()).ends_with(0, "");
    Ending::of("slice again", &["explain", "-i", slice, "--symfs", symfs]).ends_with(0, "");
    Ending::of("bundle again", &["explain", bundle]).ends_with(0, "");
    let many = out("many.csv");
    fs::write(&many, rows(&vec![(0, u64::MAX); 100_000])).expect("written");
    let output = limited(&["stat", "-i", perf_data, "--intervals", &many]).output().expect("sh runs");
    Ending::judged("many", output).ends_with(0, "");
}
