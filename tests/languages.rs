//! Marks of other languages than C, in real recordings without Intel PT: the pages `docs/marks-*.md` as they stand, the Rust
//! crate beside the header, and what Go, Java, .NET, Python and Node.js have beside their own clocks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::captures::{repository, tailtrace};
use crate::no_pt::{NEEDS, first, key, record, run};
pub(crate) use programs::java_marks;
use programs::{
    RUNS_ON, both_marks, both_marks_of_dotnet, both_marks_of_go, both_marks_of_java, both_marks_of_node,
    both_marks_of_python, dotnet,
};

mod perf_map;
mod programs;

/// Lets others than root read what was recorded.
fn open_up(folder: &Path, recorder: &Command) {
    if recorder.get_program() == "sudo" {
        run(Command::new("sudo").args(["-n", "chmod", "-R", "a+rwX"]).arg(folder), NEEDS);
    }
}

fn explained(folder: &Path, marks: &str) -> Value {
    let mut command = tailtrace();
    command.args(["explain", "--format", "json", "--over", "1ms", "--top", "100", "-i"]);
    command.arg(folder.join("perf.data")).arg("--intervals").arg(folder.join(marks));
    serde_json::from_slice(&run(&mut command, "explain").stdout).expect("JSON")
}

fn reading(outlier: &Value, field: &str) -> u64 {
    outlier[field].as_str().and_then(|text| text.parse().ok()).expect("a time")
}

/// Two threads mark each request by both: key for key the crate's interval lies within the header's, and has the same cause.
#[test]
fn the_rust_crates_intervals_are_the_headers() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = both_marks(folder.path());
    let mut recorder = record();
    recorder.args(["record", "--no-pt", "-o"]).arg(folder.path().join("perf.data")).arg("--").arg(program);
    run(recorder.arg(folder.path()), NEEDS);
    open_up(folder.path(), &recorder);
    let [of_crate, of_header] = ["crate.marks", "header.marks"].map(|marks| explained(folder.path(), marks));
    assert_eq!(of_crate["population"]["count"], 3000);
    assert_eq!(of_header["population"]["count"], 3000);
    let by_key = |report: &Value| -> BTreeMap<u64, Value> {
        report["outliers"].as_array().expect("outliers").iter().map(|one| (key(one), one.clone())).collect()
    };
    let (found, expected) = (by_key(&of_crate), by_key(&of_header));
    let planted: Vec<u64> = (0..30).map(|number| 100 * number + 50).collect();
    let mut apart = Vec::new();
    let mut slept = 0;
    for key in &planted {
        let (found, expected) = (&found[key], &expected[key]);
        assert_eq!(found["start_thread"], expected["start_thread"]);
        assert_eq!(found["stop_thread"], expected["stop_thread"]);
        assert_eq!(first(found)["cause"], first(expected)["cause"], "{}", found["headline"]);
        slept += usize::from(first(found)["cause"] == "offcpu.sleep");
        let begins = reading(found, "start_tsc").checked_sub(reading(expected, "start_tsc"));
        let ends = reading(expected, "stop_tsc").checked_sub(reading(found, "stop_tsc"));
        apart.extend([begins.expect("within the header's"), ends.expect("within the header's")]);
    }
    // What else runs on this machine may have delayed one of them longer.
    assert!(slept + 1 >= planted.len(), "{slept} of {}", planted.len());
    apart.sort_unstable();
    // A mark takes some 10 ns, and the first read of a cache line more: 1 us is 1,000 to 5,000 ticks.
    assert!(apart[apart.len() / 2] < 5_000, "{apart:?}");
}

/// Two threads mark each request in their language, and write down its own clock around it: key for key the marks lie within these
/// readings, to the bound that clock pairs 100 ms apart leave, and the slow ones slept: `is_sleep` says by which cause.
fn assert_within_its_clock(folder: &Path, words: &[String], is_sleep: impl Fn(&Value) -> bool) {
    let mut recorder = record();
    recorder.args(["record", "--no-pt", "-o"]).arg(folder.join("perf.data")).arg("--").args(words);
    // .NET's runtime leaves files where temporary ones are.
    run(recorder.arg(folder).env("TMPDIR", folder), NEEDS);
    open_up(folder, &recorder);
    let [of_package, of_clock] = ["package.marks", "clock.csv"].map(|marks| explained(folder, marks));
    assert_eq!(of_package["population"]["count"], 3000);
    assert_eq!(of_clock["population"]["count"], 3000);
    let by_key = |report: &Value| -> BTreeMap<u64, Value> {
        report["outliers"].as_array().expect("outliers").iter().map(|one| (key(one), one.clone())).collect()
    };
    let (found, expected) = (by_key(&of_package), by_key(&of_clock));
    let mut slept = 0;
    for key in (0..30).map(|number| 100 * number + 50) {
        let (found, expected) = (&found[&key], &expected[&key]);
        let is_sleep = is_sleep(found);
        slept += usize::from(is_sleep);
        // What else runs on this machine may have delayed it longer than it slept.
        assert!(is_sleep || found["duration_ns"].as_u64() >= Some(2 * 20_000_000), "{key}: {}", first(found));
        assert_eq!(
            found["counters"][0]["value"].to_string().parse::<f64>().ok(),
            u32::try_from(key).ok().map(f64::from)
        );
        assert_eq!(found["stages"][0]["name"], "parse");
        let ticks = reading(found, "stop_tsc") - reading(found, "start_tsc");
        let bound = 30 * ticks / (found["duration_ns"].as_u64().expect("a length") / 1000);
        assert!(reading(found, "start_tsc") + bound >= reading(expected, "start_tsc"), "{key}");
        assert!(reading(found, "stop_tsc") <= reading(expected, "stop_tsc") + bound, "{key}");
        // The other way round the program may have been preempted between the two: a sleep is far longer.
        assert!(reading(found, "stop_tsc") > reading(expected, "start_tsc"), "{key}");
        assert!(
            expected["duration_ns"].as_u64() >= Some(20_000_000)
                && found["duration_ns"].as_u64() >= Some(20_000_000),
            "{key}"
        );
    }
    assert!(slept >= 15, "{slept} of 30");
}

#[test]
fn the_go_packages_intervals_are_those_of_gos_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = both_marks_of_go(folder.path()).to_string_lossy().into_owned();
    assert_within_its_clock(folder.path(), &[program], |found| first(found)["cause"] == "offcpu.sleep");
}

#[test]
fn the_java_classes_intervals_are_those_of_javas_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = both_marks_of_java(folder.path());
    assert_within_its_clock(folder.path(), &words, |found| first(found)["cause"] == "offcpu.sleep");
}

/// V8 sleeps in a futex with a time limit, and may be woken by the other thread's waits in between: then it goes on to sleep.
fn slept_with_breaks(found: &Value) -> bool {
    let cause = &first(found)["cause"];
    cause == "offcpu.sleep" || cause == "offcpu.lock"
}

#[test]
fn the_node_addons_intervals_are_those_of_nodes_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = both_marks_of_node(folder.path());
    assert_within_its_clock(folder.path(), &words, slept_with_breaks);
}

/// On Mono, and on .NET Core.
#[test]
fn the_dotnet_classes_intervals_are_those_of_its_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = both_marks_of_dotnet(folder.path()).to_string_lossy().into_owned();
    fs::write(folder.path().join("both_marks.runtimeconfig.json"), RUNS_ON).expect("written");
    for runtime in [Path::new("mono"), &dotnet()] {
        let words = [runtime.to_string_lossy().into_owned(), program.clone()];
        assert_within_its_clock(folder.path(), &words, |found| first(found)["cause"] == "offcpu.sleep");
    }
}

#[test]
fn the_python_extensions_intervals_are_those_of_pythons_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = both_marks_of_python(folder.path());
    assert_within_its_clock(folder.path(), &words, |found| first(found)["cause"] == "offcpu.sleep");
}

/// A page of the documents: its programs by the names in their first lines, and its commands.
pub(crate) struct Page {
    programs: Vec<(String, String)>,
    commands: String,
}

impl Page {
    pub(crate) fn of(language: &str) -> Page {
        let path = repository().join(format!("docs/marks-{language}.md"));
        let text = fs::read_to_string(&path).expect("the page");
        let mut page = Page { programs: Vec::new(), commands: String::new() };
        for block in text.split("\n```").skip(1).step_by(2) {
            let (kind, content) = block.split_once('\n').expect("a block");
            if kind == "sh" {
                page.commands.push_str(content);
                page.commands.push('\n');
            } else {
                let name = content.lines().next().and_then(|line| line.split(' ').nth(1)).expect("a name");
                page.programs.push((name.to_owned(), format!("{content}\n")));
            }
        }
        page
    }

    /// Runs its commands in `folder`; what they print.
    pub(crate) fn run(&self, folder: &Path) -> String {
        for (name, text) in &self.programs {
            fs::write(folder.join(name), text).expect("written");
        }
        let bin = folder.join("bin");
        fs::create_dir(&bin).expect("made");
        let recorder = record();
        let as_root: Vec<_> = std::iter::once(recorder.get_program()).chain(recorder.get_args()).collect();
        let words = as_root.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let own = tailtrace().get_program().to_string_lossy().into_owned();
        let sudo = if recorder.get_program() == "sudo" { "sudo -n chmod -R a+rwX ." } else { "true" };
        let stand_in =
            format!("#!/bin/sh\n[ \"$1\" = record ] || exec {own} \"$@\"\n{words} \"$@\" && {sudo}\n");
        let as_root =
            "#!/bin/sh\nif [ \"$(id -u)\" = 0 ]; then exec \"$@\"; fi\nexec /usr/bin/sudo -n \"$@\"\n";
        for (name, text) in [("tailtrace", &*stand_in), ("sudo", as_root)] {
            fs::write(bin.join(name), text).expect("written");
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-e", "-c", &self.commands]).current_dir(folder);
        shell.env("PATH", format!("{}:{path}", bin.display())).env("TAILTRACE", repository());
        shell.env("ITTAPI", ittapi()).env_remove("CARGO_TARGET_DIR");
        let output = run(&mut shell, "the page's commands");
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

/// The C sources of the ITT API, in the package `ittapi-sys` as cargo has it.
fn ittapi() -> std::path::PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--offline"]).current_dir(repository());
    let metadata: Value =
        serde_json::from_slice(&run(&mut cargo, "cargo metadata").stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == "ittapi-sys").expect("of crates/itt");
    Path::new(package["manifest_path"].as_str().expect("a path")).with_file_name("c-library")
}

/// Each page's program marks from several threads, and of its requests one sleeps for 20 ms: one of `sleeps` says so.
fn assert_explained(language: &str, sleeps: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let report = Page::of(language).run(folder.path());
    assert!(report.contains("order"), "{language}: {report}");
    assert!(sleeps.iter().any(|sleep| report.contains(sleep)), "{language}: {report}");
}

#[test]
fn the_page_of_rust_ends_with_a_report() {
    assert_explained("rust", &["sleep", "asleep"]);
}

#[test]
fn the_page_of_python_ends_with_a_report() {
    assert_explained("python", &["sleep", "asleep"]);
}

#[test]
fn the_page_of_itt_programs_ends_with_a_report() {
    assert_explained("itt", &["sleep", "asleep"]);
}

#[test]
fn the_page_of_go_ends_with_a_report() {
    // Its scheduler sleeps for the goroutine: one of its threads waits in epoll, the others for a futex.
    assert_explained("go", &["epoll_pwait()", "futex"]);
}

/// The result of the call shows it, also where nothing was recorded of the CPU's idle task (Linux 6.18, where other recorders run).
#[test]
fn the_page_of_java_ends_with_a_report() {
    assert_explained("java", &["slept"]);
}

#[test]
fn the_page_of_dotnet_ends_with_a_report() {
    assert_explained("dotnet", &["slept"]);
}

#[test]
fn the_page_of_node_ends_with_a_report() {
    assert_explained("node", &["slept"]);
}
