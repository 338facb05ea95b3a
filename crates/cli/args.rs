//! The command line, typed. Option names follow perf's where perf has them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Explains single slow requests with Intel Processor Trace.
#[derive(Debug, Parser)]
#[command(name = "tailtrace", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  tailtrace stat    -i perf.data --intervals intervals.csv
  tailtrace explain -i perf.data --intervals intervals.csv --top 3
  tailtrace explain -i perf.data --begin probe_app:start --end probe_app:stop --key id --over 50us
  tailtrace explain -i perf.data --ptwrite id=40..63,ticks=0..39 --format markdown
  tailtrace dump    -i perf.data --insns --cpu 1 --time 12.5,12.6";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Statistics of all intervals: the table, percentiles and a histogram.
    Stat(StatArgs),
    /// Explains the slowest intervals: every nanosecond, with its cause.
    Explain(ExplainArgs),
    /// Prints what the capture holds, for people who debug traces.
    Dump(DumpArgs),
}

#[derive(Debug, Args)]
pub struct StatArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = StatFormat::Text)]
    pub format: StatFormat,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    pub format: ExplainFormat,
    /// How many typical intervals each outlier is compared with.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub baselines: usize,
    /// Threads that decode.
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<usize>,
}

#[derive(Debug, Args)]
pub struct DumpArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub what: DumpWhat,
    /// Only these CPUs: 0,2-3.
    #[arg(long, short = 'C', value_name = "LIST")]
    pub cpu: Option<String>,
    /// Only these threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tid: Vec<i32>,
    /// Only this time, in seconds of perf's clock: START,STOP; either may be left out.
    #[arg(long, value_name = "START,STOP")]
    pub time: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct DumpWhat {
    /// One hexadecimal address per executed instruction, in order of time.
    #[arg(long)]
    pub insns: bool,
    /// How many records of each type, as `perf report --stats` names them.
    #[arg(long)]
    pub records: bool,
}

/// Which capture, and where its code is.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// The perf.data file or directory.
    #[arg(short, long, value_name = "FILE", default_value = "perf.data")]
    pub input: PathBuf,
    /// Look for binaries beneath this directory.
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,
    /// The kernel's ELF file.
    #[arg(short = 'k', long, value_name = "FILE")]
    pub vmlinux: Option<PathBuf>,
    /// The kernel's symbols, in the format of /proc/kallsyms.
    #[arg(long, value_name = "FILE")]
    pub kallsyms: Option<PathBuf>,
}

/// Where the intervals come from: one of these.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// An interval file: VTune's CSV or tailtrace's own format.
    #[arg(long, value_name = "FILE", group = "source")]
    pub intervals: Option<PathBuf>,
    /// The event that begins an interval, e.g. `probe_app:start`.
    #[arg(long, value_name = "EVENT", requires = "end", group = "source")]
    pub begin: Option<String>,
    /// The event that ends it.
    #[arg(long, value_name = "EVENT", requires = "begin")]
    pub end: Option<String>,
    /// The field of both events that pairs them.
    #[arg(long, value_name = "FIELD", requires = "begin")]
    pub key: Option<String>,
    /// PTWRITE payloads, as bit fields: `id=40..63,ticks=0..39`.
    #[arg(long, value_name = "SPEC", group = "source")]
    pub ptwrite: Option<String>,
    /// From a function's entry to its return.
    #[arg(long, value_name = "SYMBOL", group = "source")]
    pub function: Option<String>,
}

/// Which intervals are chosen.
#[derive(Debug, Args)]
pub struct SelectionArgs {
    /// The N longest.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Strictly longer than this: 10us, 1.5ms, 800ns.
    #[arg(long, value_name = "DURATION")]
    pub over: Option<String>,
    /// Longer than this percentile (nearest rank).
    #[arg(long, value_name = "P")]
    pub percentile: Option<f64>,
    /// Robust z-score above K (median and MAD); the default rule, with 3.5.
    #[arg(long, value_name = "K")]
    pub mad: Option<f64>,
    /// The slow mode, where the durations have two.
    #[arg(long)]
    pub slow_mode: bool,
    /// These intervals.
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    pub id: Vec<u64>,
    /// Only intervals that overlap this time, in seconds of perf's clock: START,STOP.
    #[arg(long, value_name = "START,STOP")]
    pub time: Option<String>,
    /// Only intervals that ran on these CPUs: 0,2-3.
    #[arg(long, short = 'C', value_name = "LIST")]
    pub cpu: Option<String>,
    /// Only these processes.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub pid: Vec<i32>,
    /// Only these threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tid: Vec<i32>,
    /// Only threads of these names.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub comm: Vec<String>,
    /// Only intervals with these labels.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub label: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    Text,
    Markdown,
    Json,
}
