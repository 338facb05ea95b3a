//! The command line, typed. Option names follow perf's where perf has them.

pub(crate) mod expectation;
mod fleet;
mod recording;
mod request;
mod tags;
pub(crate) mod text;

use std::path::PathBuf;

use analysis::expectation::Expectation;
use analysis::request::Effort;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use fleet::{Fleet, FleetArgs, HowArgs, IngestArgs, RowsArgs};
pub(crate) use request::STDIN;
pub(crate) use tags::TagArgs;

use crate::examples;
use crate::output::Manner;

pub(crate) use recording::{DoctorArgs, DoctorFormat, PauseArgs, Preset, RecordArgs, SnapshotArgs};

/// Explains single slow requests with Intel Processor Trace.
#[derive(Debug, Parser)]
#[command(name = "tailtrace", version, max_term_width = 100, after_help = examples::ALL)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) manner: Manner,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Statistics of all intervals: the table, percentiles and a histogram.
    #[command(after_help = examples::STAT)]
    Stat(StatArgs),
    /// Explains the slowest intervals: every nanosecond, with its cause.
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Shows population, intervals, flow and single blocks on the terminal.
    #[command(after_help = examples::TUI)]
    Tui(AnalysisArgs),
    /// Writes the explained intervals for other tools.
    #[command(after_help = examples::EXPORT)]
    Export(ExportArgs),
    /// Compares the intervals of two captures: before and after a change, fast and slow host.
    #[command(after_help = examples::DIFF)]
    Diff(DiffArgs),
    /// Cuts out what some outliers need: a small perf.data that perf and tailtrace read as the large one.
    #[command(after_help = examples::SLICE)]
    Slice(SliceArgs),
    /// Packs some outliers for a ticket: reports, slice, binaries; `tailtrace explain` opens it anywhere.
    #[command(after_help = examples::BUNDLE)]
    Bundle(BundleArgs),
    /// Runs `perf record` with the recommended events, and writes the machine file (names and NUMA nodes of devices).
    #[command(after_help = examples::RECORD)]
    Record(RecordArgs),
    /// Checks this machine: what stops a recording, what makes it less exact, and the command that mends it.
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Makes tables of many captures, for SQL over a fleet.
    #[command(after_help = examples::FLEET)]
    Fleet(FleetArgs),
    /// Prints what the capture holds, for people who debug traces.
    #[command(after_help = examples::DUMP)]
    Dump(DumpArgs),
    /// Writes shell completions, man pages, the JSON schemas and the C header that marks intervals.
    #[command(after_help = examples::GENERATE)]
    Generate(GenerateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StatArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) expected: ExpectArgs,
    /// Decodes all intervals, or 20,000 of more, and shows what their time is made of at each percentile, and what the percentiles would
    /// be without each cause.
    #[arg(long)]
    pub(crate) causes: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = StatFormat::Text)]
    pub(crate) format: StatFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    pub(crate) format: ExplainFormat,
    /// Shows each explained interval in full: causes, segments with their evidence, and what the capture holds for it. One alone is
    /// shown so anyway.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Also decodes all other intervals, or 20,000 of more, and shows what their time is made of, as `stat --causes`; in HTML with a
    /// slider over the percentiles.
    #[arg(long)]
    pub(crate) causes: bool,
    /// Also writes the report as one HTML file that needs nothing else: for a ticket; `-` is stdout, in place of the text. A file that is
    /// there is replaced.
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
    /// Also adds the rows of this capture to the Parquet tables in this folder, which is made where it is missing: docs/fleet-tables.md
    /// lists them.
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
}

/// Which intervals are explained, and against what.
#[derive(Clone, Debug, Args)]
pub(crate) struct AnalysisArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    /// Compares each outlier with intervals that entered the same functions, where one label stands for several kinds of work; four
    /// times as many are decoded to find them.
    #[arg(long)]
    pub(crate) same_path: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// For whom: flamegraph tools, a spreadsheet, profiler.firefox.com, ui.perfetto.dev.
    #[arg(long, value_enum)]
    pub(crate) to: ExportFormat,
    /// The file to write; `-` is stdout. A file that is there is replaced.
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// All options apply to both captures, except those that end in `-b`: they replace those of the same name.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Before, or the host to compare with: a perf.data file or directory.
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// After, or the other host.
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Look for B's binaries beneath this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) symfs_b: Option<PathBuf>,
    /// B's kernel.
    #[arg(long, value_name = "FILE")]
    pub(crate) vmlinux_b: Option<PathBuf>,
    /// B's kernel symbols.
    #[arg(long, value_name = "FILE")]
    pub(crate) kallsyms_b: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// B's interval file.
    #[arg(long, value_name = "FILE", requires = "intervals")]
    pub(crate) intervals_b: Option<PathBuf>,
    /// One interval file is right for both captures. Without this it is an error, unless A and B are the same capture.
    #[arg(long, requires = "intervals")]
    pub(crate) same_intervals: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    #[command(flatten)]
    pub(crate) expected: ExpectArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SliceArgs {
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// The perf.data to write; a directory, with the kernel's code in it, where the kernel was traced. A file that is
    /// there is replaced, a directory is not.
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// The bundle to write: an archive where the name ends in .tar.zst, else a folder. A file that is there is
    /// replaced, a folder is not.
    #[arg(long, short, value_name = "OUT[.tar.zst]")]
    pub(crate) output: PathBuf,
    /// Replaces host names, user names, command lines and paths, and says what remains.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Leaves the binaries and debug files out.
    #[arg(long)]
    pub(crate) no_binaries: bool,
    /// Also packs programs of which nothing but the path shows that they are the recorded ones.
    #[arg(long, conflicts_with = "no_binaries")]
    pub(crate) pack_unverified: bool,
    #[command(flatten)]
    pub(crate) tags: TagArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) what: DumpWhat,
    /// Only these CPUs: 0,2-3.
    #[arg(long, short = 'C', value_name = "LIST")]
    pub(crate) cpu: Option<String>,
    /// Only these threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tid: Vec<i32>,
    /// Only this time, in seconds of perf's clock: START,STOP; either may be left out. --count takes several,
    /// separated by blanks.
    #[arg(long, value_name = "START,STOP")]
    pub(crate) time: Option<String>,
    /// Threads that decode for --count.
    #[arg(long, short = 'j', value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generated,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generated {
    /// Prints a script that completes commands and options in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Writes a man page for each command.
    Man {
        /// The directory to write to; it is made where it is missing. Pages that are there are replaced.
        #[arg(long, short, value_name = "DIR")]
        output: PathBuf,
    },
    /// Prints the JSON Schema of what this version writes with `--format json`.
    Schema {
        /// Whose JSON.
        #[arg(value_enum)]
        document: SchemaOf,
    },
    /// Writes `tailtrace.h`, with which a C or C++ program marks its intervals.
    Header {
        /// The file to write; stdout where none is named. One that is there is replaced.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// `tailtrace-report/1`: of explain and stat.
    Report,
    /// `tailtrace-diff/1`: of diff.
    Diff,
    /// `tailtrace-machine/1`: the machine file that record writes.
    Machine,
    /// `tailtrace-doctor/1`: of doctor.
    Doctor,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct DumpWhat {
    /// One hexadecimal address per executed instruction, in order of time.
    #[arg(long)]
    pub(crate) insns: bool,
    /// How many instructions were executed on each CPU.
    #[arg(long)]
    pub(crate) count: bool,
    /// How many records of each type, as `perf report --stats` names them.
    #[arg(long)]
    pub(crate) records: bool,
}

/// Which capture, and where its code is.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputArgs {
    /// The perf.data file or directory, or a bundle, as `tailtrace bundle` makes it: a folder or an archive. A bundle brings its
    /// intervals and binaries along; `-` is stdin. [default: what `TAILTRACE_INPUT` names, else perf.data]
    #[arg(value_name = "CAPTURE")]
    pub(crate) capture: Option<PathBuf>,
    /// The same, as perf has it.
    #[arg(short, long, value_name = "CAPTURE", conflicts_with = "capture")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// What decodes the trace.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EngineArgs {
    /// The decoder. They give the same, but for what docs/engines.md lists. [default: native]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<Engine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// tailtrace's own.
    Native,
    /// Intel's library: slower, the reference.
    Libipt,
}

/// Where the code that ran is, and its names.
#[derive(Clone, Debug, Args)]
pub(crate) struct CodeArgs {
    /// Look for binaries beneath this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) symfs: Option<PathBuf>,
    /// The kernel's ELF file.
    #[arg(short = 'k', long, value_name = "FILE")]
    pub(crate) vmlinux: Option<PathBuf>,
    /// The kernel's symbols, in the format of /proc/kallsyms.
    #[arg(long, value_name = "FILE")]
    pub(crate) kallsyms: Option<PathBuf>,
    /// Look for source files beneath this directory.
    // The group of the options that name intervals is called `source`, too.
    #[arg(id = "source directory", long = "source", value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,
    /// Ask the servers of `DEBUGINFOD_URLS` even for a bundle; for a capture they are asked anyway.
    #[arg(long)]
    pub(crate) debuginfod: bool,
}

/// What a figure should be, for continuous integration.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExpectArgs {
    /// Exit code 3 unless this holds: `p99 < 200us` (percentiles, mean, max), `share(offcpu.lock) < 5%` (of the excess of all outliers),
    /// and with diff, which asks it of B, `p99 <= 1.05x`. May be given several times.
    #[arg(
        long,
        value_name = "EXPECTATION",
        value_parser = expectation::parse,
        required_if_eq("format", "junit")
    )]
    pub(crate) expect: Vec<Expectation>,
}

/// How much is decoded, and by how many.
#[derive(Clone, Debug, Args)]
pub(crate) struct EffortArgs {
    /// How many typical intervals each outlier is compared with.
    #[arg(long, value_name = "N", default_value_t = Effort::USUAL_BASELINES)]
    pub(crate) baselines: usize,
    /// Threads that decode.
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Where the intervals come from: one of these.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArgs {
    /// An interval file: tailtrace's own format, `VTune`'s CSV, or spans as OTLP JSON, trace events, a Perfetto trace, a flight recording of the JDK, an execution trace of Go, or a CTF trace (its folder); `-` is stdin. [default: intervals.csv beside the capture]
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) intervals: Option<PathBuf>,
    /// The event that begins an interval, e.g. `probe_app:start`, and what its fields must hold: `raw_syscalls:sys_enter if id == 45`
    /// (==, !=, <, >, <=, >=, & for bits, && between conditions).
    #[arg(long, value_name = "EVENT", requires = "end", group = "source")]
    pub(crate) begin: Option<String>,
    /// The event that ends it, in the same form.
    #[arg(long, value_name = "EVENT", requires = "begin")]
    pub(crate) end: Option<String>,
    /// The field of both events that pairs them.
    #[arg(long, value_name = "FIELD", requires = "begin")]
    pub(crate) key: Option<String>,
    /// The event at which a worker begins to run the interval's task, with the same key; may be given again.
    #[arg(long, value_name = "EVENT", requires = "key")]
    pub(crate) run: Vec<String>,
    /// The event at which something wakes the task; may be given again.
    #[arg(long, value_name = "EVENT", requires = "key")]
    pub(crate) ready: Vec<String>,
    /// The event at which the task begins to wait; may be given again.
    #[arg(long, value_name = "EVENT", requires = "key")]
    pub(crate) r#await: Vec<String>,
    /// PTWRITE payloads, as bit fields: `id=40..63,ticks=0..39`.
    #[arg(long, value_name = "SPEC", group = "source")]
    pub(crate) ptwrite: Option<String>,
    /// Regions of the ITT API that the program marks in the trace (`__itt_mark_pt_region_begin`).
    #[arg(long, group = "source")]
    pub(crate) pt_regions: bool,
    /// Where the collector wrote the names of these regions.
    #[arg(long, value_name = "FILE", requires = "pt_regions")]
    pub(crate) region_names: Option<PathBuf>,
    /// From a function's entry to its return.
    #[arg(long, value_name = "SYMBOL", group = "source")]
    pub(crate) function: Option<String>,
    /// A server's requests, by its recorded system calls: from the read that brings one to the write of its answer. Threads by
    /// name, or processes by number.
    #[arg(long, value_name = "COMM|PID", value_delimiter = ',', group = "source")]
    pub(crate) requests: Vec<String>,
}

/// Which intervals are chosen.
#[derive(Clone, Debug, Args)]
pub(crate) struct SelectionArgs {
    /// The N longest.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Strictly longer than this: 10us, 1.5ms, 800ns.
    #[arg(long, value_name = "DURATION")]
    pub(crate) over: Option<String>,
    /// Longer than this percentile (nearest rank): 99, 99.9 or p99.9.
    #[arg(long, value_name = "P", value_parser = text::percentile)]
    pub(crate) percentile: Option<f64>,
    /// Robust z-score above K (median and MAD); the default rule, with 3.5.
    #[arg(long, value_name = "K")]
    pub(crate) mad: Option<f64>,
    /// The slow mode, where the durations have two.
    #[arg(long)]
    pub(crate) slow_mode: bool,
    /// These intervals.
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub(crate) id: Vec<u64>,
    /// Only intervals that overlap this time, in seconds of perf's clock: START,STOP.
    #[arg(long, value_name = "START,STOP")]
    pub(crate) time: Option<String>,
    /// Only intervals that ran on these CPUs: 0,2-3.
    #[arg(long, short = 'C', value_name = "LIST")]
    pub(crate) cpu: Option<String>,
    /// Only these processes.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) pid: Vec<i32>,
    /// Only these threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tid: Vec<i32>,
    /// Only threads of these names.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) comm: Vec<String>,
    /// Only intervals with these labels.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) label: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatFormat {
    Text,
    Markdown,
    /// One row of figures.
    Csv,
    Json,
    /// What --expect found, as a test suite.
    Junit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    Text,
    Markdown,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    Text,
    Markdown,
    Json,
    Html,
    /// What --expect found, as a test suite.
    Junit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Folded,
    /// An SVG of the intervals' time.
    Flamegraph,
    /// An SVG of their typical intervals' mean time.
    FlamegraphTypical,
    /// An SVG of the intervals' time, coloured by what is more or less than typical.
    FlamegraphDifference,
    Csv,
    Firefox,
    Perfetto,
}
