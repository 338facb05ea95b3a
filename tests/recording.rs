//! `tailtrace record` with a perf that does nothing: what it is run with, its exit code, signals, and the machine file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::captures::{repository, tailtrace};
use crate::ptwrite::SPEC;

/// A folder with a machine that has PT and a disk, and a perf that runs `script`.
struct Made(tempfile::TempDir);

impl Made {
    fn new(script: &str) -> Made {
        let made = Made(tempfile::tempdir().expect("a folder"));
        made.file("root/sys/bus/event_source/devices/intel_pt/type", "9\n");
        made.file("root/sys/class/block/nvme0n1/dev", "259:4\n");
        let perf = made.file("bin/perf", &format!("#!/bin/sh\necho \"$@\" > arguments\n{script}\n"));
        fs::set_permissions(perf, fs::Permissions::from_mode(0o755)).expect("executable");
        made
    }

    fn file(&self, path: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(path)).ok()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = tailtrace();
        command
            .current_dir(self.0.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.0.path().join("bin").display()));
        command.args(["record", "--root", "root"]).args(arguments);
        command
    }

    fn record(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("tailtrace runs")
    }

    /// The names in the machine file at `path`.
    fn disks(&self, path: &str) -> Vec<String> {
        let file: Value = serde_json::from_str(&self.read(path).expect("a machine file")).expect("JSON");
        assert_eq!(file["schema"], "tailtrace-machine/1");
        let disks = file["block_devices"].as_array().expect("a list");
        disks.iter().map(|disk| disk["name"].as_str().expect("a name").to_owned()).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn perf_is_run_and_its_exit_code_passed() {
    let made = Made::new("echo recorded > slow.data; exit 7");
    let output = made.record(&["-o", "slow.data", "-e", "block:*", "--", "app", "--verbose"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let arguments = made.read("arguments").expect("perf ran");
    assert!(arguments.starts_with("record -a --kcore -m 8M,64M -e intel_pt/"), "{arguments}");
    assert!(arguments.ends_with("-o slow.data -e block:* -- app --verbose\n"), "{arguments}");
    assert_eq!(made.disks("slow.data.machine.json"), ["nvme0n1"]);
    assert!(stderr(&output).contains("perf record -a --kcore"), "the command is shown");
}

/// One of each clock before perf runs and after it, and every 100 ms in between.
#[test]
fn clock_pairs_lie_beside_the_capture() {
    let made = Made::new("sleep 0.55; echo recorded > perf.data");
    let output = made.record(&["--", "app"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("perf.data.clocks: "), "{}", stderr(&output));
    let text = made.read("perf.data.clocks").expect("clock pairs");
    for clock in ["monotonic-raw", "monotonic", "boottime", "realtime"] {
        let number = |line: &str, name: &str| -> u64 {
            let word = line.split(' ').find_map(|word| word.strip_prefix(name)).expect("a number");
            word.parse().expect("a number")
        };
        let start = format!("# clock-pair {clock} tsc=");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&start)).collect();
        let times: Vec<u64> = lines.iter().map(|line| number(line, "ns=")).collect();
        assert!((4..=9).contains(&times.len()) && times.is_sorted(), "{clock}: {times:?}");
        assert!(times[times.len() - 1] - times[0] >= 550_000_000, "{clock}: {times:?}");
        let ticks: Vec<u64> = lines.iter().map(|line| number(line, "tsc=")).collect();
        assert!(ticks.is_sorted(), "{clock}: {ticks:?}");
    }
    let made = Made::new("mkdir perf.data");
    assert_eq!(made.record(&["app"]).status.code(), Some(0));
    assert!(made.read("perf.data/clocks").is_some_and(|text| text.contains("clock-pair realtime")));
}

#[test]
fn a_directory_holds_its_machine_file() {
    let made = Made::new("mkdir perf.data");
    assert_eq!(made.record(&["app"]).status.code(), Some(0));
    assert_eq!(made.disks("perf.data/machine.json"), ["nvme0n1"]);
}

#[test]
fn an_older_capture_keeps_its_machine_file() {
    let made = Made::new("mv perf.data perf.data.old; echo new > perf.data");
    made.file("perf.data", "old");
    made.file("perf.data.machine.json", "older machine");
    made.file("perf.data.clocks", "older clocks");
    assert_eq!(made.record(&["--", "app"]).status.code(), Some(0));
    assert_eq!(made.read("perf.data.old.machine.json").as_deref(), Some("older machine"));
    assert_eq!(made.read("perf.data.old.clocks").as_deref(), Some("older clocks"));
    assert_eq!(made.disks("perf.data.machine.json"), ["nvme0n1"]);
}

#[test]
fn a_perf_that_writes_nothing_leaves_an_older_capture_alone() {
    for (script, code) in [("exit 129", 129), ("exit 0", 2)] {
        let made = Made::new(script);
        made.file("perf.data", "old");
        made.file("perf.data.machine.json", "older machine");
        made.file("perf.data.old.machine.json", "oldest machine");
        assert_eq!(made.record(&["--", "app"]).status.code(), Some(code));
        assert_eq!(made.read("perf.data").as_deref(), Some("old"));
        assert_eq!(made.read("perf.data.machine.json").as_deref(), Some("older machine"));
        assert_eq!(made.read("perf.data.old.machine.json").as_deref(), Some("oldest machine"));
    }
    let made = Made::new("exit 129");
    made.file("perf.data/data", "old");
    made.file("perf.data/machine.json", "older machine");
    assert_eq!(made.record(&["--", "app"]).status.code(), Some(129));
    assert_eq!(made.read("perf.data/machine.json").as_deref(), Some("older machine"));
}

#[test]
fn a_machine_file_does_not_outlive_its_capture() {
    let made = Made::new("mv perf.data perf.data.old; echo new > perf.data");
    made.file("perf.data", "without a machine file");
    made.file("perf.data.old", "oldest");
    made.file("perf.data.old.machine.json", "oldest machine");
    assert_eq!(made.record(&["--", "app"]).status.code(), Some(0));
    assert_eq!(made.read("perf.data.old").as_deref(), Some("without a machine file"));
    assert_eq!(made.read("perf.data.old.machine.json"), None);
    assert_eq!(made.disks("perf.data.machine.json"), ["nvme0n1"]);
}

/// perf deletes no `.old` directory that holds a file which it does not know, and then does not record.
#[test]
fn a_directory_can_be_recorded_to_again_and_again() {
    let made = Made::new(
        "if [ -e perf.data ]; then rm -f perf.data.old/data; rmdir perf.data.old || exit 1; mv perf.data perf.data.old; fi
        mkdir perf.data; echo new > perf.data/data",
    );
    made.file("perf.data.old/data", "oldest");
    made.file("perf.data.old/machine.json", "oldest machine");
    made.file("perf.data.old/clocks", "oldest clocks");
    made.file("perf.data/data", "older");
    made.file("perf.data/machine.json", "older machine");
    made.file("perf.data/clocks", "older clocks");
    assert_eq!(made.record(&["--", "app"]).status.code(), Some(0));
    assert_eq!(made.read("perf.data.old/machine.json").as_deref(), Some("older machine"));
    assert_eq!(made.read("perf.data.old/clocks").as_deref(), Some("older clocks"));
    let failing = Made::new("exit 129");
    failing.file("perf.data.old/machine.json", "oldest machine");
    failing.file("perf.data/data", "older");
    assert_eq!(failing.record(&["--", "app"]).status.code(), Some(129));
    assert_eq!(failing.read("perf.data.old/machine.json").as_deref(), Some("oldest machine"));
}

/// perf writes over an empty file, and leaves `.old` alone.
#[test]
fn what_perf_did_not_rename_keeps_its_machine_file() {
    let made = Made::new("echo new > perf.data");
    made.file("perf.data", "");
    made.file("perf.data.old", "old");
    made.file("perf.data.old.machine.json", "older machine");
    assert_eq!(made.record(&["--", "app"]).status.code(), Some(0));
    assert_eq!(made.read("perf.data.old.machine.json").as_deref(), Some("older machine"));
    assert_eq!(made.disks("perf.data.machine.json"), ["nvme0n1"]);
}

#[test]
fn perfs_exit_code_goes_before_a_machine_file_that_cannot_be_written() {
    for (ended, code) in [(7, 7), (0, 2)] {
        let made = Made::new(&format!("echo new > perf.data; exit {ended}"));
        fs::create_dir(made.0.path().join("perf.data.machine.json")).expect("in the way");
        let output = made.record(&["--", "app"]);
        assert_eq!(output.status.code(), Some(code));
        assert!(stderr(&output).contains("perf.data.machine.json cannot be written"), "{}", stderr(&output));
    }
}

#[test]
fn the_programs_own_border_reaches_it() {
    let made = Made::new("exit 1");
    let output = made.record(&["--dry-run", "--", "cargo", "run", "-p", "foo", "--", "x"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("perf record -a --kcore"), "{printed}");
    assert!(printed.ends_with("-o perf.data -- cargo run -p foo -- x\n"), "{printed}");
}

/// As under `nohup`: tailtrace does not take the signal, and perf inherits that it is ignored.
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let made = Made::new("kill -HUP $PPID; kill -HUP $$; sleep 0.3; echo new > perf.data");
    let command = made.command(&["--", "app"]);
    let mut shielded = Command::new("/bin/sh");
    shielded
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    shielded.current_dir(made.0.path());
    shielded.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shielded.output().expect("a shell");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(made.disks("perf.data.machine.json"), ["nvme0n1"]);
}

#[test]
fn a_dry_run_prints_the_command_alone() {
    let made = Made::new("exit 1");
    fs::remove_dir_all(made.0.path().join("root")).expect("no machine");
    let output = made.record(&["--dry-run", "--", "app", "two words"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.starts_with("perf record -a --kcore") && printed.ends_with("-- app 'two words'\n"),
        "{printed}"
    );
    assert_eq!((output.status.code(), made.read("arguments")), (Some(0), None));
}

/// Linux 6.13 and perf 6.14 pause the trace; where one of them is older the recording is of all the time, and says why.
#[test]
fn events_pause_the_trace_where_kernel_and_perf_can() {
    let perf = |version: &str| {
        format!("[ \"$1\" = version ] && exec echo perf version {version}; echo new > perf.data")
    };
    let options = [
        "--resume",
        "probe_app:handle",
        "--pause",
        "probe_app:handle__return",
        "--pause",
        "sched:sched_switch",
    ];
    let recorded = |release: &str, version: &str, more: &[&str]| {
        let made = Made::new(&perf(version));
        made.file("root/proc/sys/kernel/osrelease", release);
        let output = made.record(&[&options[..], more, &["--", "app"]].concat());
        (
            made.read("arguments").filter(|line| line.starts_with("record")),
            output.status.code(),
            stderr(&output),
        )
    };
    let (arguments, code, said) = recorded("6.13.1\n", "6.14.2", &[]);
    let arguments = arguments.expect("perf ran");
    let trace = "-e intel_pt/cyc=1,cyc_thresh=1,mtc_period=0,noretcomp=1,aux-action=start-paused/ \
        -e probe_app:handle/aux-action=resume/ -e probe_app:handle__return/aux-action=pause/ \
        -e sched:sched_switch/aux-action=pause/ -e sched:sched_waking ";
    assert!(arguments.contains(trace), "{arguments}");
    assert_eq!((code, said.contains("left out")), (Some(0), false), "{said}");
    let plain = Made::new("echo new > perf.data");
    plain.record(&["--", "app"]);
    for (release, version, why) in [
        ("6.12.9\n", "6.14.2", "--pause and --resume (Linux 6.12.9 is older than 6.13)"),
        ("6.14.2\n", "6.1.187", "--pause and --resume (perf 6.1.187 is older than 6.14)"),
    ] {
        let (arguments, code, said) = recorded(release, version, &[]);
        assert_eq!((arguments, code), (plain.read("arguments"), Some(0)), "{said}");
        assert!(said.contains(why), "{said}");
    }
    let (arguments, code, said) = recorded("6.14.2\n", "6.14.2", &["-e", "intel_pt//u"]);
    assert_eq!((arguments, code), (None, Some(2)), "{said}");
}

#[test]
fn without_intel_pt_records_and_samples_are_recorded() {
    let made = Made::new("echo new > perf.data");
    let output = made.record(&["--no-pt", "--", "app"]);
    let forced = (output.status.code(), made.read("arguments").expect("perf ran"));
    assert!(stderr(&output).contains("without Intel PT: recorded are switches"), "{}", stderr(&output));
    fs::remove_dir_all(made.0.path().join("root/sys/bus")).expect("no PT");
    let output = made.record(&["--", "app"]);
    assert_eq!((output.status.code(), made.read("arguments").expect("perf ran")), forced);
    assert_eq!(forced.0, Some(0));
    assert!(
        forced.1.starts_with("record -a -m 8M -k CLOCK_MONOTONIC_RAW -e cpu-clock/freq=4000/ "),
        "{}",
        forced.1
    );
    let said = stderr(&output);
    let notes = said.lines().filter(|line| line.contains("no Intel PT")).count();
    assert!(notes == 1 && said.contains("time on a CPU has no flow"), "{said}");
}

#[test]
fn a_trace_that_is_named_and_missing_is_an_error() {
    let made = Made::new("exit 0");
    fs::remove_dir_all(made.0.path().join("root/sys/bus")).expect("no PT");
    let output = made.record(&["-e", "intel_pt//u", "--", "app"]);
    assert_eq!((output.status.code(), made.read("arguments")), (Some(2), None));
    let said = stderr(&output);
    assert!(said.contains("this machine has none") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_perf_that_fails_or_is_missing_is_said() {
    let made = Made::new("echo no permission >&2; exit 255");
    let output = made.record(&["--", "app"]);
    assert_eq!(output.status.code(), Some(255));
    assert!(stderr(&output).contains("no permission") && made.read("perf.data.machine.json").is_none());
    let made = Made::new("exit 0");
    let output = made.record(&["--", "app"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("without writing perf.data"));
    let output = made.command(&["--", "app"]).env("PATH", "/nowhere").output().expect("tailtrace runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("perf cannot be run"), "{}", stderr(&output));
}

#[test]
fn the_machine_file_alone_needs_neither_perf_nor_pt() {
    let made = Made::new("exit 1");
    fs::remove_dir_all(made.0.path().join("root/sys/bus")).expect("no PT");
    let output = made.record(&["--machine-only", "-o", "there.data"]);
    assert_eq!((output.status.code(), made.read("arguments")), (Some(0), None), "{}", stderr(&output));
    assert_eq!(made.disks("there.data.machine.json"), ["nvme0n1"]);
    assert_eq!(made.record(&["--machine-only", "-o", "nowhere/there.data"]).status.code(), Some(2));
}

/// Waits for perf to say that it runs, and sends `tailtrace` alone the signal.
#[test]
fn a_signal_reaches_perf_and_the_machine_file_is_written() {
    for (signal, code) in [("INT", 40), ("USR2", 41), ("TERM", 42)] {
        let trap = "trap 'echo got > perf.data; exit 40' INT; trap 'echo got > perf.data; exit 41' USR2; \
                    trap 'echo got > perf.data; exit 42' TERM; echo > running; while :; do sleep 0.02; done";
        let made = Made::new(trap);
        let mut child = made.command(&["--", "app"]).spawn().expect("tailtrace runs");
        let begun = Instant::now();
        while made.read("running").is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "perf did not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(sent.expect("a shell").success());
        assert_eq!(child.wait().expect("tailtrace ends").code(), Some(code), "{signal}");
        assert_eq!(made.disks("perf.data.machine.json"), ["nvme0n1"]);
    }
}

/// A machine's file, as the binary writes it, follows the stored schema.
#[test]
fn the_machine_file_of_this_machine_follows_its_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("perf.data");
    let status =
        tailtrace().args(["record", "--machine-only", "-o"]).arg(&capture).status().expect("tailtrace runs");
    assert!(status.success());
    let written = fs::read(folder.path().join("perf.data.machine.json")).expect("the file");
    crate::schema::assert_machine_follows(Path::new("perf.data.machine.json"), &written);
}

/// What the program's PTWRITEs mean is found in the program; what another recording left goes.
#[test]
fn what_ptwrites_mean_is_found_in_the_program() {
    let made = Made::new("echo recorded >perf.data");
    let source = made.file(
        "marked.c",
        "#define TAILTRACE_PTWRITE\n#include \"tailtrace.h\"\nint main(void) { tailtrace_begin(\"a\", 1); return 0; }\n",
    );
    let mut compiler = Command::new("cc");
    compiler.arg("-I").arg(repository().join("crates/marks/include")).arg(source);
    let output = compiler.arg("-o").arg(made.0.path().join("marked")).output().expect("cc");
    assert!(output.status.success(), "{}", stderr(&output));
    let found = |program: &str| {
        let output = made.record(&["--", program]);
        assert!(output.status.success(), "{}", stderr(&output));
        made.read("perf.data.ptwrite")
    };
    assert_eq!(found("./marked"), Some(format!("{SPEC}\n")));
    assert_eq!(found("true"), None);
}
