//! Names and lines of code that real runtimes make: what they write down is read as it is. Which functions there are, and which lines they have, is
//! in the programs beside this file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::{MapEvent, Mapping, Pid, Tsc};
use tailtrace_symbols::jitdump::{Dump, Load};
use tailtrace_symbols::{Frame, ProcessImages, SearchPath, own_line};

const AT: Tsc = Tsc(10);
/// After all that happened.
const END: Tsc = Tsc(u64::MAX - 1);

/// Whether `tool` is here; says so where it is not.
fn has(tool: &str) -> bool {
    let is_here =
        Command::new("which").arg(tool).stdout(Stdio::null()).status().is_ok_and(|done| done.success());
    if !is_here {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "left out: {test}: no {tool}");
    }
    is_here
}

fn program(name: &str) -> String {
    format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn images(root: &Path, pid: Pid, range: std::ops::Range<u64>, path: &str) -> ProcessImages {
    let mapping = Mapping { pid, range, file_offset: 0, path: path.to_owned(), build_id: None, inode: None };
    let search = SearchPath { symfs: Some(root.to_owned()), ..SearchPath::default() };
    ProcessImages::new(search, vec![(AT, MapEvent::Map(mapping))], Vec::new())
}

/// `jcmd PID Compiler.perfmap` of a JVM that runs.
#[test]
fn the_jvms_perf_map_names_its_methods() {
    if !["java", "javac", "jcmd"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let compiled = Command::new("javac").arg("-d").arg(folder.path()).arg(program("Prices.java")).status();
    assert!(compiled.expect("javac runs").success());
    let mut java = Command::new("java");
    java.current_dir(folder.path()).args([
        "-Xmx64m",
        "-XX:-Inline",
        "-XX:-UseOnStackReplacement",
        "-cp",
        ".",
        "Prices",
    ]);
    let mut jvm = java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("java runs");
    let output = BufReader::new(jvm.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "compiled"));
    let pid = jvm.id().to_string();
    let written = Command::new("jcmd").args([&pid, "Compiler.perfmap"]).output().expect("jcmd runs");
    drop(jvm.stdin.take());
    jvm.wait().expect("ended");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stdout));
    let name = format!("tmp/perf-{pid}.map");
    let list = fs::read_to_string(Path::new("/").join(&name)).expect("the list");
    fs::create_dir(folder.path().join("tmp")).expect("made");
    fs::rename(Path::new("/").join(&name), folder.path().join(&name))
        .or_else(|_| fs::write(folder.path().join(&name), &list))
        .expect("copied");
    let _ = fs::remove_file(Path::new("/").join(&name));
    let line = list.lines().find(|line| line.contains("Prices.price")).unwrap_or_else(|| panic!("{list}"));
    let start =
        line.split(' ').next().and_then(|start| u64::from_str_radix(start.trim_start_matches("0x"), 16).ok());
    let start = start.unwrap_or_else(|| panic!("{line}"));
    let pid = Pid(i32::try_from(jvm.id()).expect("a PID"));
    let images = images(folder.path(), pid, start & !0xfff..start + 0x10_0000, "//anon");
    let found = images.function_at(pid, start + 1, AT).map(|found| found.name.to_string());
    // As people write it, without types and how it was compiled.
    assert_eq!(found.as_deref(), Some("Prices.price"), "{line}");
}

/// `node --perf-prof`: optimised code of `total`, into which `price` may be inlined, has lines of both, and none of elsewhere.
#[test]
fn the_jitdump_of_node_has_names_and_lines() {
    if !has("node") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("prices.js");
    fs::copy(program("prices.js"), &script).expect("copied");
    let mut node = Command::new("node");
    node.current_dir(folder.path()).args(["--perf-prof", "--no-use-osr"]).arg(&script).stdout(Stdio::null());
    let mut node = node.spawn().expect("node runs");
    let pid = Pid(i32::try_from(node.id()).expect("a PID"));
    assert!(node.wait().expect("ended").success());
    let name = format!("jit-{pid}.dump");
    let bytes = fs::read(folder.path().join(&name)).expect("a dump");
    let dump = Dump::parse(&bytes).expect("a dump");
    assert!(!dump.is_tsc && dump.broken_at.is_none());
    let images = images(folder.path(), pid, 0x1000..0x2000, &format!("/srv/{name}"));
    let mut lines = BTreeSet::new();
    for load in &dump.loads {
        let raw = String::from_utf8_lossy(&bytes[load.name.clone()]).into_owned();
        if !(raw.contains("*total ") && raw.contains("prices.js")) {
            continue;
        }
        let found = images.function_at(pid, load.address, END).map(|found| found.name.to_string());
        assert_eq!(found.as_deref(), Some("total"));
        for address in load.range() {
            let frames: Vec<Frame> = images.lines(pid, address, END);
            assert_eq!(frames.last().map(|frame| &*frame.function), Some("total"));
            let (file, line) = own_line(&frames).expect("a line");
            assert_eq!(Path::new(file), script);
            // `total` is lines 9 to 15, `price` before it.
            assert_eq!(frames.len(), if line < 9 { 2 } else { 1 }, "{frames:?}");
            lines.insert(line);
        }
    }
    assert!(lines.iter().all(|line| (1..=15).contains(line)), "{lines:?}");
    assert!(lines.contains(&12) && lines.len() > 2, "{lines:?}");
}

/// Compiles the agent that writes a jitdump, and the program that it is tried on.
fn agent_of_java(folder: &Path) -> PathBuf {
    let which = Command::new("which").arg("javac").output().expect("which runs");
    let javac = fs::canonicalize(String::from_utf8_lossy(&which.stdout).trim()).expect("there");
    let include = javac.parent().and_then(Path::parent).expect("a JDK").join("include");
    let agent = folder.join("libtailtrace_jitdump.so");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include).arg("-I");
    cc.arg(include.join("linux")).arg(program("../../marks/java/jitdump/agent.c"));
    cc.arg("-o").arg(&agent).arg("-lpthread");
    assert!(cc.status().expect("cc runs").success());
    let compiled = Command::new("javac").arg("-d").arg(folder).arg(program("Prices.java")).status();
    assert!(compiled.expect("javac runs").success());
    agent
}

/// `Prices` in a JVM with these options, when its methods are compiled.
fn compiled_prices(folder: &Path, options: &[String]) -> Child {
    let mut java = Command::new("java");
    java.current_dir(folder).args(options).args(["-Xmx64m", "-cp", ".", "Prices"]);
    let mut jvm = java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("java runs");
    let output = BufReader::new(jvm.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "compiled"));
    jvm
}

fn pid_of(jvm: &Child) -> Pid {
    Pid(i32::try_from(jvm.id()).expect("a PID"))
}

/// The newest code of that name.
fn newest<'a>(dump: &'a Dump, bytes: &[u8], name: &str) -> Option<&'a Load> {
    dump.loads.iter().rfind(|load| bytes[load.name.clone()] == *name.as_bytes())
}

const PRICE: &str = "long Prices.price(long, int)";
const CALLS: &str = "void Prices.calls()";

/// The newest code of `price` in the dump that a JVM is writing: it says what it compiled a little later.
fn price_of(dump: &Path) -> Load {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        let bytes = fs::read(dump).expect("a dump");
        if let Ok(dump) = Dump::parse(&bytes)
            && newest(&dump, &bytes, CALLS).is_some()
            && let Some(price) = newest(&dump, &bytes, PRICE)
        {
            return price.clone();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("not compiled");
}

/// The agent of `crates/marks/java/jitdump`: names, lines, also of inlined methods, and the bytes that the process has in its memory.
#[test]
fn the_jitdump_of_a_jvm_has_names_code_and_lines() {
    if !["java", "javac", "cc"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent_of_java(folder.path());
    for clock in ["", ",clock=monotonic"] {
        let options = format!("-agentpath:{}={}{clock}", agent.display(), folder.path().display());
        let mut jvm = compiled_prices(folder.path(), &[options]);
        let pid = pid_of(&jvm);
        let name = format!("jit-{pid}.dump");
        let price = price_of(&folder.path().join(&name));
        let memory = fs::File::open(format!("/proc/{pid}/mem")).expect("its memory");
        let mut code = vec![0; price.code.len()];
        memory.read_exact_at(&mut code, price.address).expect("it is there");
        drop(jvm.stdin.take());
        jvm.wait().expect("ended");
        let bytes = fs::read(folder.path().join(&name)).expect("a dump");
        assert_eq!(code, bytes[price.code.clone()]);
        let dump = Dump::parse(&bytes).expect("a dump");
        assert!(dump.is_tsc == clock.is_empty() && dump.broken_at.is_none());
        let images = images(folder.path(), pid, 0x1000..0x2000, &format!("/srv/{name}"));
        let found = images.function_at(pid, price.address, END).map(|found| found.name.to_string());
        assert_eq!(found.as_deref(), Some("Prices.price"));
        let lines = |load: &Load| -> BTreeSet<u32> {
            let frames = load.range().map(|address| images.lines(pid, address, END));
            let own =
                frames.filter_map(|frames| own_line(&frames).map(|(file, line)| (file.to_owned(), line)));
            own.filter(|(file, _)| file == "Prices.java").map(|(_, line)| line).collect()
        };
        let own = lines(&price);
        assert!(own.iter().all(|line| (3..=8).contains(line)) && own.contains(&6), "{own:?}");
        // After the last place that HotSpot describes come stubs, which have no line.
        let last = price.range().last().expect("it has code");
        assert_eq!(own_line(&images.lines(pid, last, END)), None);
        // Whoever calls it a lot has it inlined.
        let inlined = lines(newest(&dump, &bytes, CALLS).expect("it was compiled"));
        assert!(inlined.contains(&6) && inlined.contains(&13), "{inlined:?}");
    }
}

/// An agent that comes late writes a file of its own, not through a link, that its user alone can read, and only one.
#[test]
fn the_jitdump_of_a_jvm_is_a_new_file_and_the_only_one() {
    if !["java", "javac", "jcmd", "cc"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent_of_java(folder.path());
    let mut jvm = compiled_prices(folder.path(), &[]);
    let pid = pid_of(&jvm);
    let path = folder.path().join(format!("jit-{pid}.dump"));
    let other = folder.path().join("other");
    fs::write(&other, "as it was").expect("written");
    symlink(&other, &path).expect("linked");
    let attach = || {
        let mut jcmd = Command::new("jcmd");
        jcmd.args([&pid.to_string(), "JVMTI.agent_load"]).arg(&agent).arg(folder.path());
        let said = jcmd.output().expect("jcmd runs").stdout;
        String::from_utf8_lossy(&said).into_owned()
    };
    let first = attach();
    assert!(first.contains("return code: 0"), "{first}");
    let price = price_of(&path);
    let again = attach();
    assert!(!again.contains("return code: 0"), "{again}");
    drop(jvm.stdin.take());
    jvm.wait().expect("ended");
    assert_eq!(fs::read_to_string(&other).expect("there"), "as it was");
    let facts = fs::symlink_metadata(&path).expect("there");
    assert!(facts.is_file());
    assert_eq!(facts.permissions().mode() & 0o7777, 0o600);
    let bytes = fs::read(&path).expect("a dump");
    let dump = Dump::parse(&bytes).expect("a dump");
    assert!(dump.broken_at.is_none());
    assert!(dump.loads.contains(&price), "it was written anew");
}
