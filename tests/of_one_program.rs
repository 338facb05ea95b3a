//! Recordings of one cgroup or thread, here and now with the real perf and kernel: its system calls alone are there, and who made it wait is
//! known, for switches and wake-ups are those of the whole machine. They need what `no_pt` needs, and fail as that does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::tailtrace;
use crate::no_pt::{NEEDS, compile, first, key, planted, record, run};

/// The records of `capture`, as perf prints thread name and event.
fn records(capture: &Path) -> Vec<(String, String)> {
    let mut command = Command::new("perf");
    command.args(["script", "--force", "-F", "comm,event", "-i"]).arg(capture);
    let output = run(&mut command, NEEDS);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines =
        text.lines().filter_map(|line| line.trim().trim_end_matches(':').rsplit_once(char::is_whitespace));
    lines.map(|(comm, event)| (comm.trim().to_owned(), event.to_owned())).collect()
}

/// Whose records of the events that begin so are there.
fn whose(records: &[(String, String)], event: &str) -> Vec<String> {
    let mut comms: Vec<String> =
        records.iter().filter(|(_, name)| name.starts_with(event)).map(|(comm, _)| comm.clone()).collect();
    comms.sort();
    comms.dedup();
    comms
}

/// A program that makes system calls all the time; it ends with this.
struct Noise(Child);

impl Noise {
    fn begin() -> Noise {
        let loops = "while :; do read -r line </proc/uptime; done";
        Noise(Command::new("bash").args(["-c", loops]).spawn().expect("bash"))
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cgroup of version 2, and where that is mounted; it goes with this.
struct Cgroup {
    mounted: Option<TempDir>,
    path: PathBuf,
    name: String,
}

/// The shell as root.
fn as_root(script: &str) -> Command {
    let is_sudo = record().get_program() == "sudo";
    let words = if is_sudo { &["sudo", "-n", "sh", "-c"][..] } else { &["sh", "-c"] };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(script);
    command
}

impl Cgroup {
    fn new() -> Cgroup {
        let mounts = fs::read_to_string("/proc/mounts").expect("the kernel's own words");
        let place = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let place = place
            .into_iter()
            .find(|words| words.get(2) == Some(&"cgroup2"))
            .map(|words| PathBuf::from(words[1]));
        let mounted = place.is_none().then(|| TempDir::new().expect("a folder"));
        let place = place.unwrap_or_else(|| mounted.as_ref().expect("mounted").path().to_owned());
        let name = format!("tailtrace-test-{}", std::process::id());
        let path = place.join(&name);
        let mount = mounted
            .as_ref()
            .map_or_else(String::new, |_| format!("mount -t cgroup2 none {} && ", place.display()));
        run(&mut as_root(&format!("{mount}mkdir {}", path.display())), NEEDS);
        Cgroup { mounted, path, name }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let unmount = self
            .mounted
            .as_ref()
            .map_or_else(String::new, |folder| format!("; umount {}", folder.path().display()));
        let _ = as_root(&format!("rmdir {}{unmount}", self.path.display())).output();
    }
}

/// The program in a cgroup, beside one outside of it.
#[test]
fn a_cgroups_waits_have_their_causes() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (program, out) = (folder.path().join("recorded"), folder.path().join("slow"));
    compile(&program);
    let cgroup = Cgroup::new();
    let _noise = Noise::begin();
    let enters = r#"echo $$ >"$1"/cgroup.procs; shift; exec "$@""#;
    let mut command = record();
    command.args([
        "record",
        "--no-pt",
        "--cgroup",
        &cgroup.name,
        "--snapshot-over",
        "1ms,request",
        "--a-minute",
        "120",
        "--keep",
        "-o",
    ]);
    command.arg(&out).args(["--", "sh", "-c", enters, "sh"]).arg(&cgroup.path).arg(&program).arg(&out);
    run(command.args(["1", "8000", "800"]), NEEDS);
    run(&mut as_root(&format!("chmod -R a+rwX {}", out.display())), NEEDS);
    let entries = fs::read_dir(&out).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ring = paths
        .iter()
        .find(|path| name(path).starts_with("ring.") && !name(path).ends_with("json"))
        .expect("a ring");
    let records = records(ring);
    let callers = whose(&records, "raw_syscalls:");
    assert!(!callers.is_empty() && !callers.contains(&"bash".to_owned()), "{callers:?}");
    assert!(whose(&records, "sched:sched_switch").contains(&"bash".to_owned()));
    let (planted, mut judged, mut right) = (planted(&out), 0, 0);
    for slice in paths
        .iter()
        .filter(|path| name(path).starts_with("slow-") && path.extension() == Some("data".as_ref()))
    {
        let mut command = tailtrace();
        command.args(["explain", "--format", "json", "-i"]).arg(slice);
        let report: Value = serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON");
        for outlier in report["outliers"].as_array().expect("outliers") {
            let Some((_, cause)) =
                planted.get(&key(outlier)).filter(|(_, cause)| cause.starts_with("offcpu."))
            else {
                continue;
            };
            judged += 1;
            right += usize::from(first(outlier)["cause"] == cause.as_str());
        }
    }
    assert!(judged >= 3 && right + 1 >= judged, "{right} of {judged} causes are right");
}

/// Attached to a thread of a program that runs: another thread of it, and another program, call the system, too.
#[test]
fn a_threads_calls_are_recorded_alone() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let noise = Noise::begin();
    let _other = Noise::begin();
    let tid = noise.0.id().to_string();
    for (options, knows_others) in [(["--tid", &tid], true), (["-t", &tid], false)] {
        let (out, keeps) = (
            folder.path().join(format!("slow{}", options[0])),
            ["--snapshot-over", "1s", "--duration", "2s"],
        );
        let mut command = record();
        command.args(["record", "--no-pt"]).args(keeps).arg("-o").arg(&out);
        command.args(options);
        if knows_others {
            command.args(["--", "sleep", "10"]);
        }
        // perf's last ring is whole: it rang, and nothing was marked.
        let doorbell = out.join("doorbell").to_string_lossy().into_owned();
        let ring = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_secs(1));
            as_root(&format!("echo slow >{doorbell}")).status()
        });
        let output = command.output().expect(NEEDS);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(ring.join().expect("no panic").is_ok_and(|status| status.success()), "{said}");
        run(&mut as_root(&format!("chmod -R a+rwX {}", out.display())), NEEDS);
        let entries = fs::read_dir(&out).expect("the folder").map(|entry| entry.expect("an entry").path());
        let rings = entries.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("ring.") && !name.ends_with("json")
        });
        let mut command = Command::new("perf");
        let ring =
            rings.max_by_key(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).expect("a ring");
        command.args(["script", "--force", "-F", "tid,event", "-i"]).arg(&ring);
        let text = String::from_utf8_lossy(&run(&mut command, NEEDS).stdout).into_owned();
        let (mut callers, mut switched) =
            (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for line in text.lines() {
            let who = line.split_whitespace().next().unwrap_or_default().to_owned();
            if line.contains("raw_syscalls:") {
                callers.insert(who);
            } else if line.contains("sched:sched_switch") {
                switched.insert(who);
            }
        }
        assert_eq!(callers.into_iter().collect::<Vec<_>>().join(" "), tid, "{options:?}: {said}");
        assert_eq!(switched.len() > 1, knows_others, "{options:?}: {switched:?}");
    }
}
