//! Marks of other languages than C, in real recordings without Intel PT: the pages `docs/marks-*.md` as they stand, the Rust
//! crate beside the header, and what Go, Java, .NET and Node.js have beside their own clocks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::captures::{repository, tailtrace};
use crate::no_pt::{NEEDS, first, key, record, run};

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

/// Compiles `fixtures/programs/both_marks.rs` with the crate's sources and the header.
fn both_marks(folder: &Path) -> std::path::PathBuf {
    let root = repository();
    let (object, library) = (folder.join("both_marks.o"), folder.join("libtailtrace_marks.rlib"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("crates/marks/include"));
    compiler.arg("-c").arg(root.join("fixtures/programs/both_marks.c")).arg("-o").arg(&object);
    run(&mut compiler, "this test needs a C compiler");
    let rustc = || {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-O"]);
        rustc
    };
    let mut crates = rustc();
    crates.args(["--crate-type", "rlib", "--crate-name", "tailtrace_marks", "--cfg", "feature=\"std\""]);
    run(crates.arg(root.join("crates/marks/src/lib.rs")).arg("-o").arg(&library), "the crate compiles");
    let program = folder.join("both_marks");
    let mut main = rustc();
    main.arg("--extern").arg(format!("tailtrace_marks={}", library.display()));
    main.arg(format!("-Clink-arg={}", object.display())).arg(root.join("fixtures/programs/both_marks.rs"));
    run(main.arg("-o").arg(&program), "the program compiles");
    program
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

/// Compiles `fixtures/programs/both_marks.go` in a module that requires the package.
fn both_marks_of_go(folder: &Path) -> std::path::PathBuf {
    let root = repository();
    let package = root.join("crates/marks/go");
    fs::copy(root.join("fixtures/programs/both_marks.go"), folder.join("main.go")).expect("copied");
    let module = format!(
        "module both\n\ngo 1.19\n\nrequire tailtrace/marks v0.0.0\n\nreplace tailtrace/marks => {}\n",
        package.display()
    );
    fs::write(folder.join("go.mod"), module).expect("written");
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o", "both", "."]).current_dir(folder);
    run(&mut compiler, "this test needs Go (Debian: golang-go)");
    folder.join("both")
}

/// Compiles the Java class and its library into `folder`, which is then a class path.
pub(crate) fn java_marks(folder: &Path) -> &Path {
    let root = repository();
    let mut compiler = Command::new("javac");
    compiler.arg("-d").arg(folder).arg(root.join("crates/marks/java/tailtrace/Marks.java"));
    run(&mut compiler, "this test needs a JDK (Debian: openjdk-17-jdk-headless)");
    let javac = String::from_utf8(run(Command::new("which").arg("javac"), "which").stdout).expect("UTF-8");
    let javac = fs::canonicalize(javac.trim()).expect("there");
    let include = javac.parent().and_then(Path::parent).expect("a JDK").join("include");
    let includes = [include.clone(), include.join("linux")];
    shared_library(
        &root.join("crates/marks/java/marks.c"),
        &includes,
        &folder.join("tailtrace/libtailtrace_marks.so"),
    );
    folder
}

/// Compiles `fixtures/programs/BothMarks.java` with the class; how it is run.
fn both_marks_of_java(folder: &Path) -> Vec<String> {
    let classes = java_marks(folder).to_string_lossy().into_owned();
    let mut compiler = Command::new("javac");
    compiler.args(["-cp", &classes, "-d", &classes]);
    run(compiler.arg(repository().join("fixtures/programs/BothMarks.java")), "the program compiles");
    ["java", "-cp", &classes, "BothMarks"].map(str::to_owned).into()
}

/// Compiles the Node.js addon beside `fixtures/programs/both_marks.js`; how that is run.
fn both_marks_of_node(folder: &Path) -> Vec<String> {
    let root = repository();
    let program = folder.join("both_marks.js");
    fs::copy(root.join("fixtures/programs/both_marks.js"), &program).expect("copied");
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-save", "node-api-headers"]).current_dir(folder);
    run(&mut npm, "this test needs Node.js and npm");
    let headers = [folder.join("node_modules/node-api-headers/include")];
    shared_library(
        &root.join("crates/marks/node/tailtrace_marks.c"),
        &headers,
        &folder.join("tailtrace_marks.node"),
    );
    vec!["node".to_owned(), program.to_string_lossy().into_owned()]
}

/// Compiles the .NET class, its library and `fixtures/programs/both_marks.cs` with Mono's compiler; the program.
fn both_marks_of_dotnet(folder: &Path) -> std::path::PathBuf {
    let root = repository();
    let program = folder.join("both_marks.exe");
    let mut compiler = Command::new("mcs");
    compiler.args(["-optimize", "-warnaserror"]).arg(format!("-out:{}", program.display()));
    compiler.arg(root.join("fixtures/programs/both_marks.cs")).arg(root.join("crates/marks/dotnet/Marks.cs"));
    run(&mut compiler, "this test needs Mono (Debian: mono-mcs)");
    shared_library(&root.join("crates/marks/dotnet/marks.c"), &[], &folder.join("libtailtrace_marks.so"));
    program
}

/// The runtime of .NET Core, as its makers have it among the packages of Python.
fn dotnet() -> std::path::PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dotnet");
    let program = place.join("dotnetcore2/bin/dotnet");
    if !program.exists() {
        let python = || {
            let mut python = Command::new("python3");
            python.current_dir(&place).arg("-m");
            python
        };
        fs::create_dir_all(&place).expect("made");
        let download =
            ["pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "dotnetcore2==3.1.23"];
        run(python().args(download), "this test needs Python and pip");
        let wheel = "dotnetcore2-3.1.23-py3-none-manylinux1_x86_64.whl";
        run(python().args(["zipfile", "-e", wheel, "."]), "a package of PyPI is a ZIP file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    program
}

fn shared_library(source: &Path, includes: &[std::path::PathBuf], to: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]);
    for include in includes.iter().chain([&repository().join("crates/marks/include")]) {
        compiler.arg("-I").arg(include);
    }
    run(compiler.arg(source).arg("-o").arg(to).arg("-lpthread"), "this test needs a C compiler");
}

/// Two threads mark each request in their language, and write down its own clock around it: key for key the marks lie within these
/// readings, to the bound that clock pairs 100 ms apart leave, and the slow ones slept: `is_sleep` says by which cause.
fn assert_within_its_clock(folder: &Path, words: &[String], is_sleep: impl Fn(&Value) -> bool) {
    let mut recorder = record();
    recorder.args(["record", "--no-pt", "-o"]).arg(folder.join("perf.data")).arg("--").args(words);
    run(recorder.arg(folder), NEEDS);
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
    let runs_on = r#"{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
        "configProperties": {"System.Globalization.Invariant": true}}}"#;
    fs::write(folder.path().join("both_marks.runtimeconfig.json"), runs_on).expect("written");
    for runtime in [Path::new("mono"), &dotnet()] {
        let words = [runtime.to_string_lossy().into_owned(), program.clone()];
        assert_within_its_clock(folder.path(), &words, |found| first(found)["cause"] == "offcpu.sleep");
    }
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
