//! Finds the captures, and runs perf on them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// Emulated captures, unpacked once for all tests of this run.
static EMULATED: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
/// Captures made for this run.
static RECORDED: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();

/// All captures: files and directories that `perf -i` takes.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut captures = corpus();
    captures.extend(emulated());
    captures.extend(recorded());
    captures
}

/// Captures with PT.
pub(crate) fn with_pt() -> Vec<PathBuf> {
    let mut captures = corpus();
    captures.extend(emulated());
    captures
}

/// Captures by real hardware.
pub(crate) fn corpus() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&folder("TAILTRACE_CORPUS", "corpus"), &mut found);
    found.sort();
    if found.is_empty() {
        left_out("no captures by hardware (set TAILTRACE_CORPUS)");
    }
    found
}

/// Captures of an emulated machine: with kernel, tracepoints and a kcore directory.
pub(crate) fn emulated() -> Vec<PathBuf> {
    let unpacked = EMULATED.get_or_init(|| {
        let packed = folder("TAILTRACE_EMULATED", "emulated-pt/captures");
        let archives: Vec<PathBuf> =
            packed.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let folder = tempfile::tempdir().ok()?;
        for archive in archives.iter().filter(|path| path.extension().is_some_and(|ext| ext == "zst")) {
            let file = std::fs::File::open(archive).expect("readable archive");
            let stream = zstd::Decoder::new(file).expect("zstd stream");
            let mut entries = tar::Archive::new(stream);
            for entry in entries.entries().expect("tar") {
                let mut entry = entry.expect("entry");
                // The reader needs neither the kernel's code nor the programs.
                let path = entry.path().expect("path").into_owned();
                if path.components().any(|part| part.as_os_str() == "perf.data") && !path.ends_with("kcore") {
                    entry.unpack_in(folder.path()).expect("unpacked");
                }
            }
        }
        Some(folder)
    });
    let mut found = Vec::new();
    if let Some(folder) = unpacked {
        collect(folder.path(), &mut found);
    }
    found.sort();
    if found.is_empty() {
        left_out("no captures of an emulated machine (set TAILTRACE_EMULATED)");
    }
    found
}

/// Captures recorded now, without PT: what the others lack. None where this machine does not let perf record.
pub(crate) fn recorded() -> Vec<PathBuf> {
    const RECORDINGS: [(&str, &[&str]); 5] = [
        ("compressed", &["-z", "-F", "5000", "-g", "-e", "cpu-clock"]),
        ("directory", &["--threads", "-F", "5000", "-a", "-e", "cpu-clock"]),
        ("clock", &["-k", "CLOCK_MONOTONIC", "-F", "5000", "-g", "--switch-events", "-a", "-e", "cpu-clock"]),
        ("stacks", &["--call-graph", "dwarf", "-d", "-W", "--namespaces", "-F", "2000", "-e", "cpu-clock"]),
        (
            "tracepoints",
            &["-a", "--switch-events", "-e", "sched:sched_switch", "-e", "raw_syscalls:sys_exit"],
        ),
    ];
    let folder = RECORDED.get_or_init(|| {
        let folder = tempfile::tempdir().ok()?;
        for (name, arguments) in RECORDINGS {
            let mut perf = Command::new("perf");
            perf.arg("record").args(arguments).arg("-o").arg(folder.path().join(format!("perf.data.{name}")));
            perf.args(["--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sh -c true; done"]);
            // What the machine does not allow leaves no file.
            let _ = perf.output();
        }
        Some(folder)
    });
    let mut found = Vec::new();
    if let Some(folder) = folder {
        collect(folder.path(), &mut found);
    }
    // An earlier one that perf moved out of its way.
    found.retain(|path| path.extension().is_none_or(|extension| extension != "old"));
    found.sort();
    if found.is_empty() {
        left_out("perf does not record on this machine");
    }
    found
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

fn folder(variable: &str, name: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    std::env::var_os(variable).map_or_else(beside, PathBuf::from)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Beside a capture may lie what tailtrace keeps of it.
        if name.starts_with("perf.") && name.contains("data") && !name.contains(".tailtrace-") {
            found.push(path);
        } else if path.is_dir() {
            collect(&path, found);
        }
    }
}

/// `perf script -D`, without the packets and the raw bytes. Run once for all tests, for it is slow.
pub(crate) fn dump(capture: &Path) -> Arc<str> {
    static DUMPS: Mutex<BTreeMap<PathBuf, Arc<str>>> = Mutex::new(BTreeMap::new());
    let mut dumps = DUMPS.lock().expect("no test panics in here");
    if let Some(dump) = dumps.get(capture) {
        return Arc::clone(dump);
    }
    let text = perf(&["script", "-D"], capture);
    let lines = text.lines().filter(|line| !line.starts_with('.'));
    let dump: Arc<str> = lines.collect::<Vec<_>>().join("\n").into();
    dumps.insert(capture.to_path_buf(), Arc::clone(&dump));
    dump
}

/// What perf prints.
pub(crate) fn perf(arguments: &[&str], capture: &Path) -> String {
    let output = Command::new("perf").args(arguments).arg("-i").arg(capture).output().expect("perf runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
