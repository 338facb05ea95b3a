//! `tailtrace record --snapshot-over --begin --end`, here and now with the real perf and kernel: a program without markers, with uprobes on its
//! function; which of its slow calls are in slices, and what the account says. It needs what `no_pt` needs, and fails as that does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::tailtrace;
use crate::no_pt::{NEEDS, compile_source, first, record, run};

/// Where the kernel's trace buffers are.
const TRACING: &str = "/sys/kernel/tracing";

/// A command as root.
pub(crate) fn as_root(words: &[&str]) -> Command {
    let is_sudo = record().get_program() == "sudo";
    let mut command = Command::new(if is_sudo { "sudo" } else { words[0] });
    if is_sudo {
        command.arg("-n").arg(words[0]);
    }
    command.args(&words[1..]);
    command
}

/// Tests run beside one another, and perf refuses a probe with the name of another one, whatever their groups.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A program with uprobes on its functions, as long as this lives.
pub(crate) struct Probed {
    pub(crate) folder: TempDir,
    group: String,
    _turn: MutexGuard<'static, ()>,
}

impl Probed {
    /// Probes on the begin and the end of `handle`; `name` is that of the binary.
    fn new(name: &str) -> Probed {
        Probed::of("paired.c", name, &["call=handle request", "answer=handle%return"])
    }

    /// `source` as the binary `name`, by which perf names the group, with probes as perf has them.
    pub(crate) fn of(source: &str, name: &str, probes: &[&str]) -> Probed {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let program = folder.path().join(name);
        compile_source(source, &program);
        let made = Probed { folder, group: format!("probe_{name}"), _turn: turn };
        let path = program.to_string_lossy();
        let _ = as_root(&["perf", "probe", "-q", "-d", &format!("{}:*", made.group)]).output();
        for probe in probes {
            run(&mut as_root(&["perf", "probe", "-q", "-x", &path, probe]), NEEDS);
        }
        made
    }

    pub(crate) fn program(&self) -> String {
        let name = self.group.trim_start_matches("probe_");
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn event(&self, name: &str) -> String {
        format!("{}:{name}", self.group)
    }

    /// What the program planted: cause by request.
    fn planted(&self) -> BTreeMap<u64, String> {
        let text = fs::read_to_string(self.folder.path().join("planted.csv")).expect("what was planted");
        let planted = text.lines().filter_map(|line| line.split_once(','));
        planted.map(|(request, cause)| (request.parse().expect("a number"), cause.to_owned())).collect()
    }
}

impl Drop for Probed {
    fn drop(&mut self) {
        let _ = as_root(&["perf", "probe", "-q", "-d", &format!("{}:*", self.group)]).output();
    }
}

fn account(out: &Path) -> Value {
    if record().get_program() == "sudo" {
        run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rwX"]).arg(out), NEEDS);
    }
    serde_json::from_slice(&fs::read(out.join("snapshots.json")).expect("an account")).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The request of the interval: the probe's argument.
fn request(outlier: &Value) -> u64 {
    let counters = outlier["counters"].as_array().expect("counters");
    let of_request = counters.iter().find(|counter| counter["name"] == "request").expect("the argument");
    number(&of_request["value"])
}

/// Calls of 20 us, each 300th of 3 ms.
#[test]
fn slow_calls_of_a_program_without_markers_are_kept() {
    let probed = Probed::new("paired");
    let out = probed.folder.path().join("slow");
    let mut command = record();
    command.args([
        "record",
        "--no-pt",
        "--snapshot-over",
        "2ms",
        "--a-minute",
        "120",
        "--begin",
        &probed.event("call"),
    ]);
    command.args(["--end", &probed.event("answer__return"), "-o"]).arg(&out).arg("--");
    command.arg(probed.program()).arg(probed.folder.path()).args(["6000", "300"]);
    let output = run(&mut command, NEEDS);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (account, planted) = (account(&out), probed.planted());
    assert_eq!(planted.len(), 20);
    assert_eq!(account["intervals"], 6000, "{account}\n{said}");
    assert_eq!(account["lost"], serde_json::json!({ "times": 0, "events": 0 }));
    let skipped: u64 = account["skipped"].as_object().expect("reasons").values().map(number).sum();
    let (slow, kept) = (number(&account["slow"]), number(&account["kept"]));
    assert!(
        slow >= 17 && slow == kept + skipped && number(&account["doorbell"]) == slow,
        "{account}\n{said}"
    );
    let (mut found, mut right) = (BTreeSet::new(), 0);
    let names = fs::read_dir(&out).expect("the folder").map(|entry| entry.expect("an entry").path());
    let slices: Vec<_> = names.filter(|path| path.extension().is_some_and(|name| name == "data")).collect();
    for slice in &slices {
        let mut command = tailtrace();
        command.args(["explain", "--format", "json", "-i"]).arg(slice);
        let report: Value = serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON");
        assert_eq!(report["population"]["snapshots"]["skipped"], account["skipped"]);
        for outlier in report["outliers"].as_array().expect("outliers") {
            let request = request(outlier);
            assert!(found.insert(request), "{request} is in two slices");
            right += usize::from(
                planted.get(&request).is_some_and(|cause| first(outlier)["cause"] == cause.as_str()),
            );
        }
    }
    assert_eq!(found.len() as u64, kept, "{account}");
    let judged = found.iter().filter(|request| planted.contains_key(request)).count();
    assert!(judged * 4 >= planted.len() * 3, "{judged} of 20 are kept: {account}\n{said}");
    // The machine is busy: some wait longer for a CPU than for what was planted.
    assert!(right * 4 >= judged * 3, "{right} of {judged} causes are right");
    assert!(
        !fs::read_dir(&out)
            .expect("the folder")
            .any(|entry| { entry.expect("an entry").file_name().to_string_lossy().starts_with("ring") })
    );
    // Nothing stays in the kernel.
    let instances = fs::read_dir(format!("{TRACING}/instances")).map_or(0, |entries| {
        entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("tailtrace_"))
            .count()
    });
    assert_eq!(instances, 0);
}

/// System calls of one kind: a tracepoint with a condition, which the kernel checks.
#[test]
fn a_pair_of_tracepoints_rings() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let out = folder.path().join("slow");
    // 35: nanosleep of dd and others; 230: clock_nanosleep, by which sleep sleeps.
    let [begin, end] =
        ["enter", "exit"].map(|name| format!("raw_syscalls:sys_{name} if id == 230 && common_pid > 0"));
    let mut command = record();
    command
        .args(["record", "--no-pt", "--snapshot-over", "250ms", "--begin", &begin, "--end", &end, "-o"])
        .arg(&out);
    command.args(["--", "sh", "-c", "sleep 0.4; sleep 0.01; sleep 0.3; sleep 1"]);
    let said = String::from_utf8_lossy(&run(&mut command, NEEDS).stderr).into_owned();
    assert_eq!(said.matches("-e raw_syscalls:sys_enter ").count(), 1, "recorded once: {said}");
    let account = account(&out);
    let count = |name: &str| number(&account[name]);
    // What else sleeps on this machine counts as well.
    assert!(count("intervals") >= 4 && count("slow") >= 3 && count("kept") >= 1, "{account}\n{said}");
    assert!(count("slow") < count("intervals"), "{account}");
}

/// Each 200th call is slow, and the longest of a hundred ring from some 1,000 calls on.
#[test]
fn pairs_have_a_running_percentile() {
    let probed = Probed::new("ranked");
    let out = probed.folder.path().join("slow");
    let mut command = record();
    command.args(["record", "--no-pt", "--snapshot-over", "p99", "--begin", &probed.event("call"), "--end"]);
    command.arg(probed.event("answer__return")).arg("-o").arg(&out).arg("--");
    command.arg(probed.program()).arg(probed.folder.path()).args(["8000", "200"]);
    let said = String::from_utf8_lossy(&run(&mut command, NEEDS).stderr).into_owned();
    let account = account(&out);
    assert_eq!(account["limits"][0]["percentile"], "99", "{account}");
    let count = |name: &str| number(&account[name]);
    // All are counted, but for what the buffer lost; 40 are planted.
    let lost = number(&account["lost"]["times"]);
    assert!(count("intervals") == 8_000 || lost > 0, "{account}\n{said}");
    assert!((10..400).contains(&count("slow")), "some rang, and not all: {account}\n{said}");
    assert!(count("slow") == count("doorbell") && count("kept") >= 1, "{account}\n{said}");
}

#[test]
fn what_cannot_ring_is_refused() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for (more, why) in [
        (
            &["--snapshot-over", "1ms", "--begin", "no:such", "--end", "no:such"][..],
            "the kernel has no event no:such",
        ),
        (&["--snapshot-over", "p99,x", "--begin", "a:b", "--end", "a:c"], "takes one TIME or percentile"),
        (&["--snapshot-over", "1ms,x", "--begin", "a:b", "--end", "a:c"], "takes one TIME or percentile"),
        (
            &["--snapshot-over", "1ms", "--begin", "a:b if", "--end", "a:c"],
            "only `if FIELD == VALUE` may follow",
        ),
    ] {
        let mut command = record();
        command
            .args(["record", "--no-pt", "-o"])
            .arg(folder.path().join("slow"))
            .args(more)
            .args(["--", "true"]);
        let output = command.output().expect(NEEDS);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{why}: {said}");
        let _ = as_root(&["rm", "-rf", &folder.path().join("slow").to_string_lossy()]).output();
    }
}
