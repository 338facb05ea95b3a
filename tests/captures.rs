//! Where the tests find captures, and how they run the binary.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A capture and the binaries that ran in it.
pub(crate) struct Capture {
    /// The directory that holds it.
    pub(crate) root: PathBuf,
    /// The file or directory for `-i`.
    pub(crate) perf_data: PathBuf,
    /// The directory for `--symfs`.
    pub(crate) symfs: PathBuf,
}

impl Capture {
    fn at(root: PathBuf, perf_data: &str, symfs: &str) -> Capture {
        Capture { perf_data: root.join(perf_data), symfs: root.join(symfs), root }
    }

    /// What the scenario in `file` says, made in `root`.
    pub(crate) fn of_scenario(file: &Path, root: PathBuf) -> Capture {
        tracegen::scenario::make(file, &root).unwrap_or_else(|error| panic!("{error}"));
        Capture::at(root, "perf.data", "symfs")
    }

    /// `tailtrace COMMAND -i … --symfs …` with more arguments.
    pub(crate) fn tailtrace(&self, command: &str, arguments: &[&str]) -> Output {
        let mut process = tailtrace();
        process.arg(command).arg("-i").arg(&self.perf_data).arg("--symfs").arg(&self.symfs).args(arguments);
        process.output().expect("tailtrace runs")
    }

    /// The path of the capture's interval file.
    pub(crate) fn intervals(&self) -> String {
        self.root.join("intervals.csv").to_string_lossy().into_owned()
    }

    /// The capture's truth file.
    pub(crate) fn truth(&self) -> serde_json::Value {
        let text = std::fs::read(self.root.join("truth.json")).expect("truth.json is there");
        serde_json::from_slice(&text).expect("truth.json is JSON")
    }
}

/// The binary under test.
pub(crate) fn tailtrace() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailtrace"));
    // Nothing is kept from one run for the next.
    command.env_remove("NO_COLOR").env("XDG_CACHE_HOME", "/dev/null");
    command
}

/// The repository's root.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A capture of `fixtures/captures` that lies there unpacked.
pub(crate) fn bundled(name: &str) -> Capture {
    Capture::at(repository().join("fixtures/captures").join(name), "perf.data", "root")
}

/// An emulated capture of `fixtures/captures`, unpacked once per test run.
pub(crate) fn emulated(name: &'static str) -> Capture {
    let archive = repository().join("fixtures/captures").join(format!("{name}.tar.zst"));
    Capture::at(unpacked(&archive, name), "perf.data", "symfs")
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
pub(crate) fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// An emulated capture that is too large for the repository; `None`, and a line that says so, where it is not at hand.
pub(crate) fn large_emulated(name: &'static str) -> Option<Capture> {
    let folder = std::env::var_os("TAILTRACE_EMULATED")
        .map_or_else(|| repository().join("../shared/emulated-pt/captures"), PathBuf::from);
    let archive = folder.join(format!("{name}.tar.zst"));
    if !archive.exists() {
        left_out(&format!("no {} (set TAILTRACE_EMULATED)", archive.display()));
        return None;
    }
    Some(Capture::at(unpacked(&archive, name), "perf.data", "symfs"))
}

/// The folder of real captures that are not in the repository; `None`, and a line that says so, where it is not at
/// hand.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("TAILTRACE_CORPUS")
        .map_or_else(|| repository().join("../shared/corpus"), PathBuf::from);
    if !folder.exists() {
        left_out(&format!("no {} (set TAILTRACE_CORPUS)", folder.display()));
        return None;
    }
    Some(folder)
}

/// A capture of the corpus.
pub(crate) fn of_corpus(folder: &Path, name: &str) -> Capture {
    Capture::at(folder.join(name), "perf.data", "root")
}

/// Makes the folder `to` of the same files as `from`, by hard links: links by name are not followed in a copy of a kernel.
pub(crate) fn share_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        std::fs::hard_link(entry.path(), to.join(entry.file_name())).expect("linked");
    }
}

/// Unpacks an archive into the test run's own folder, once.
fn unpacked(archive: &Path, name: &'static str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = FOLDER.get_or_init(folder_of_this_run);
    let root = folder.join(name);
    if !root.exists() {
        let status = Command::new("tar")
            .arg("--zstd")
            .arg("-xf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .status()
            .expect("tar runs");
        assert!(status.success(), "cannot unpack {}", archive.display());
    }
    root
}

/// A folder that all tests of this run share. No test is the last to use it: those of runs that have ended are removed here.
fn folder_of_this_run() -> PathBuf {
    const NAME: &str = "tailtrace-tests-";
    let (all, own) = (std::env::temp_dir(), std::process::id().to_string());
    for entry in std::fs::read_dir(&all).expect("the folder for temporary files").flatten() {
        let name = entry.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if run.is_some_and(|run| run == own || !Path::new("/proc").join(run).exists()) {
            // Another run may be removing it, too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = all.join(format!("{NAME}{own}"));
    std::fs::create_dir(&folder).expect("made");
    folder
}

/// The lines of a gzip or zstd file.
pub(crate) fn decompressed(path: &Path) -> Vec<u8> {
    let tool = if path.extension().is_some_and(|extension| extension == "zst") { "zstd" } else { "gzip" };
    let output = Command::new(tool).arg("-dc").arg(path).output().expect("the tool runs");
    assert!(output.status.success(), "cannot read {}", path.display());
    output.stdout
}
