//! The capture check speaks of the interval's own time: what is missing is reported, and what cannot be known is not called
//! good. Also the report's words on its typical intervals and on waits for devices.
//!
//! Expected: what was taken away from a sound capture, and the truth of the emulated ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::{Tsc, TscRange};
use perfdata::{PerfData, Record};
use serde_json::Value;

use crate::captures::{Capture, bundled, emulated, tailtrace};
use crate::variants::encodings::{self, without_trace};

/// Name → (state, detail).
type Checks = BTreeMap<String, (String, String)>;

/// The report on `capture`'s file `perf_data`, with these intervals and more arguments.
#[track_caller]
fn explain(capture: &Capture, perf_data: &Path, intervals: &Path, arguments: &[&str]) -> Value {
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "-i"]).arg(perf_data).arg("--symfs").arg(&capture.symfs);
    let output = command.arg("--intervals").arg(intervals).args(arguments).output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

#[track_caller]
fn checks_of(report: &Value) -> Checks {
    let text = |check: &Value, name: &str| check[name].as_str().expect("text").to_owned();
    let checks = report["outliers"][0]["checks"].as_array().expect("checks");
    checks.iter().map(|check| (text(check, "name"), (text(check, "state"), text(check, "detail")))).collect()
}

/// Each of `expected` (name, state, a part of its detail) is in `checks`.
#[track_caller]
fn expect(checks: &Checks, expected: &[(&str, &str, &str)]) {
    for (name, state, part) in expected {
        let (found, detail) = checks.get(*name).unwrap_or_else(|| panic!("no {name} in {checks:?}"));
        assert_eq!(found, state, "{name}: {detail}");
        assert!(detail.contains(part), "{name}: {detail} does not say {part}");
    }
}

/// An interval of `tcp` in which its thread waits, by the truth.
fn a_wait(capture: &Capture) -> String {
    let truth = capture.truth();
    let entries = truth["explained"].as_array().expect("explained").clone();
    let waits = |entry: &&Value| entry["dominant"] == "offcpu.socket" && entry["planted"] == true;
    entries.iter().find(waits).expect("a wait")["id"].to_string()
}

#[test]
fn a_sound_capture_has_what_it_has() {
    let capture = emulated("tcp");
    let report =
        explain(&capture, &capture.perf_data, Path::new(&capture.intervals()), &["--id", &a_wait(&capture)]);
    expect(
        &checks_of(&report),
        &[
            ("PT", "good", "trace of CPU"),
            ("loss", "good", "none"),
            ("CYC", "good", "to the cycle"),
            ("code bytes", "good", "none missing"),
            ("kernel trace", "good", "kernel and user code"),
            ("schedule", "good", "cover the interval"),
            ("marks", "good", "within the recording"),
            ("records", "good", "all recommended events"),
            // perf's `sibling threads` of its header: 0 and 1, each alone.
            ("neighbours", "good", "; no SMT sibling"),
        ],
    );
}

/// perf wrote which id is of which CPU: two, where the machine is said to have four, as `perf record -C 0,1` leaves it.
#[test]
fn cpus_that_were_not_recorded_are_a_doubt_about_waits() {
    let capture = emulated("tcp");
    let folder = tempfile::tempdir().expect("a folder");
    let larger = encodings::of_a_machine_with(4, &capture.perf_data, &folder.path().join("larger"));
    let report = explain(&capture, &larger, Path::new(&capture.intervals()), &["--id", &a_wait(&capture)]);
    expect(&checks_of(&report), &[("schedule", "partial", "2 of 4 CPUs are recorded")]);
}

/// By perf, tid 3497496 leaves CPU 51 to tid 1473 at 7002363.907200935, and that one leaves it at .907204587; no record
/// names it, and wake-ups are not recorded.
#[test]
fn what_a_hardware_capture_lacks_is_not_told() {
    let capture = bundled("multicore");
    let report = explain(&capture, &capture.perf_data, Path::new(&capture.intervals()), &["--id", "0"]);
    expect(
        &checks_of(&report),
        &[("neighbours", "partial", "on its CPU while it was off: tid 1473 for 3.652 us;")],
    );
    let causes = report["outliers"][0]["causes"].as_array().expect("causes");
    let wait = causes.iter().find(|cause| cause["cause"] == "offcpu.other").expect("a wait");
    let detail = wait["detail"].as_str().expect("text");
    assert!(
        detail.ends_with("no record of its wake-up, and not on a CPU before the interval ended"),
        "{detail}"
    );
}

/// Records of single threads show nothing of others, though there are some of each kind.
#[test]
fn a_recording_of_threads_does_not_know_their_neighbours() {
    let capture = emulated("block");
    let perf_data = capture.root.join("thread/perf.data");
    let report = explain(&capture, &perf_data, Path::new(&capture.intervals()), &["--id", "0"]);
    let checks = checks_of(&report);
    expect(
        &checks,
        &[
            ("schedule", "good", "cover the interval"),
            ("records", "partial", "of the recorded threads only"),
            ("neighbours", "partial", "only the recorded threads' switches are known"),
        ],
    );
    assert!(!checks["neighbours"].1.contains("no other thread, "), "{checks:?}");
    assert!(
        checks["neighbours"].1.starts_with("on its CPU while it was off: none of the recorded threads"),
        "{checks:?}"
    );
}

/// perf may ask for all switches of the CPUs of a thread that it records: the `THREAD_MAP` (73) says that it is one.
#[test]
fn a_recording_of_a_thread_may_know_its_neighbours() {
    let (capture, folder) = (emulated("block"), tempfile::tempdir().expect("a folder"));
    let copy = folder.path().join("perf.data");
    let mut bytes = fs::read(capture.perf_data.join("data")).expect("readable");
    let sound = PerfData::open(&capture.perf_data).expect("the fixture opens");
    let map = sound.records().find(|timed| matches!(timed.record, Record::ThreadMap { .. })).expect("a map");
    let at = usize::try_from(map.offset.0).expect("fits");
    assert_eq!((bytes[at], &bytes[at + 16..at + 24]), (73, &[0xff; 8][..]), "after the header and the count");
    bytes[at + 16..at + 24].copy_from_slice(&7u64.to_le_bytes());
    fs::write(&copy, bytes).expect("written");
    let report = explain(&capture, &copy, Path::new(&capture.intervals()), &["--id", "0"]);
    expect(
        &checks_of(&report),
        &[
            ("records", "partial", "of the recorded threads only"),
            ("neighbours", "good", "on its CPU while it was off: no other thread"),
        ],
    );
}

/// All of its PT bytes are PAD: the headers still say that trace was recorded.
#[test]
fn without_packets_nothing_is_said_of_them() {
    let (capture, folder) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let perf_data = without_trace(&capture.perf_data, folder.path());
    let report = explain(&capture, &perf_data, Path::new(&capture.intervals()), &["--id", &a_wait(&capture)]);
    expect(
        &checks_of(&report),
        &[
            ("PT", "missing", "no packet of CPU"),
            ("loss", "partial", "% of the interval's time"),
            ("CYC", "missing", "not known"),
            ("code bytes", "missing", "not known"),
            ("kernel trace", "missing", "not known"),
            ("schedule", "good", "cover the interval"),
            ("neighbours", "good", "on its CPU while it was off:"),
        ],
    );
}

/// The marks of another recording: two billion ticks after the end of this one.
#[test]
fn marks_outside_the_recording_are_told() {
    let (capture, folder) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let text = fs::read_to_string(capture.intervals()).expect("the intervals");
    let shifted = text.lines().map(|line| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if let Some(at) = fields.get_mut(2)
            && let Ok(tsc) = at.parse::<u64>()
        {
            *at = (tsc + 2_000_000_000).to_string();
        }
        fields.join(",") + "\n"
    });
    let intervals = folder.path().join("intervals.csv");
    fs::write(&intervals, shifted.collect::<String>()).expect("written");
    let truth = capture.truth();
    let last = truth["explained"].as_array().expect("explained").iter().map(|entry| &entry["id"]);
    let last = last.filter_map(Value::as_u64).max().expect("ids").to_string();
    let report = explain(&capture, &capture.perf_data, &intervals, &["--id", &last]);
    expect(
        &checks_of(&report),
        &[
            ("marks", "missing", "after all records and trace"),
            ("schedule", "missing", "not known"),
            ("neighbours", "missing", "not known"),
        ],
    );
}

/// Markers that the program lost are counted with the population and in each interval's check.
#[test]
fn lost_markers_are_counted() {
    let (capture, folder) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let mut text = fs::read_to_string(capture.intervals()).expect("the intervals");
    let kept = text.lines().filter(|line| !line.starts_with('#')).count() - 1;
    text.push_str("# lost 1234567 marks of tid 1: they came faster than they can be written\n");
    let intervals = folder.path().join("intervals.csv");
    fs::write(&intervals, text).expect("written");
    let report = explain(&capture, &capture.perf_data, &intervals, &["--top", "1"]);
    let made = 1_234_567 + kept;
    assert_eq!(report["population"]["lost_markers"], serde_json::json!({"lost": 1_234_567, "made": made}));
    let grouped = format!("{},{:03},{:03}", made / 1_000_000, made / 1000 % 1000, made % 1000);
    let detail = format!("within the recording; 1,234,567 of {grouped} markers were lost");
    expect(&checks_of(&report), &[("marks", "partial", &detail)]);
}

/// A copy of the capture without switch records: their types are unknown ones, and the tracepoint has another name; so has
/// each of `others`.
fn without_records(capture: &Path, folder: &Path, others: &[&str]) -> PathBuf {
    let mut bytes = fs::read(capture.join("data")).expect("readable");
    let sound = PerfData::open(capture).expect("the fixture opens");
    for timed in sound.records() {
        if matches!(timed.record, Record::Switch { .. } | Record::SwitchCpuWide { .. }) {
            let at = usize::try_from(timed.offset.0).expect("fits");
            assert!(matches!(bytes[at], 14 | 15), "PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE");
            bytes[at] = 60;
        }
    }
    for name in ["sched_switch"].iter().chain(others) {
        let places: Vec<usize> = bytes
            .windows(name.len())
            .enumerate()
            .filter(|(_, at)| at == &name.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{name}");
        for at in places {
            bytes[at] = b'x';
        }
    }
    let copy = folder.join("perf.data");
    fs::write(&copy, bytes).expect("written");
    copy
}

/// A copy of the capture that lost all switches within `range`, without a word.
fn without_switches_within(capture: &Path, range: TscRange, to: &Path) -> PathBuf {
    let sound = PerfData::open(capture).expect("the fixture opens");
    let conversion = sound.time_conversion().expect("a clock");
    let times = conversion.to_perf_time(range.start)..conversion.to_perf_time(range.stop);
    let is_switch = |record: &Record<'_>| match record {
        Record::Switch { .. } | Record::SwitchCpuWide { .. } => true,
        Record::Sample(sample) => sample.event_name() == Some("sched:sched_switch"),
        _ => false,
    };
    let switches = sound.records_in(times).filter(|timed| is_switch(&timed.record));
    let places: Vec<usize> = switches.map(|timed| usize::try_from(timed.offset.0).expect("fits")).collect();
    assert!(places.len() > 3, "{} records", places.len());
    encodings::copy(capture, to, |bytes| {
        for &place in &places {
            bytes[place] = 60;
        }
    })
}

/// The records lack its switches, so by them the interval's thread runs all the time: it is not listed beside itself.
#[test]
fn nobody_is_its_own_neighbour() {
    let (capture, folder) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let (id, truth) = (a_wait(&capture), capture.truth());
    let number: u64 = id.parse().expect("a number");
    let entries = truth["explained"].as_array().expect("explained");
    let entry = entries.iter().find(|entry| entry["id"] == number).expect("the wait");
    let tsc = |name: &str| Tsc(entry[name].as_u64().expect("a time"));
    let range = TscRange::new(tsc("start_tsc"), tsc("stop_tsc"));
    let perf_data = without_switches_within(&capture.perf_data, range, folder.path());
    let report = explain(&capture, &perf_data, Path::new(&capture.intervals()), &["--id", &id]);
    expect(
        &checks_of(&report),
        &[
            ("schedule", "partial", "contradict"),
            ("neighbours", "good", "on its CPU while it was off: no other thread"),
        ],
    );
}

#[test]
fn what_no_record_tells_is_not_known() {
    let (capture, folder) = (emulated("tcp"), tempfile::tempdir().expect("a folder"));
    let others = ["sched_waking", "sched_wakeup", "irq_handler_entry", "softirq_entry"];
    let perf_data = without_records(&capture.perf_data, folder.path(), &others);
    let report = explain(&capture, &perf_data, Path::new(&capture.intervals()), &["--id", &a_wait(&capture)]);
    let checks = checks_of(&report);
    expect(&checks, &[("schedule", "missing", "not known"), ("neighbours", "missing", "not known")]);
    for untold in ["no switches", "no wake-ups", "no interrupts", "no softirqs"] {
        expect(&checks, &[("records", "partial", untold)]);
    }
    assert!(!checks["records"].1.contains("no system calls"), "{checks:?}");
}

/// Frames of `VTune`'s form name no thread.
#[test]
fn an_interval_without_a_thread_has_no_cpu_and_no_neighbours() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let intervals = folder.path().join("frames.csv");
    fs::write(&intervals, "name,start_tsc.TSC,end_tsc,pid,tid\nframe,1443401205,1443446385,,\n")
        .expect("written");
    let report = explain(&capture, &capture.perf_data, &intervals, &["--top", "1"]);
    let unknown = ["PT", "loss", "CYC", "code bytes", "kernel trace", "schedule", "neighbours"];
    expect(&checks_of(&report), &unknown.map(|name| (name, "missing", "not known")));
    expect(&checks_of(&report), &[("marks", "good", "within")]);
}

#[test]
fn the_rule_of_the_typical_ones_is_told_and_without_them_nothing_is_expected() {
    let capture = emulated("preempt");
    let explain = |baselines: &str| {
        let arguments = ["--top", "1", "--baselines", baselines];
        explain(&capture, &capture.perf_data, Path::new(&capture.intervals()), &arguments)
    };
    let certainty = |report: &Value| {
        let causes = report["outliers"][0]["causes"].as_array().expect("causes").clone();
        let expected = causes.iter().find(|cause| cause["cause"] == "user.expected").expect("user code ran");
        expected["certainty"].clone()
    };
    let compared = explain("4");
    let rule = compared["outliers"][0]["baseline_rule"].as_str().expect("a rule").to_owned();
    assert_eq!(compared["outliers"][0]["baselines"].as_array().map(Vec::len), Some(4));
    assert!(rule.contains("same label") && rule.contains("every n-th by duration"), "{rule}");
    assert!(rule.contains("on the same threads"), "{rule}");
    assert_eq!(certainty(&compared), "decoded");
    let all = explain("100000");
    let rule = all["outliers"][0]["baseline_rule"].as_str().expect("a rule").to_owned();
    assert!(rule.contains("all there are"), "{rule}");
    let alone = explain("0");
    assert_eq!(alone["outliers"][0]["baseline_rule"], "none: --baselines 0 asks for none");
    assert_eq!(certainty(&alone), "unknown");
}

/// The truth knows how long each interval waited for the disk.
#[test]
fn the_share_of_time_waiting_for_devices_is_the_truths() {
    let capture = emulated("block");
    let truth = capture.truth();
    let (mut waited, mut all) = (0, 0);
    let is_io = |cause: &str| cause == "offcpu.block-io";
    for entry in truth["explained"].as_array().expect("explained") {
        all += entry["ns"].as_u64().expect("ns");
        let causes = entry["causes"].as_array().expect("causes").iter();
        let io = causes.filter(|cause| is_io(cause["cause"].as_str().expect("a name")));
        waited += io.filter_map(|cause| cause["ns"].as_u64()).sum::<u64>();
    }
    for causes in truth["quiet"].as_object().expect("quiet").values() {
        for (cause, ns) in causes.as_object().expect("causes") {
            let ns = ns.as_u64().expect("ns");
            (all, waited) = (all + ns, waited + if is_io(cause) { ns } else { 0 });
        }
    }
    let report = explain(&capture, &capture.perf_data, Path::new(&capture.intervals()), &["--top", "1"]);
    let (view, thousandths) = (&report["view"], waited * 1000 / all);
    assert!(thousandths > 500, "it waits most of the time: {thousandths}");
    let device = &view["devices"][0];
    for share in [&view["block_io"]["share"], &device["wait_share"]] {
        let found = share.as_f64().expect("a share") * 1000.0;
        assert!(
            (found - f64::from(u32::try_from(thousandths).expect("small"))).abs() <= 1.0,
            "{found}, {thousandths}"
        );
    }
}
