//! What is asked: which capture, which intervals of it, and against how many typical ones. Plain values, no option text.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use intervals::{EventPair, PtwriteSpec};
use model::{Cpu, PerfTime, Pid, Tid};
use perfdata::{Machine, companion};
use pt::EngineKind;
use report::Snapshots;
use symbols::code_copies;

/// The interval file that is looked for beside a capture where no source of intervals is named.
pub const USUAL_INTERVALS: &str = "intervals.csv";

/// The account's name in the folder of a recording that keeps only what was slow.
pub const ACCOUNT: &str = "snapshots.json";

/// Where the clock pairs of the capture at `path` lie: beside it, or for all of a recording that keeps only what was slow in its folder.
pub fn clocks_of(path: &Path) -> PathBuf {
    let own = intervals::clocks_beside(path);
    let of_recording = path.with_file_name(intervals::CLOCKS);
    let is_kept = !own.exists() && path.with_file_name(ACCOUNT).is_file() && of_recording.is_file();
    if is_kept { of_recording } else { own }
}

/// The name of the file that says what PTWRITE payloads mean, as [`companion`] takes it.
pub const PTWRITE: &str = "ptwrite";

/// Where it is written what the PTWRITE payloads in the capture at `path` mean, in the words of `--ptwrite`: in a directory `ptwrite`,
/// beside a file one of its name with `.ptwrite`.
pub fn ptwrite_beside(path: &Path) -> PathBuf {
    companion(path, PTWRITE)
}

/// What is to be explained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The capture.
    pub input: Input,
    /// Where the intervals come from; `None` where the capture is a slice and carries its own, or where they lie beside it
    /// ([`Request::intervals_beside`]).
    pub source: Option<Source>,
    /// Which of them make up the population.
    pub filters: Filters,
    /// Which of the population are chosen; the default rule is the MAD's.
    pub selection: intervals::Selection,
    /// How much is decoded for each chosen one.
    pub effort: Effort,
    /// The files that will be written over: an error where one of them turns out to be a file that served for code.
    pub outputs: Vec<PathBuf>,
}

impl Request {
    /// The files and folders that answering it reads, as far as it names them.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let Input { path, code, .. } = &self.input;
        let copies = companion(path, code_copies::NAME);
        let mut inputs = vec![path.clone(), Machine::place(path), clocks_of(path), copies];
        inputs.extend(code.given().map(|(_, path)| path.to_owned()));
        let file = match &self.source {
            Some(Source::File(path)) => Some(path.clone()),
            Some(_) => None,
            None => self.intervals_beside().or_else(|| Some(ptwrite_beside(path))),
        };
        inputs.extend(file.into_iter().flat_map(|path| [intervals::clocks_beside(&path), path]));
        inputs
    }

    /// The interval file that is read where no source is named and the capture carries no intervals: [`USUAL_INTERVALS`] in the
    /// capture's folder. `None` where there is none; a bundle brings its own.
    pub fn intervals_beside(&self) -> Option<PathBuf> {
        let path = self.input.path.with_file_name(USUAL_INTERVALS);
        (!self.input.code.contained && path.is_file()).then_some(path)
    }
}

/// Which capture, and where its code is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The perf.data file or directory.
    pub path: PathBuf,
    /// Where the code that ran is.
    pub code: Code,
    /// What decodes the trace; `None`: what usually decodes traces of its CPU.
    pub engine: Option<EngineKind>,
    /// The folder in which found calls of functions are kept for the next time; `None`: nowhere.
    pub cache: Option<PathBuf>,
    /// Of a slice: what its recording skipped until then; `None`: as the account beside it says.
    pub account: Option<Snapshots>,
}

/// Where the code that ran is, and its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Binaries are looked for beneath this directory.
    pub symfs: Option<PathBuf>,
    /// The kernel's ELF file.
    pub vmlinux: Option<PathBuf>,
    /// The kernel's symbols, in the format of /proc/kallsyms.
    pub kallsyms: Option<PathBuf>,
    /// Source files are looked for beneath this directory.
    pub source: Option<PathBuf>,
    /// Whether the debuginfod servers of `DEBUGINFOD_URLS` are asked even for a bundle.
    pub debuginfod: bool,
    /// Nothing else of this machine is looked at: neither the recorded paths nor perf's cache, the system's debug files or, unless
    /// [`Code::debuginfod`] says so, servers. So it is for a bundle, which brings what it needs: what it names of this machine
    /// is none of its business.
    pub contained: bool,
    /// Where the recording is known to be this machine's own, since when its mappings were there, at the latest: files that were not
    /// changed since then are known by device and inode ([`symbols::SearchPath::mapped_since`]).
    pub mapped_since: Option<SystemTime>,
}

impl Code {
    /// Those that are set, under the names of the options that they have with perf and with tailtrace.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [
            ("--symfs", &self.symfs),
            ("--vmlinux", &self.vmlinux),
            ("--kallsyms", &self.kallsyms),
            ("--source", &self.source),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }
}

/// Where intervals come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// An interval file: `VTune`'s CSV or tailtrace's own format.
    File(PathBuf),
    /// Two recorded events.
    Events(EventPair),
    /// Payloads of PTWRITE.
    Ptwrite(PtwriteSpec),
    /// Regions of the ITT API that programs mark in the trace, and the file that names them.
    PtRegions(Option<PathBuf>),
    /// From the entry of the function of this name to its return.
    Function(String),
    /// What these servers read and answered, by the records of system calls.
    Requests(Vec<Server>),
}

/// A server: threads whose requests are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// All threads of this process.
    Process(Pid),
    /// All threads of this name.
    Comm(String),
}

impl Server {
    /// A number is a process, all else a thread's name.
    pub fn of(text: &str) -> Server {
        text.parse().map_or_else(|_| Server::Comm(text.to_owned()), |pid| Server::Process(Pid(pid)))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Process(pid) => pid.fmt(f),
            Server::Comm(comm) => f.write_str(comm),
        }
    }
}

/// Which intervals make up the population; what is empty lets all pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// They overlap one of these times.
    pub times: Vec<TimeRange>,
    /// One of their threads ran on one of these CPUs during the interval.
    pub cpus: Vec<Cpu>,
    /// One of their threads is of one of these processes.
    pub pids: Vec<Pid>,
    /// One of their threads is one of these.
    pub tids: Vec<Tid>,
    /// One of their threads has one of these names.
    pub comms: Vec<String>,
    /// They have one of these labels.
    pub labels: Vec<String>,
}

/// A range of perf's clock, open where an end is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Not before.
    pub from: Option<PerfTime>,
    /// Not after.
    pub to: Option<PerfTime>,
}

/// How much is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many typical intervals each chosen one is compared with.
    pub baselines: usize,
    /// Whether these are the nearest to its path of several times as many: those that entered the same functions.
    pub same_path: bool,
}

impl Effort {
    /// Typical intervals per chosen one by default.
    pub const USUAL_BASELINES: usize = 16;
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { baselines: Effort::USUAL_BASELINES, same_path: false }
    }
}
