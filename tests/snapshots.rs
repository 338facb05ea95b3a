//! `tailtrace record --snapshot-over`, here and now with the real perf and kernel: which of the slow requests that
//! `fixtures/programs/recorded.c` injects are in slices, what the account says of the others, and what is left when the recorder, perf
//! or the program is killed. It needs what `no_pt` needs, and fails as that does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::tailtrace;
use crate::no_pt::{NEEDS, Turn, compile, first, key, planted, record, run, turn};

/// So many requests of 0.1 ms, one in so many slow.
const REQUESTS: [&str; 3] = ["3", "30000", "1500"];
/// The same for longer than the first slice takes on a busy machine.
pub(crate) const WITHOUT_END: [&str; 3] = ["3", "3000000", "1500"];

/// The recorder, with what it records.
fn recorder(folder: &TempDir, out: &Path, over: &str, more: &[&str]) -> Command {
    recorder_of(REQUESTS, folder, out, over, more)
}

pub(crate) fn recorder_of(
    requests: [&str; 3],
    folder: &TempDir,
    out: &Path,
    over: &str,
    more: &[&str],
) -> Command {
    let program = folder.path().join("recorded");
    compile(&program);
    let mut command = record();
    command.args(["record", "--no-pt", "--snapshot-over", over, "-o"]).arg(out).args(more);
    command.arg("--").arg(&program).arg(out).args(requests);
    command
}

/// The files in `folder` whose names begin and end so.
pub(crate) fn files(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(begin) && name.ends_with(end)
    };
    let mut files: Vec<PathBuf> = entries.filter(named).collect();
    files.sort();
    files
}

pub(crate) fn explained(capture: &Path, more: &[&str]) -> Value {
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "-i"]).arg(capture).args(more);
    serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON")
}

/// Runs a recording to its end: what it printed, and the account in `out`.
pub(crate) fn recorded(command: &mut Command, out: &Path) -> (Output, Value) {
    let output = run(command, NEEDS);
    if command.get_program() == "sudo" {
        make_readable(out);
    }
    let account = fs::read(out.join("snapshots.json")).expect("an account");
    (output, serde_json::from_slice(&account).expect("JSON"))
}

/// What the recorder wrote as root.
pub(crate) fn make_readable(folder: &Path) {
    run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rwX"]).arg(folder), NEEDS);
}

/// What a recording kept of the slow requests that its program injected.
struct Kept {
    injected: usize,
    /// Of these, those in a slice.
    judged: usize,
    /// Of those whose cause is off the CPU, how many there are, and how many have it first.
    off_cpu: [usize; 2],
    /// The account, and what the recorder printed.
    printed: String,
}

/// Records `requests` and explains all slices: the account is that of the slices, no slow request is in two, and the rest is removed.
fn kept(requests: [&str; 3]) -> Kept {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let out = folder.path().join("slow");
    let mut command = recorder_of(requests, &folder, &out, "1ms,request", &["--a-minute", "120"]);
    let (output, account) = recorded(&mut command, &out);
    let count = |value: &Value| value.as_u64().expect("a number");
    let skipped: u64 = account["skipped"].as_object().expect("reasons").values().map(count).sum();
    let (slow, of_account) = (count(&account["slow"]), count(&account["kept"]));
    assert_eq!(account["intervals"].to_string(), requests[1], "{account}");
    assert_eq!(slow, of_account + skipped, "{account}");
    let injected = planted(&out);
    // The limit is not known in the first 100 ms; all that is injected takes 2 ms.
    assert!(slow >= injected.len() as u64, "{} {account}", injected.len());
    let (mut found, mut judged, mut off_cpu) = (BTreeSet::new(), 0, [0; 2]);
    for slice in files(&out, "slow-", ".data") {
        let report = explained(&slice, &[]);
        assert_eq!(report["population"]["snapshots"]["skipped"], account["skipped"]);
        for outlier in report["outliers"].as_array().expect("outliers") {
            assert!(found.insert(key(outlier)), "{} is in two slices", key(outlier));
            let Some((_, cause)) = injected.get(&key(outlier)) else { continue };
            judged += 1;
            if cause.starts_with("offcpu.") {
                off_cpu[0] += 1;
                off_cpu[1] += usize::from(first(outlier)["cause"] == cause.as_str());
            }
        }
    }
    assert_eq!(found.len() as u64, of_account);
    assert!(files(&out, "ring.", "").is_empty(), "rings are removed");
    assert!(!out.join("doorbell").exists());
    let bytes: u64 = files(&out, "", "").iter().map(|path| fs::metadata(path).expect("a file").len()).sum();
    // Two MiB for each slice, with the binaries and the interval file.
    assert!(bytes < (20 + 2 * of_account) << 20, "{bytes} bytes");
    let printed = format!("{account}\n{}", String::from_utf8_lossy(&output.stderr));
    Kept { injected: injected.len(), judged, off_cpu, printed }
}

#[test]
fn what_was_slow_is_kept_and_the_rest_is_counted() {
    let Kept { injected, judged, off_cpu: [off_cpu, right], printed } = kept(REQUESTS);
    // While perf writes a ring, it records nothing: on a busy machine some are in none.
    assert!(injected >= 10 && judged * 4 >= injected * 3, "{judged} of {injected} are kept: {printed}");
    assert!(right + 1 >= off_cpu, "{right} of {off_cpu} causes are right");
}

/// A program that ends its requests by `tailtrace_end` compares nothing: its writing thread rings, and the account says so.
#[test]
fn what_no_thread_compares_is_kept() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (program, out) = (folder.path().join("recorded"), folder.path().join("slow"));
    compile(&program);
    let mut command = record();
    command
        .args(["record", "--no-pt", "--snapshot-over", "1ms,request", "--a-minute", "120", "-o"])
        .arg(&out);
    command.args(["--", "env", "RECORDED_PLAIN_END=1"]).arg(&program).arg(&out).args(REQUESTS);
    let (output, account) = recorded(&mut command, &out);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(account["kept"].as_u64().is_some_and(|kept| kept >= 5), "{account}");
    let rings = account["doorbell"].as_u64().expect("a count");
    // The limit is known after 100 ms; a request with its pause takes 70 us or more.
    let known = planted(&out).keys().filter(|&&key| key >= 1_600).count() as u64;
    assert!(known >= 5 && rings >= known && account["late"].as_u64() == Some(rings), "{known} {account}");
    assert!(printed.contains("came from the program's writing thread"), "{printed}");
}

/// One in 10,000 for a minute.
#[test]
#[ignore = "takes minutes: scripts/test captures"]
fn nearly_all_that_is_rarely_slow_is_kept() {
    let Kept { injected, judged, off_cpu: [off_cpu, right], printed } = kept(["5", "600000", "10000"]);
    eprintln!(
        "{judged} of {injected} are kept, {right} of {off_cpu} causes off the CPU are right: {printed}"
    );
    assert!(injected >= 40 && judged * 100 >= injected * 95, "{judged} of {injected} are kept: {printed}");
    assert!(right * 100 >= off_cpu * 99, "{right} of {off_cpu} causes are right");
}

/// The program goes on for a second after its last interval, and perf writes a ring before and after that: no ring stays.
#[test]
fn a_ring_without_intervals_goes() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (program, out) = (folder.path().join("recorded"), folder.path().join("slow"));
    compile(&program);
    let mut command = record();
    command
        .args(["record", "--no-pt", "--snapshot-over", "1ms,request", "-o"])
        .arg(&out)
        .args(["--", "sh", "-c"]);
    let waits = "\"$0\" \"$1\" 3 3000 1500; sleep 1; echo slow >\"$TAILTRACE_DOORBELL\"; sleep 2";
    let output = run(command.arg(waits).arg(&program).arg(&out), NEEDS);
    let left: Vec<PathBuf> = files(&out, "ring.", "");
    assert!(left.is_empty(), "{left:?} {}", String::from_utf8_lossy(&output.stderr));
}

/// A program without marks rings, and says by its own clock when it was slow: the recording's clock pairs relate that to a ring.
#[test]
fn what_has_no_marks_joins_by_the_recordings_clocks() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (out, own) = (folder.path().join("slow"), folder.path().join("own.csv"));
    let program = r#"
        { echo '# tailtrace-intervals 1 clock=realtime'; echo start,stop,pid,tid; } >"$0"
        for request in 1 2 3 4 5 6; do
            start=$(date +%s%N); sleep 0.05; stop=$(date +%s%N)
            echo "$start,$stop,$$,$$" >>"$0"
        done
        sleep 0.05; echo slow >"$TAILTRACE_DOORBELL"; sleep 2"#;
    let mut command = record();
    command.args(["record", "--no-pt", "--snapshot-over", "1ms", "-o"]).arg(&out);
    run(command.args(["--", "sh", "-c", program]).arg(&own), NEEDS);
    if command.get_program() == "sudo" {
        make_readable(&out);
    }
    let ring = &files(&out, "ring.", "")
        .into_iter()
        .find(|path| path.extension().is_some_and(|time| time != "json"))
        .expect("a ring");
    let report = explained(ring, &["--intervals", &own.to_string_lossy(), "--top", "6"]);
    let outliers = report["outliers"].as_array().expect("outliers");
    assert!(outliers.len() >= 5, "{} of 6 are in the ring", outliers.len());
    // The shell waits for its child. The ring may have overwritten the first ones.
    let is_wait =
        |outlier: &&Value| first(outlier)["cause"].as_str().is_some_and(|cause| cause.starts_with("offcpu."));
    let waits = outliers.iter().filter(is_wait).count();
    assert!(waits >= 3, "{waits} of 6");
    assert!(out.join("clocks").exists());
}

/// What was longer than one in a thousand until then: the program rings by itself, and what rang is slow.
#[test]
fn a_running_percentile_is_a_limit() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let out = folder.path().join("slow");
    let mut command = recorder(&folder, &out, "p99.9,request", &["--a-minute", "120"]);
    let (_, account) = recorded(&mut command, &out);
    let limit = &account["limits"][0];
    assert_eq!((&limit["percentile"], &limit["over_ns"]), (&Value::from("99.9"), &Value::Null));
    let count = |value: &Value| value.as_u64().expect("a number");
    let skipped: u64 = account["skipped"].as_object().expect("reasons").values().map(count).sum();
    let (slow, kept) = (count(&account["slow"]), count(&account["kept"]));
    // 20,000 are judged; one in 1,500 is injected, and what else runs on this machine changes what is usual.
    assert!((5..=400).contains(&slow) && slow == kept + skipped, "{account}");
    assert_eq!((count(&account["doorbell"]), count(&account["intervals"])), (slow, 30_000), "{account}");
    let mut found = 0;
    for slice in files(&out, "slow-", ".data") {
        let report = explained(&slice, &[]);
        for outlier in report["outliers"].as_array().expect("outliers") {
            found += 1;
            let usual = count(&report["population"]["percentiles"]["p90"]);
            assert!(count(&outlier["duration_ns"]) > usual, "{outlier}");
        }
    }
    assert!(found > 0 && found == kept, "{found}: {account}");
}

/// 64 KiB hold some milliseconds of a busy CPU, and a snapshot comes 40 ms after the doorbell.
#[test]
fn rings_that_are_too_small_are_named() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let output =
        run(&mut recorder(&folder, &folder.path().join("slow"), "1ms,request", &["-m", "64K"]), NEEDS);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("at this rate the ring of CPU ").count(), 1, "{said}");
}

pub(crate) fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(120), "there is no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A recorder that runs, and what it started.
pub(crate) struct Recorder {
    child: Child,
    is_sudo: bool,
    _turn: Turn,
}

impl Recorder {
    pub(crate) fn run(mut command: Command) -> Recorder {
        let is_sudo = command.get_program() == "sudo";
        let turn = turn();
        Recorder { child: command.spawn().expect(NEEDS), is_sudo, _turn: turn }
    }

    /// Each of them, with its name.
    fn processes(&self) -> Vec<(String, String)> {
        let mut processes = Vec::new();
        let mut next = vec![self.child.id().to_string()];
        while let Some(process) = next.pop() {
            let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            for thread in threads {
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                next.extend(children.split_whitespace().map(str::to_owned));
            }
            let comm = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            processes.push((comm.trim_end().to_owned(), process));
        }
        processes
    }

    /// The number of the process of that name.
    pub(crate) fn process(&self, name: &str) -> String {
        let processes = self.processes();
        let found = processes.iter().find(|(comm, _)| comm == name);
        found.unwrap_or_else(|| panic!("no {name} among {processes:?}")).1.clone()
    }

    pub(crate) fn kill(&self, process: &str) {
        let mut words = if self.is_sudo { vec!["sudo", "-n"] } else { Vec::new() };
        words.extend(["kill", "-KILL", process]);
        run(Command::new(words[0]).args(&words[1..]), NEEDS);
    }

    /// Waits for its end, and until nothing writes into `out` any more: then perf has given its last file its name. Returns the exit
    /// code.
    pub(crate) fn ends(&mut self, out: &Path) -> Option<i32> {
        let code = self.child.wait().expect("ended").code();
        wait_for("end of perf", || !out.join("ring").exists());
        if self.is_sudo {
            make_readable(out);
        }
        code
    }
}

/// A recording that goes on, and has written its first slice.
struct Underway {
    folder: TempDir,
    recorder: Recorder,
}

impl Underway {
    fn begin(more: &[&str]) -> Underway {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let out = folder.path().join("slow");
        let recorder = Recorder::run(recorder_of(WITHOUT_END, &folder, &out, "1ms,request", more));
        let underway = Underway { folder, recorder };
        wait_for("a slice", || underway.has("slow-", ".data"));
        underway
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("slow")
    }

    fn has(&self, begin: &str, end: &str) -> bool {
        self.out().exists() && !files(&self.out(), begin, end).is_empty()
    }

    /// Kills the process of that name, then the program, which has no end of its own and has outlived the other one.
    fn kill(&self, name: &str) {
        let [victim, program] = [name, "recorded"].map(|name| self.recorder.process(name));
        self.recorder.kill(&victim);
        if victim != program {
            // In a second some requests ring.
            std::thread::sleep(Duration::from_secs(1));
            let state = fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
            assert!(!state.is_empty() && !state.contains(") Z "), "the program ended with {name}: {state:?}");
            self.recorder.kill(&program);
        }
    }

    /// Waits until nothing writes any more: all slices and rings that are there open, and hold what was slow.
    fn ends(mut self, is_complete: bool) {
        let out = self.out();
        let code = self.recorder.ends(&out);
        let slices = files(&out, "slow-", ".data");
        for slice in &slices {
            let report = explained(slice, &[]);
            assert!(!report["outliers"].as_array().expect("outliers").is_empty());
            assert_eq!(report["population"]["snapshots"]["is_complete"], is_complete, "{code:?}");
        }
        let rings = files(&out, "ring.", "");
        let marks = out.join("intervals.marks").to_string_lossy().into_owned();
        for ring in rings.iter().filter(|ring| !ring.to_string_lossy().ends_with(".json")) {
            let mut command = tailtrace();
            command.args(["explain", "--top", "1", "--intervals", &marks, "-i"]).arg(ring);
            let output = command.output().expect("tailtrace runs");
            // The last one may begin after the program's last interval.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() || said.contains("intervals lie in the recording"), "{said}");
        }
        assert!(!slices.is_empty() && !rings.is_empty());
    }
}

/// Killed while it records: nothing was counted, and the reports say so.
#[test]
fn what_a_killed_recorder_wrote_opens() {
    let underway = Underway::begin(&["--keep"]);
    underway.kill("tailtrace");
    underway.ends(false);
}

/// The recorder ends with perf, and counts; perf's open file goes.
#[test]
fn what_a_killed_perf_wrote_opens() {
    let underway = Underway::begin(&["--keep"]);
    underway.kill("perf");
    underway.ends(true);
}

/// Its last marks are missing, and the interval file was not closed.
#[test]
fn what_a_killed_program_left_opens() {
    let underway = Underway::begin(&["--keep"]);
    underway.kill("recorded");
    underway.ends(true);
}
