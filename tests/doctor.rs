//! `tailtrace doctor` on made-up machines (`fixtures/machines`), and on this one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::captures::{bundled, repository, tailtrace};
use crate::schema::{assert_follows, validator};

/// What a `.machine` file says.
#[derive(Default)]
struct Machine {
    /// What is done to an empty folder, in order.
    steps: Vec<(String, String)>,
    perf: Vec<String>,
    /// Checks that are not fine: their level, and a part of their words.
    expected: BTreeMap<String, (String, String)>,
    mends: Vec<(String, String)>,
    command: Option<String>,
    options: Vec<String>,
}

fn folder() -> PathBuf {
    repository().join("fixtures/machines")
}

/// The names of all machines.
fn machines() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "machine"));
    let mut names: Vec<String> =
        files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl Machine {
    fn read(name: &str) -> Machine {
        let text = fs::read_to_string(folder().join(format!("{name}.machine"))).expect("a machine");
        let mut machine = Machine::default();
        let two = |rest: &str| {
            let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
            (first.to_owned(), second.trim().to_owned())
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim_start();
            match word {
                "machine" => {}
                "like" => {
                    let other = Machine::read(rest);
                    machine.steps = other.steps;
                    machine.perf = other.perf;
                }
                "expect" => {
                    let (check, what) = two(rest);
                    assert!(machine.expected.insert(check, two(&what)).is_none(), "{name}: {line} twice");
                }
                "mend" => machine.mends.push(two(rest)),
                "options" => machine.options = rest.split_whitespace().map(str::to_owned).collect(),
                "command" => machine.command = Some(rest.to_owned()),
                "perf" => machine.perf.push(line["perf ".len()..].to_owned()),
                "no_perf" => machine.perf.clear(),
                "file" | "folder" | "gone" => machine.steps.push((word.to_owned(), rest.to_owned())),
                _ => panic!("{name}: {line}"),
            }
        }
        machine
    }

    /// Makes its tree below `root`, and its perf in `bin`.
    fn make(&self, root: &Path, bin: &Path) {
        for (step, rest) in &self.steps {
            match step.as_str() {
                "folder" => fs::create_dir_all(root.join(rest)).expect("made"),
                "gone" => {
                    let path = root.join(rest);
                    let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                    gone.unwrap_or_else(|error| panic!("{rest}: {error}"));
                }
                _ => {
                    let (path, text) = rest.split_once(" =").expect("a text");
                    for (path, number) in each(path) {
                        let text = text.trim_start_matches(' ').replace("{}", &number);
                        let path = root.join(path);
                        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                        let line = text.replace("\\t", "\t").replace("\\n", "\n");
                        // As the kernel has it: an empty file, or whole lines.
                        let line = if line.is_empty() { line } else { line + "\n" };
                        fs::write(path, line).expect("written");
                    }
                }
            }
        }
        fs::create_dir_all(bin).expect("made");
        if !self.perf.is_empty() {
            let lines: String = self.perf.iter().flat_map(|line| ["echo '", line, "'\n"]).collect();
            let script = bin.join("perf");
            fs::write(
                &script,
                format!("#!/bin/sh\n[ \"$*\" = 'version --build-options' ] || exit 1\n{lines}"),
            )
            .expect("written");
            fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
        }
    }
}

/// The path of `cpu{0-3}` for each number, and the number.
fn each(path: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = path.split_once('{') else { return vec![(path.to_owned(), String::new())] };
    let (range, after) = rest.split_once('}').expect("a range");
    let (first, last) = range.split_once('-').expect("a range");
    let numbers = first.parse::<u32>().expect("a number")..=last.parse().expect("a number");
    numbers.map(|number| (format!("{before}{number}{after}"), number.to_string())).collect()
}

/// Runs the command on the machine.
fn doctor(machine: &Machine, arguments: &[&str]) -> Output {
    with_perf(machine, None, arguments)
}

/// The same, with a perf that runs `script`.
fn with_perf(machine: &Machine, script: Option<&str>, arguments: &[&str]) -> Output {
    let place = tempfile::tempdir().expect("a folder");
    let (root, bin) = (place.path().join("root"), place.path().join("bin"));
    machine.make(&root, &bin);
    if let Some(script) = script {
        fs::write(bin.join("perf"), format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("written");
    }
    let mut command = tailtrace();
    command.current_dir(&place).env("PATH", bin).arg("doctor").arg("--root").arg(root).args(arguments);
    command.output().expect("tailtrace runs")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn machines_get_the_findings_that_were_written_before() {
    let names = machines();
    assert!(names.len() >= 25, "{names:?}");
    let validator = validator("doctor");
    let (mut fired, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for name in &names {
        let machine = Machine::read(name);
        let options = machine.options.iter().map(String::as_str);
        let output = doctor(&machine, &options.chain(["--format", "json"]).collect::<Vec<_>>());
        assert_follows(&validator, &output.stdout);
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut expected = machine.expected.clone();
        for finding in document["findings"].as_array().expect("findings") {
            let (check, level, what) =
                (text(&finding["check"]), text(&finding["level"]), text(&finding["found"]));
            let found = (level.to_owned(), what.to_owned());
            if let Some((level, part)) = expected.remove(check) {
                let is_right = found.0 == level && what.contains(&part);
                assert!(is_right, "{name}: {check} {found:?}, expected {part}");
                assert!(finding["means"].is_string(), "{name}: {check} says nothing more");
                fired.insert(check.to_owned());
            } else {
                assert_eq!(level, "fine", "{name}: {check} {what}");
                silent.insert(check.to_owned());
            }
            let lines: Vec<&str> = finding["mend"].as_array().expect("a list").iter().map(text).collect();
            for (_, part) in machine.mends.iter().filter(|(of, _)| of == check) {
                assert!(
                    lines.iter().any(|line| line.contains(part)),
                    "{name}: {check} {lines:?}, expected {part}"
                );
            }
        }
        assert_eq!(expected, BTreeMap::new(), "{name}: not found");
        let stops = machine.expected.values().any(|(level, _)| level == "stops");
        assert_eq!(document["can_record"], !stops, "{name}");
        assert_eq!(output.status.code(), Some(if stops { 3 } else { 0 }), "{name}");
        if let Some(part) = &machine.command {
            assert!(text(&document["command"]).contains(part), "{name}: {}", document["command"]);
        }
    }
    assert_eq!(fired, silent, "each check fires on a machine, and is silent on another");
    assert!(fired.len() >= 20, "{fired:?}");
}

/// The worst comes first, each with the command that mends it.
#[test]
fn a_page_for_people() {
    let output = doctor(&Machine::read("desktop_user"), &[]);
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.starts_with("3 findings stop a recording; 3 warnings and 3 notes.\n"), "{page}");
    let order = ["STOPS   permission", "STOPS   tracefs", "warning governor", "note    smt", "fine    pt "];
    let places: Vec<_> =
        order.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"))).collect();
    assert!(places.is_sorted(), "{page}");
    assert!(page.contains("\n                        sudo sysctl kernel.perf_event_paranoid=-1\n"), "{page}");
    assert!(page.contains("record would run: perf record -a "), "{page}");
    let fine = doctor(&Machine::read("server"), &[]);
    assert!(
        String::from_utf8_lossy(&fine.stdout)
            .starts_with("Nothing stops a recording; 0 warnings and 0 notes.\n")
    );
}

/// A perf that plays back a capture of two CPUs: `perf report -D` shows 0x1670 bytes of trace of CPU 51, and 0xb58 of CPU 45.
#[test]
fn a_trial_reads_what_perf_recorded() {
    let capture = bundled("multicore").perf_data;
    let plays = format!(
        "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && output=$2; last=$1; shift; done
         case $last in 0.2) cp '{}' \"$output\";; *) echo perf version 6.12.9;; esac",
        capture.display()
    );
    let trial = |script: &str, arguments: &[&str]| {
        let arguments = [&["--format", "json"], arguments].concat();
        let output = with_perf(&Machine::read("server"), Some(script), &arguments);
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let findings = document["findings"].as_array().expect("findings").clone();
        (output.status.code(), findings.into_iter().find(|finding| finding["check"] == "trial"))
    };
    let (code, found) = trial(&plays, &["--trial"]);
    let found = found.expect("a finding");
    assert_eq!((code, text(&found["level"])), (Some(0), "fine"), "{found}");
    assert!(text(&found["found"]).contains("CPU 51; nothing was lost"), "{found}");
    assert_eq!(trial(&plays, &[]), (Some(0), None), "without --trial nothing is recorded");
    let fails = "[ \"$1\" = version ] && exec echo perf version 6.12.9; echo 'Permission error mapping pages.' >&2; exit 255";
    let (code, found) = trial(fails, &["--trial"]);
    let found = found.expect("a finding");
    assert_eq!((code, text(&found["found"])), (Some(3), "perf failed: Permission error mapping pages."));
}

/// This machine, against what its own files say, read in another way.
#[test]
fn this_machine_gets_the_truth() {
    let output = tailtrace()
        .args(["doctor", "--format", "json", "-o", "/dev/shm/x"])
        .output()
        .expect("tailtrace runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_follows(&validator("doctor"), &output.stdout);
    let level = |check: &str| {
        let findings = document["findings"].as_array().expect("findings");
        findings
            .iter()
            .find(|finding| finding["check"] == check)
            .map(|finding| text(&finding["level"]).to_owned())
    };
    let has_pt = Path::new("/sys/bus/event_source/devices/intel_pt/type").exists();
    assert_eq!(level("pt").as_deref(), Some(if has_pt { "fine" } else { "warning" }));
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").expect("cpuinfo");
    let is_guest = cpuinfo.contains(" hypervisor");
    assert_eq!(level("guest").as_deref(), Some(if is_guest { "note" } else { "fine" }));
    if !Path::new("/proc/kcore").exists() {
        assert_eq!(level("kcore").as_deref(), Some("warning"));
    }
    let perf = std::process::Command::new("perf").arg("version").output();
    if !perf.is_ok_and(|output| output.status.success()) {
        assert_eq!(level("perf").as_deref(), Some("stops"));
    }
    let sources = "/sys/devices/system/clocksource/clocksource0";
    let source = |name: &str| fs::read_to_string(format!("{sources}/{name}")).unwrap_or_default();
    if source("available_clocksource").contains("kvm-clock") || source("current_clocksource") != "tsc\n" {
        assert_eq!(level("clock").as_deref(), Some("warning"));
    }
    let findings = document["findings"].as_array().expect("findings");
    let stops = findings.iter().any(|finding| finding["level"] == "stops");
    let code = if stops { 3 } else { 0 };
    assert_eq!((output.status.code(), &document["can_record"]), (Some(code), &Value::Bool(!stops)));
}
