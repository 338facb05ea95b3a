//! A recording without Intel PT, made here and now by the real perf and kernel: `fixtures/programs/recorded.c` plants slow requests
//! and writes down which, `tailtrace record --no-pt` records it, and every command has to name what was planted.
//!
//! It needs perf, a C compiler, and root or `sudo` without a password; where these are missing it fails and says which.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{left_out, repository, tailtrace};

/// A folder with a recording: perf.data, intervals.marks, planted.csv.
struct Recording {
    folder: TempDir,
    /// By key: kind and cause.
    planted: BTreeMap<u64, (String, String)>,
}

/// See [`turn`].
static ONE_RECORDER: Mutex<()> = Mutex::new(());

thread_local! {
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// While it is there, no other test records.
pub(crate) struct Turn(Option<MutexGuard<'static, ()>>);

/// Recorders take turns: where two are at work, Linux 6.18 now and then records nothing of a CPU's idle task, neither wake-ups in it nor switches
/// from it, and causes of waits are not known. A test that has the turn has it again.
pub(crate) fn turn() -> Turn {
    if HAS_TURN.get() {
        return Turn(None);
    }
    let guard = ONE_RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    HAS_TURN.set(true);
    Turn(Some(guard))
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.0.is_some() {
            HAS_TURN.set(false);
        }
    }
}

/// Whether the command records, or is a page's commands, which do.
fn records(command: &Command) -> bool {
    command.get_program() == "/bin/sh" || command.get_args().any(|argument| argument == "record")
}

pub(crate) fn run(command: &mut Command, why: &str) -> Output {
    let _turn = records(command).then(turn);
    let output = command.output().unwrap_or_else(|error| panic!("{why}: {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}: {command:?}: {}\n{said}", output.status);
    output
}

/// `tailtrace record`, as root: with `sudo` where the test is not. perf stays on the last CPU, away from the
/// requests: a kernel that writes for it lets no other thread run for some milliseconds.
pub(crate) fn record() -> Command {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel's own words");
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    let words = if is_root { &["taskset"][..] } else { &["sudo", "-n", "--", "taskset"] };
    let mut command = Command::new(words[0]);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    command.args(&words[1..]).args(["-c", &(cpus - 1).to_string()]).arg(tailtrace().get_program());
    command
}

/// What is missing where a recording fails.
pub(crate) const NEEDS: &str = "this test records this machine, with perf (Debian: linux-perf), and as root or by sudo without a password";

/// Compiles the program that injects slow requests.
pub(crate) fn compile(program: &Path) {
    compile_source("recorded.c", program);
}

/// Compiles one of `fixtures/programs`.
pub(crate) fn compile_source(source: &str, program: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(repository().join("crates/marks/include")).arg("-o").arg(program);
    compiler.arg(repository().join("fixtures/programs").join(source)).arg("-lpthread");
    run(&mut compiler, "this test needs a C compiler");
}

/// What the program wrote into `folder`, kind and cause by key, where the kernel's clocks agree: see [`is_as_planned`]. An interval
/// without a witness counts, for a program that was killed did not write the last ones.
pub(crate) fn planted(folder: &Path) -> BTreeMap<u64, (String, String)> {
    let rows = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(folder.join(name)).expect("the program's lists");
        let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let width = rows.next().expect("a header").len();
        rows.filter(|cells| cells.len() == width).collect()
    };
    let key = |cells: &[String]| -> u64 { cells[0].parse().expect("a key") };
    let disturbed: BTreeSet<u64> =
        rows("witness.csv").iter().filter(|cells| !is_as_planned(cells)).map(|cells| key(cells)).collect();
    let planted = rows("planted.csv");
    let kept = planted.iter().filter(|cells| !disturbed.contains(&key(cells)));
    kept.map(|cells| (key(cells), (cells[1].clone(), cells[2].clone()))).collect()
}

/// Whether a row of witness.csv has the request wait for more than it computed, and for less than twice what it was to: else this
/// machine had it wait longer than what was planted, and another cause is rightly the first. This is known without a recording.
fn is_as_planned(witness: &[String]) -> bool {
    let number = |at: usize| -> i64 { witness[at].parse().expect("a number of microseconds") };
    let (kind, took, on_cpu, planned) = (witness[1].as_str(), number(2), number(3), number(4));
    kind == "faults" || ((took - on_cpu) * 2 > took && (planned == 0 || took < 2 * planned))
}

impl Recording {
    /// Made once for all tests of a run.
    fn made() -> &'static Recording {
        static MADE: OnceLock<Recording> = OnceLock::new();
        MADE.get_or_init(Recording::new)
    }

    /// Made again where this machine was too busy to slow the requests down as planned.
    fn new() -> Recording {
        let mut attempts = (0..4).map(|_| Self::attempt());
        let enough = attempts.find(|recording| recording.planted.len() >= 40);
        enough.expect("40 requests that were as slow as planned: this machine was too busy each time")
    }

    fn attempt() -> Recording {
        // On a disk: waits for it are among what is planted.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let program = place("recorded");
        compile(&program);
        let mut recorder = record();
        recorder.args(["record", "--no-pt", "-o"]).arg(place("perf.data")).arg("--").arg(&program);
        recorder.arg(folder.path()).args(["1", "6000", "100", "spans"]);
        let why = NEEDS;
        run(&mut recorder, why);
        if recorder.get_program() == "sudo" {
            run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rX"]).arg(folder.path()), why);
        }
        let planted = planted(folder.path());
        Recording { folder, planted }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    /// The capture as perf alone leaves it, without the clock pairs that `tailtrace record` wrote beside it; its name.
    fn without_clocks(&self) -> String {
        let name = format!("alone-{:?}.data", std::thread::current().id());
        fs::hard_link(self.path("perf.data"), self.path(&name)).expect("the same file");
        name
    }

    fn json(&self, capture: &str, more: &[&str]) -> Value {
        let mut command = tailtrace();
        command.args(["explain", "--format", "json", "-i", &self.path(capture)]).args(more);
        let output = run(&mut command, "explain");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The explained intervals of the recording, those that were planted among them.
    fn explained(&self) -> Value {
        self.explained_by("intervals.marks")
    }

    /// The same intervals by another file.
    fn explained_by(&self, intervals: &str) -> Value {
        let ids = self.planted.keys().map(u64::to_string).collect::<Vec<_>>().join(",");
        self.json("perf.data", &["--intervals", &self.path(intervals), "--id", &ids])
    }
}

pub(crate) fn key(outlier: &Value) -> u64 {
    outlier["key"].as_str().and_then(|key| key.parse().ok()).expect("a key")
}

/// The cause with the largest excess.
pub(crate) fn first(outlier: &Value) -> &Value {
    let causes = outlier["causes"].as_array().expect("causes");
    causes.iter().max_by_key(|cause| cause["excess_ns"].as_i64()).expect("a cause")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Lock, late answer, preemption, disk, sleep: measured, as with a trace. The truth is the program's own list.
#[test]
fn planted_waits_are_named_first() {
    let recording = Recording::made();
    let report = recording.explained();
    let outliers = report["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len(), recording.planted.len());
    let (mut off_cpu, mut wrong) = (0, Vec::new());
    for outlier in outliers {
        let (kind, cause) = &recording.planted[&key(outlier)];
        if !cause.starts_with("offcpu.") {
            continue;
        }
        off_cpu += 1;
        let found = first(outlier);
        if text(&found["cause"]) != cause {
            wrong.push(format!("{kind}: {}", text(&outlier["headline"])));
        } else if kind != "io" {
            // A wait for a disk is inferred from the request that ended it.
            assert_eq!(found["certainty"], "measured", "{kind}: {}", outlier["headline"]);
        }
    }
    // Of 30 to 50 one may be wrong: what else runs on this machine may take longer than what was planted.
    assert!(off_cpu >= 25 && wrong.len() <= 1, "{} of {off_cpu}: {wrong:#?}", wrong.len());
    let by = |kind: &str, who: &str| {
        let named = |outlier: &&Value| {
            recording.planted[&key(outlier)].0 == kind && text(&outlier["headline"]).contains(who)
        };
        outliers.iter().filter(named).count()
    };
    for (kind, who) in
        [("lock", "holder"), ("wakeup", "peer"), ("preempt", "rival"), ("lock", "futex account")]
    {
        let all = recording.planted.values().filter(|(known, _)| known == kind).count();
        assert!(all > 0 && by(kind, who) + 1 >= all, "{who}: {} of {all} {kind}", by(kind, who));
    }
}

/// Of a machine some of whose CPUs are isolated, by its machine file: that of the interval's is not.
#[test]
fn a_preempted_request_says_that_its_cpu_is_not_isolated() {
    let recording = Recording::made();
    let capture = recording.without_clocks();
    let bytes = fs::read(recording.path("perf.data.machine.json")).expect("a machine file");
    let mut machine: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert!(machine["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()), "{machine}");
    machine["isolated"] = "61-63".into();
    fs::write(recording.path(&format!("{capture}.machine.json")), machine.to_string()).expect("written");
    let preempted = recording.planted.iter().filter(|(_, (kind, _))| kind == "preempt");
    let ids = preempted.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(",");
    let report = recording.json(&capture, &["--intervals", &recording.path("intervals.marks"), "--id", &ids]);
    let outliers = report["outliers"].as_array().expect("outliers");
    let of_preemption = |outlier: &Value| {
        let causes = outlier["causes"].as_array().expect("causes");
        causes.iter().any(|cause| {
            cause["cause"] == "offcpu.preempted"
                && text(&cause["detail"]).ends_with("on CPU 0, which is not isolated (CPUs 61-63 are)")
        })
    };
    let said = outliers.iter().filter(|outlier| of_preemption(outlier)).count();
    assert!(!outliers.is_empty() && said + 1 >= outliers.len(), "{said} of {}: {report}", outliers.len());
}

/// Page faults have records of their begin only: the time is measured to be on the CPU, and the report says what is known of it.
#[test]
fn time_on_a_cpu_says_that_no_flow_was_recorded() {
    let recording = Recording::made();
    let report = recording.explained();
    let (mut faulty, mut named) = (0, 0);
    for outlier in report["outliers"].as_array().expect("outliers") {
        if recording.planted[&key(outlier)].0 == "faults" {
            faulty += 1;
            let found = first(outlier);
            let detail = text(&found["detail"]);
            let said = found["cause"] == "trace.filtered" && detail.contains("no flow was recorded");
            // 1,500 are planted; the program's own first ones may come on top.
            let counted = detail.split(", ").any(|part| {
                part.strip_suffix(" page faults")
                    .and_then(|count| count.parse().ok())
                    .is_some_and(|count: u32| count >= 1_500)
            });
            // 2 ms at 4,000 samples a second.
            let inferred = outlier["segments"].as_array().expect("segments").iter().any(|segment| {
                let sampled = segment["sampled"].as_array().expect("a list");
                !sampled.is_empty() && sampled.iter().all(|function| function["certainty"] == "inferred")
            });
            named += usize::from(said && counted && inferred && detail.contains("inferred by "));
        }
    }
    assert!(faulty > 0 && named + 1 >= faulty, "{named} of {faulty}");
}

/// The records carry `CLOCK_MONOTONIC_RAW`, or perf's own clock where the kernel publishes its conversion.
#[test]
fn records_and_marks_have_one_clock() {
    let recording = Recording::made();
    let report = recording.explained();
    for outlier in report["outliers"].as_array().expect("outliers") {
        let clock =
            outlier["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "clock");
        assert_eq!(clock.expect("a check")["state"], "good", "{outlier}");
    }
    assert_eq!(report["population"]["in_recording"], report["population"]["count"]);
}

/// Spans carry `CLOCK_REALTIME`, and nothing of it is beside them: the recording's own pairs join them, within the bound that the
/// report states. The truth is the header's mark of the same interval, and the ticks that the program saw pass between the two.
#[test]
fn spans_of_realtime_are_the_marks_of_the_same_run() {
    let recording = Recording::made();
    let marks = recording.explained();
    let hz = marks["capture"]["tsc_hz"].as_u64().expect("the records are related to the TSC");
    let text = fs::read_to_string(recording.path("apart.csv")).expect("written");
    let apart: Vec<Vec<u64>> = text.lines().skip(1).map(numbers).collect();
    for file in ["otlp.json", "events.json"] {
        assert!(!Path::new(&recording.path(file)).with_extension("json.clocks").exists());
        let spans = recording.explained_by(file);
        let bound_ns = bound_of(&spans);
        // A pair every 100 ms: 25 us; where the recorder had to wait for its CPU, more.
        assert!((25_000..250_000).contains(&bound_ns), "{file}: {bound_ns} ns");
        assert_eq!(spans["population"]["count"], marks["population"]["count"]);
        let (found, expected) =
            (spans["outliers"].as_array().expect("some"), marks["outliers"].as_array().expect("some"));
        assert_eq!(found.len(), expected.len());
        let mut furthest = 0;
        for expected in expected {
            let id = expected["id"].as_u64().expect("an id");
            // They are in the order of their excess, which two clocks may see a little differently.
            let found = found.iter().find(|found| found["id"] == id).expect("the same requests");
            assert_eq!(found["start_thread"], expected["start_thread"]);
            let passed = apart.iter().find(|row| row[0] == id).expect("of each request");
            for (field, ticks) in [("start_tsc", passed[1]), ("stop_tsc", passed[2])] {
                let distance = reading(found, field).abs_diff(reading(expected, field)).saturating_sub(ticks);
                furthest = furthest.max(distance);
            }
            let (cause, of_marks) = (&first(found)["cause"], &first(expected)["cause"]);
            assert_eq!(cause, of_marks, "{file}, {id}: {}", found["headline"]);
        }
        let allowed = u128::from(bound_ns) * u128::from(hz) / 1_000_000_000;
        assert!(u128::from(furthest) <= allowed, "{file}: {furthest} ticks, {allowed} are the bound");
    }
}

/// `CLOCK_MONOTONIC_RAW` of the records, and marks in ticks without pairs: the recording's own relate them as the header's do.
#[test]
fn the_recordings_clock_pairs_stand_in_for_those_of_the_marks() {
    let recording = Recording::made();
    let marks = recording.explained();
    let outliers = marks["outliers"].as_array().expect("outliers");
    let row = |outlier: &Value| {
        let thread = &outlier["start_thread"];
        format!(
            "{},{},{},{},{}",
            outlier["id"],
            reading(outlier, "start_tsc"),
            reading(outlier, "stop_tsc"),
            thread["pid"],
            thread["tid"]
        )
    };
    let rows: Vec<String> = outliers.iter().map(row).collect();
    let text = format!("# tailtrace-intervals 1 clock=tsc\nid,start,stop,pid,tid\n{}\n", rows.join("\n"));
    fs::write(recording.path("ticks.csv"), text).expect("written");
    let found = recording.explained_by("ticks.csv");
    let found = found["outliers"].as_array().expect("outliers");
    assert_eq!(found.len(), outliers.len());
    for expected in outliers {
        // By the other clock two may have the other order.
        let found = found.iter().find(|found| found["id"] == expected["id"]).expect("the same requests");
        assert_eq!(first(found)["cause"], first(expected)["cause"], "{}", found["headline"]);
    }
}

fn numbers(line: &str) -> Vec<u64> {
    line.split(',').map(|cell| cell.parse().expect("a number")).collect()
}

fn reading(outlier: &Value, field: &str) -> u64 {
    text(&outlier[field]).parse().expect("a time")
}

/// How far converted times may be off, as the report says.
fn bound_of(report: &Value) -> u64 {
    let diagnostics = report["diagnostics"].as_array().expect("diagnostics");
    let said = diagnostics.iter().filter_map(|one| one["what"].as_str());
    let mut bounds =
        said.filter_map(|what| what.strip_suffix(" ns")?.split_once("each may be off by up to "));
    bounds.next().expect("a bound").1.parse().expect("a number")
}

/// A slice carries the conversion, for it has no interval file; and it explains what it was cut for as the recording does.
#[test]
fn a_slice_explains_as_its_recording() {
    let recording = Recording::made();
    let (marks, slice) = (recording.path("intervals.marks"), recording.path("slice.data"));
    let id = recording.planted.iter().find(|(_, (kind, _))| kind == "lock").expect("a lock").0.to_string();
    let mut command = tailtrace();
    command.args([
        "slice",
        "-i",
        &recording.path("perf.data"),
        "--intervals",
        &marks,
        "--id",
        &id,
        "-o",
        &slice,
    ]);
    run(&mut command, "slice");
    let whole = recording.json("perf.data", &["--intervals", &marks, "--id", &id]);
    let cut = recording.json("slice.data", &[]);
    assert_eq!(cut["outliers"][0]["causes"], whole["outliers"][0]["causes"]);
    assert_eq!(cut["outliers"][0]["headline"], whole["outliers"][0]["headline"]);
    let size = |path: &str| fs::metadata(path).expect("written").len();
    assert!(size(&slice) * 4 < size(&recording.path("perf.data")), "{} bytes", size(&slice));
}

/// Without any reading of the TSC the records' own clock is enough: the program's sleeps, by two records each.
#[test]
fn events_need_no_tsc() {
    let recording = Recording::made();
    let call = |side: &str| format!("raw_syscalls:sys_{side} if id == 230"); // clock_nanosleep
    let report = recording.json(
        &recording.without_clocks(),
        &["--begin", &call("enter"), "--end", &call("exit"), "--comm", "worker", "--over", "1ms"],
    );
    let outliers = report["outliers"].as_array().expect("outliers");
    let planted = recording.planted.values().filter(|(kind, _)| kind == "sleep").count();
    assert!(outliers.len() >= planted && planted > 0, "{} of {planted}", outliers.len());
    // A shorter sleep, after which the thread had to queue, may be among them.
    let slept = outliers.iter().filter(|outlier| first(outlier)["cause"] == "offcpu.sleep");
    let lengths: Vec<u64> = slept.filter_map(|outlier| outlier["duration_ns"].as_u64()).collect();
    // 2 ms in the program's source, and what waking up took.
    let long = lengths.iter().filter(|&&ns| ns >= 2_000_000).count();
    assert!(long + 1 >= planted, "{long} of {planted}: {lengths:?}");
    assert_eq!(report["capture"]["tsc_hz"], Value::Null);
}

/// Intervals in TSC without clock pairs cannot be placed on records of another clock.
#[test]
fn a_recording_without_pairs_says_what_is_missing() {
    let recording = Recording::made();
    if !perfs_clock_is_foreign(Path::new("/")) {
        left_out("this kernel publishes the conversion from TSC to perf's time: the records need no pairs");
        return;
    }
    let text = "# tailtrace-intervals 1 clock=tsc\nstart,stop\n1000,2000\n";
    fs::write(recording.path("no_pairs.csv"), text).expect("written");
    let capture = recording.without_clocks();
    let mut command = tailtrace();
    command.args(["explain", "-i", &recording.path(&capture)]);
    command.args(["--intervals", &recording.path("no_pairs.csv"), "--top", "1"]);
    let output = command.output().expect("tailtrace runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("recorded with `-k`") && said.contains("pairs of that clock"), "{said}");
    // An older recording's, which lie there still, are not taken for it.
    let older = "# clock-pair monotonic-raw tsc=1000 ns=400\n# clock-pair monotonic-raw tsc=2000 ns=800\n";
    fs::write(recording.path(&format!("{capture}.clocks")), older).expect("written");
    let output = command.output().expect("tailtrace runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("of another time than the capture's records"), "{said}");
    assert!(said.contains("pairs of that clock"), "{said}");
}

fn perfs_clock_is_foreign(root: &Path) -> bool {
    let folder = root.join("sys/devices/system/clocksource/clocksource0");
    fs::read_to_string(folder.join("available_clocksource")).is_ok_and(|clocks| clocks.contains("kvm-clock"))
}

/// Attached to a process that runs already: what was injected from then on is named first.
#[test]
fn a_running_process_can_be_attached_to() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let place = |name: &str| folder.path().join(name);
    compile(&place("recorded"));
    let mut recorder = record();
    let is_sudo = recorder.get_program() == "sudo";
    // It does not wait for other tests.
    let _turn = turn();
    let mut running = Command::new(place("recorded"))
        .arg(folder.path())
        .args(["5", "60000", "300"])
        .spawn()
        .expect("it runs");
    std::thread::sleep(std::time::Duration::from_millis(200));
    recorder.args(["record", "--no-pt", "-o"]).arg(place("perf.data"));
    run(recorder.args(["-p", &running.id().to_string()]), NEEDS);
    assert!(running.wait().expect("it ends").success());
    if is_sudo {
        run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rX"]).arg(folder.path()), NEEDS);
    }
    let planted = planted(folder.path());
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "--over", "1500us", "--top", "1000", "-i"]);
    command.arg(place("perf.data")).arg("--intervals").arg(place("intervals.marks"));
    let report: Value = serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON");
    let (mut judged, mut wrong) = (0, Vec::new());
    for outlier in report["outliers"].as_array().expect("outliers") {
        let Some((_, cause)) = planted.get(&key(outlier)) else { continue };
        let mut checks = outlier["checks"].as_array().expect("checks").iter();
        // What came before perf has no records.
        let is_recorded = checks.any(|check| check["name"] == "schedule" && check["state"] != "missing");
        if cause.starts_with("offcpu.") && is_recorded {
            judged += 1;
            if text(&first(outlier)["cause"]) != cause {
                wrong.push(format!("{cause}: {}", text(&outlier["headline"])));
            }
        }
    }
    assert!(judged >= 20 && wrong.len() <= 1, "{} of {judged}: {wrong:#?}", wrong.len());
}

/// Opened before the recording, whose records have its number only: its name is saved beside it, and a slice has it, too.
#[test]
fn descriptors_have_the_names_that_the_recording_saved() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let place = |name: &str| folder.path().join(name);
    compile_source("connected.c", &place("connected"));
    let mut connected = Command::new(place("connected"));
    let mut connected = connected.current_dir(folder.path()).spawn().expect("the program runs");
    while !place("port").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = connected.id().to_string();
    let mut recorder = record();
    recorder.args(["record", "--no-pt", "-o"]).arg(place("perf.data"));
    run(recorder.args(["-p", &pid, "--", "sleep", "1.5"]), NEEDS);
    fs::write(place("stop"), "").expect("written");
    assert!(connected.wait().expect("it ends").success());
    let port = fs::read_to_string(place("port")).expect("written by the program");
    let said = format!("to 127.0.0.1:{})", port.trim());
    // Many: the longest ones may lie before the recording, or wait for a CPU.
    let explained = |capture: &Path, more: &[&str]| {
        let mut command = tailtrace();
        command.args(["explain", "--top", "60", "--format", "json", "-i"]).arg(capture).args(more);
        String::from_utf8(run(&mut command, "a report").stdout).expect("UTF-8")
    };
    let marks = place("connected.marks").to_string_lossy().into_owned();
    let report = explained(&place("perf.data"), &["--intervals", &marks]);
    assert!(report.contains("read() on fd ") && report.contains(&said), "no {said}");
    let mut slicing = tailtrace();
    slicing.arg("slice").arg("-i").arg(place("perf.data")).args(["--intervals", &marks, "--top", "60"]);
    run(slicing.arg("-o").arg(place("slice.data")), "a slice");
    assert!(explained(&place("slice.data"), &[]).contains(&said), "the slice has none");
    let saved = |capture: &str| {
        let text = fs::read_to_string(place(capture)).expect("a machine file");
        let machine: Value = serde_json::from_str(&text).expect("JSON");
        let descriptors = machine["descriptors"].as_array().expect("a list");
        descriptors.iter().map(|one| one["pid"].to_string()).collect::<BTreeSet<String>>()
    };
    assert_eq!(saved("slice.data.machine.json"), [pid].into(), "only what the report names");
    assert!(saved("perf.data.machine.json").len() > 1);
    let mut bundling = tailtrace();
    bundling.arg("bundle").arg("-i").arg(place("perf.data")).args(["--intervals", &marks, "--top", "60"]);
    run(bundling.args(["--redact", "-o"]).arg(place("redacted.tar.zst")), "a bundle");
    let redacted = explained(&place("redacted.tar.zst"), &[]);
    assert!(redacted.contains("read() on fd ") && !redacted.contains("127.0.0.1"), "addresses are replaced");
}
