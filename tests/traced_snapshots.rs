//! `tailtrace record --snapshot-over` with Intel PT, with a perf that plays emulated captures back: at each SIGUSR2 it closes its file
//! as perf does, with the trace that its rings would have held then (`tracegen::snapshots`). The intervals that are kept have to have
//! the segments and the first cause that they have in the whole capture; `score` holds those against what was injected.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tracegen::snapshots::{Moment, snapshot};

use crate::captures::{Capture, emulated, share_folder, tailtrace};
use crate::no_pt::first;

/// Like `perf record -Se --switch-output=signal` as far as its files and signals go: the kernel's code lies in the first directory
/// alone, a directory is renamed when it is complete, the next one is begun at once, and one more is written at the end.
pub(crate) const PERF: &str = r#"#!/bin/sh
here=$(dirname "$0")/..
if [ "$1" = version ]; then
    echo "perf version 6.1.0"
    exit
fi
echo "$@" > "$here/arguments"
while [ "$1" != -- ]; do
    [ "$1" = -o ] && out=$2
    shift
done
shift
number=0
asked=
begin() {
    mkdir "$out"
    echo PERFILE2 > "$out/data"
}
close() {
    asked=
    number=$((number + 1))
    cp "$here/snapshots/$number/data" "$out/data"
    mv "$out" "$out.20261125192400$number"
    : > "$here/taken.$number"
}
trap 'asked=1' USR2
trap 'kill "$program"' INT
begin
cp -r "$here/kcore_dir" "$out"
"$@" &
program=$!
while wait "$program"; code=$?; [ "$asked" ]; do
    close
    begin
done
close
exit "$code"
"#;

/// Marks what the captured program marked, and rings at the end of each part but the last.
const PROGRAM: &str = r#"#!/bin/sh
here=$(dirname "$0")/..
last=$(ls "$here/marks" | wc -l)
for number in $(seq "$last"); do
    cp "$here/marks/$number" "$TAILTRACE_FILE"
    [ "$number" = "$last" ] && exit 0
    cat "$here/rings/$number" > "$TAILTRACE_DOORBELL"
    while [ ! -e "$here/taken.$number" ]; do sleep 0.01; done
done
"#;

/// A machine with Intel PT, the programs that the capture ran, a perf that plays it back, and the recording.
struct Played {
    folder: TempDir,
    capture: Capture,
}

impl Played {
    /// `name` in so many parts of the same length, from rings of so many bytes.
    fn new(name: &'static str, parts: u64, ring_bytes: usize) -> Played {
        let played = Played { folder: TempDir::new().expect("a folder"), capture: emulated(name) };
        let root = played.path("root");
        fs::create_dir_all(root.join("sys/bus/event_source/devices/intel_pt")).expect("made");
        let linked = std::os::unix::fs::symlink(played.capture.symfs.join("bin"), root.join("bin"));
        linked.expect("linked");
        share_folder(&played.capture.perf_data.join("kcore_dir"), &played.path("kcore_dir"));
        for (name, script) in [("bin/perf", PERF), ("bin/program", PROGRAM)] {
            played.write(name, script);
            fs::set_permissions(played.path(name), fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let truth = played.capture.truth();
        let machine = &truth["machine"];
        let tsc = |name: &str| machine[name].as_array().expect("a list").iter().filter_map(Value::as_u64);
        let (begin, end) = (tsc("begin_tsc").max().expect("a time"), tsc("end_tsc").min().expect("a time"));
        let (mut after_ns, mut after_tsc) = (0, 0);
        for part in 1..=parts {
            let at = begin + (end - begin) / parts * part;
            let at_ns = if part == parts { u64::MAX } else { nanoseconds(machine, at) };
            let moment = Moment { after_ns, at_ns, ring_bytes };
            let place = played.path(&format!("snapshots/{part}"));
            snapshot(&played.capture.perf_data, &place, moment).expect("played back");
            let until = if part == parts { u64::MAX } else { at };
            let marks = played.marks_until(until);
            played.write(&format!("rings/{part}"), &ringing(&marks, after_tsc));
            played.write(&format!("marks/{part}"), &marks);
            after_tsc = at;
            after_ns = at_ns;
        }
        played
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The program's interval file as it was at `tsc`.
    fn marks_until(&self, tsc: u64) -> String {
        let text = fs::read_to_string(self.capture.intervals()).expect("intervals");
        let is_there = |line: &&str| {
            let at = line.split(',').nth(2).and_then(|at| at.parse().ok());
            at.is_none_or(|at: u64| at <= tsc)
        };
        text.lines().filter(is_there).flat_map(|line| [line, "\n"]).collect()
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = tailtrace();
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env("PATH", path).args(["record", "--root"]).arg(self.path("root"));
        command.arg("-o").arg(self.path("slow")).args(more);
        command.arg("--").arg(self.path("bin/program"));
        command
    }

    fn record(&self, more: &[&str]) -> Output {
        let output = self.command(more).output().expect("tailtrace runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn account(&self) -> Value {
        let text = fs::read(self.path("slow/snapshots.json")).expect("an account");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Each slice's report has the account, and its text has how many were skipped, and why.
    #[track_caller]
    fn says(&self, account: &Value, reason: &str) {
        let validator = crate::schema::validator("report");
        for slice in names(&self.path("slow")).iter().filter(|name| name.starts_with("slow-")) {
            for (command, format) in [("explain", "text"), ("stat", "text"), ("stat", "json")] {
                let mut process = tailtrace();
                process.args([command, "--format", format, "-i"]).arg(self.path("slow").join(slice));
                let output = process.output().expect("tailtrace runs");
                if format == "json" {
                    crate::schema::assert_follows(&validator, &output.stdout);
                    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                    let of_slice = &report["population"]["snapshots"];
                    for name in ["is_complete", "limits", "intervals", "slow", "kept", "skipped"] {
                        assert_eq!(of_slice[name], account[name], "{name}");
                    }
                    continue;
                }
                let text =
                    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
                let slow = account["slow"].as_u64().expect("a number");
                assert!(
                    text.contains(&format!(" of {slow} slow intervals (over 30.0 us) were skipped (")),
                    "{text}"
                );
                assert!(text.contains(reason), "{text}");
            }
        }
    }

    /// All slices one after the other, where that is possible.
    #[track_caller]
    fn explains_the_folder(&self) {
        let run = |command: &str, format: &str| {
            let mut process = tailtrace();
            process.args([command, "--format", format, "--symfs"]).arg(&self.capture.symfs);
            process.arg("-i").arg(self.path("slow")).output().expect("tailtrace runs")
        };
        let text = run("explain", "text");
        let words = String::from_utf8_lossy(&text.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let slices = names(&self.path("slow")).into_iter().filter(|name| name.starts_with("slow-")).count();
        // Each report has it once.
        assert_eq!(
            (text.status.code(), words.matches("were skipped (").count()),
            (Some(0), slices),
            "{words}"
        );
        for (command, format) in [("explain", "json"), ("stat", "text")] {
            let output = run(command, format);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("slow/slow-0001.data"), "{said}");
        }
    }

    /// By key, what is said of each interval in the slices, which are in the folder under these names.
    fn kept(&self) -> BTreeMap<String, Value> {
        let mut kept = BTreeMap::new();
        for slice in names(&self.path("slow")).iter().filter(|name| name.starts_with("slow-")) {
            let report = self.explained(&self.path("slow").join(slice), &[]);
            for outlier in report["outliers"].as_array().expect("outliers") {
                let known = kept.insert(outlier["key"].to_string(), outlier.clone());
                assert!(known.is_none(), "{} is in two slices", outlier["key"]);
            }
        }
        kept
    }

    /// The same of the whole capture.
    fn whole(&self, over: &str) -> BTreeMap<String, Value> {
        let intervals = self.capture.intervals();
        let report = self.explained(
            &self.capture.perf_data,
            &["--intervals", &intervals, "--over", over, "--top", "1000"],
        );
        let outliers = report["outliers"].as_array().expect("outliers");
        outliers.iter().map(|outlier| (outlier["key"].to_string(), outlier.clone())).collect()
    }

    fn explained(&self, perf_data: &Path, more: &[&str]) -> Value {
        let mut command = tailtrace();
        command.args(["explain", "--format", "json", "--symfs"]).arg(&self.capture.symfs);
        let output = command.arg("-i").arg(perf_data).args(more).output().expect("tailtrace runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

/// Where perf finds that its records fill the disk, and nothing was slow.
const QUIET: &str = r#"#!/bin/sh
here=$(dirname "$0")/..
cp "$here/marks/1" "$TAILTRACE_FILE"
truncate -s 300M "$here/slow/ring/data"
while [ ! -e "$here/taken.1" ]; do sleep 0.01; done
"#;

/// What `tailtrace_end_since` writes for the intervals that end in `marks` after `after`, as one line: `BEGIN END LABEL` of the first and
/// the last one.
fn ringing(marks: &str, after: u64) -> String {
    let mut ends = marks.lines().filter(|line| line.starts_with("end,"));
    let at =
        |line: &str| line.split(',').nth(2).and_then(|at| at.parse::<u64>().ok()).filter(|&at| at > after);
    let first = ends.clone().find_map(at).expect("an end");
    let last = ends.rfind(|line| at(line).is_some()).and_then(at).expect("an end");
    format!("{first:#x} {first:#x} booking\n{last:#x} {last:#x} booking\n")
}

/// Perf time of a reading of the TSC, by the numbers in the truth.
fn nanoseconds(machine: &Value, tsc: u64) -> u64 {
    let number = |name: &str| machine[name].as_u64().expect("a number");
    let product = (u128::from(tsc) * u128::from(number("mult"))) >> number("shift");
    number("zero").wrapping_add(u64::try_from(product).expect("nanoseconds"))
}

pub(crate) fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    entries.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Cause and length of each segment. How much of the user code was to be expected depends on the typical intervals, and those of a ring
/// are others: it counts as one.
fn segments(outlier: &Value) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for segment in outlier["segments"].as_array().expect("segments") {
        let cause = segment["cause"].as_str().expect("a cause");
        let cause = if cause.starts_with("user.") { "user" } else { cause };
        let length = segment["duration_ns"].as_u64().expect("a length");
        match found.last_mut().filter(|last| last.0 == cause) {
            Some(last) => last.1 += length,
            None => found.push((cause.to_owned(), length)),
        }
    }
    found
}

#[test]
fn what_is_kept_has_the_causes_of_the_whole_capture() {
    let played = Played::new("lock", 4, 1 << 20);
    let said = played.record(&["--snapshot-over", "30us,booking"]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let arguments = fs::read_to_string(played.path("arguments")).expect("perf ran");
    assert!(
        arguments.starts_with("record -Se --switch-output=signal -a ")
            && arguments.contains(" -m 8M,16M -e intel_pt/"),
        "{arguments}"
    );
    let (whole, kept, account) = (played.whole("30us"), played.kept(), played.account());
    assert_eq!(account["slow"], whole.len(), "{account}");
    assert_eq!(account["kept"], kept.len(), "{account}\n{said}");
    assert_eq!(account["taken"], 4);
    for (key, outlier) in &kept {
        assert_eq!(segments(outlier), segments(&whole[key]), "{key}");
        assert_eq!(first(outlier)["cause"], first(&whole[key])["cause"], "{key}");
    }
    // An interval in which a file ends is in none of them, and there are three such ends.
    assert!(kept.len() + 3 >= whole.len(), "{account}\n{said}");
    let left: BTreeSet<String> =
        names(&played.path("slow")).into_iter().filter(|name| !name.starts_with("slow-")).collect();
    assert_eq!(left, ["clocks", "intervals.marks", "snapshots.json"].map(str::to_owned).into());
}

/// What a small ring has overwritten is counted; with `--keep` each ring is there and opens, with the kernel's code.
#[test]
fn what_a_small_ring_does_not_hold_is_counted() {
    let played = Played::new("lock", 3, 200 << 10);
    played.record(&["--snapshot-over", "30us", "--keep"]);
    let (kept, account) = (played.kept(), played.account());
    let count = |value: &Value| value.as_u64().expect("a number");
    let overwritten = count(&account["skipped"]["ring_overwritten"]);
    assert!(!kept.is_empty() && overwritten > 0, "{account}");
    assert_eq!(account["kept"], kept.len(), "{account}");
    let skipped: u64 = account["skipped"].as_object().expect("reasons").values().map(count).sum();
    assert_eq!(count(&account["slow"]), count(&account["kept"]) + skipped, "{account}");
    played.says(&account, &format!("ring overwritten: {overwritten}"));
    played.explains_the_folder();
    let whole = played.whole("30us");
    for (key, outlier) in &kept {
        assert_eq!(segments(outlier), segments(&whole[key]), "{key}");
    }
    let folder = played.path("slow");
    let rings: Vec<PathBuf> = names(&folder)
        .iter()
        .filter(|name| name.starts_with("ring."))
        .map(|name| folder.join(name))
        .collect();
    assert_eq!(rings.len(), 3);
    let marks = folder.join("intervals.marks").to_string_lossy().into_owned();
    for ring in rings {
        assert!(ring.join("kcore_dir/kcore").exists(), "{}", ring.display());
        played.explained(&ring, &["--intervals", &marks, "--top", "1"]);
    }
}

/// perf's records do not fill the disk while nothing is slow.
#[test]
fn records_that_nobody_asked_for_go() {
    let played = Played::new("lock", 2, 1 << 20);
    played.write("bin/program", QUIET);
    played.record(&["--snapshot-over", "1s"]);
    assert!(played.path("taken.2").exists(), "the file of perf's end");
    assert_eq!(
        names(&played.path("slow")),
        ["clocks", "intervals.marks", "snapshots.json"].map(str::to_owned).into()
    );
    let account = played.account();
    assert_eq!((&account["taken"], &account["slow"]), (&Value::from(1), &Value::from(0)), "{account}");
}

/// With one snapshot a minute, what rang after it is skipped for that reason, unless the ring of the end still holds it.
#[test]
fn what_rings_too_often_is_counted() {
    let played = Played::new("lock", 4, 200 << 10);
    played.write(
        "bin/program",
        &PROGRAM
            .replace("while [ ! -e \"$here/taken.$number\" ]; do", "while [ ! -e \"$here/taken.1\" ]; do"),
    );
    played.record(&["--snapshot-over", "30us", "--a-minute", "1"]);
    let account = played.account();
    assert_eq!((&account["taken"], &account["doorbell"]), (&Value::from(2), &Value::from(6)), "{account}");
    let limited = account["skipped"]["rate_limit"].as_u64().expect("a number");
    assert!(limited > 0, "{account}");
    played.says(&account, &format!("rate limit: {limited}"));
}

/// Doorbells for programs that know nothing of tailtrace: a line into the pipe, a signal to the recorder, a line of a command. What has no
/// marks is kept as whole rings.
#[test]
fn whatever_rings_has_a_ring() {
    let wait = "while [ ! -e \"$here/taken.$number\" ]; do sleep 0.01; done";
    for (ring, more) in [
        ("echo slow > \"$here/slow/doorbell\"", None),
        // perf is the recorder's child, and the program perf's.
        ("kill -USR2 $(awk '{print $4}' \"/proc/$PPID/stat\")", None),
        ("echo slow >> \"$here/log\"", Some("tail -F \"$TAILTRACE_LOG\" 2> /dev/null")),
    ] {
        let played = Played::new("lock", 3, 1 << 20);
        let program =
            format!("#!/bin/sh\nhere=$(dirname \"$0\")/..\nfor number in 1 2; do\n{ring}\n{wait}\ndone\n");
        played.write("bin/program", &program);
        let mut options = vec!["--snapshot-over", "30us"];
        options.extend(more.iter().flat_map(|command| ["--ring-on", command]));
        let mut command = played.command(&options);
        let output = command.env("TAILTRACE_LOG", played.path("log")).output().expect("tailtrace runs");
        assert_eq!(output.status.code(), Some(0), "{ring}: {}", String::from_utf8_lossy(&output.stderr));
        let account = played.account();
        assert_eq!((&account["doorbell"], &account["taken"]), (&Value::from(2), &Value::from(3)), "{ring}");
        let rings: Vec<String> =
            names(&played.path("slow")).into_iter().filter(|name| name.starts_with("ring.")).collect();
        assert_eq!(rings.len(), 3, "{ring}");
        let intervals = played.capture.intervals();
        let ring = played.path("slow").join(&rings[1]);
        let report = played.explained(&ring, &["--intervals", &intervals, "--top", "1"]);
        assert_eq!(report["selection"]["selected"], 1);
    }
}
