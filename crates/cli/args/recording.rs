//! The arguments of `record` and of `doctor`, which checks what `record` needs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The perf.data to write; beside it, or in it where it is a directory, the machine file.
    #[arg(long, short, value_name = "FILE", default_value = "perf.data")]
    pub(crate) output: PathBuf,
    /// What is recorded beside the trace; where none is named, light; without a trace, standard and block requests. What each costs:
    /// docs/recording.md.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// Records no Intel PT where the machine has it: records and samples only, as where it has none.
    #[arg(long)]
    pub(crate) no_pt: bool,
    #[command(flatten)]
    pub(crate) snapshots: SnapshotArgs,
    /// Prints the command that would be run, and runs nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Writes the machine file alone, for a perf.data that was recorded on this machine without this command.
    #[arg(long, conflicts_with_all = ["dry_run", "preset", "no_pt", "perf"])]
    pub(crate) machine_only: bool,
    /// Where /sys and /proc are: for tests.
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
    /// Options of perf record, after tailtrace's own; `--`; and the program with its arguments.
    #[arg(value_name = "PERF-OPTIONS] [-- COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) perf: Vec<OsString>,
}

/// A recording that keeps only what was slow.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// Keeps only intervals that take longer, 200us, or 200us,LABEL for those of one label; p99.9 is a running percentile; given again, other labels have other
    /// limits, and one without a label is for all others: perf's rings are overwritten until the
    /// program says that one was slow (`tailtrace_end_since` of tailtrace.h). -o names the folder; without it, slow.
    #[arg(
        long = "snapshot-over",
        id = "snapshot_over",
        value_name = "TIME[,LABEL]",
        conflicts_with = "machine_only"
    )]
    pub(crate) over: Vec<String>,
    /// The most snapshots in a minute.
    #[arg(long, value_name = "N", default_value_t = 12, requires = "snapshot_over")]
    pub(crate) a_minute: u32,
    /// Runs this command of the shell beside the recording: each line that it prints rings, as a line into FOLDER/doorbell does, and
    /// SIGUSR2.
    #[arg(long, value_name = "COMMAND", requires = "snapshot_over")]
    pub(crate) ring_on: Option<String>,
    /// Also keeps the rings from which slow intervals were cut.
    #[arg(long, requires = "snapshot_over")]
    pub(crate) keep: bool,
    /// Ends the recording after this time, 10m as 600s.
    #[arg(long, value_name = "TIME", requires = "snapshot_over")]
    pub(crate) duration: Option<String>,
    /// Ends the recording when its folder holds so many MiB.
    #[arg(long, value_name = "MIB", requires = "snapshot_over")]
    pub(crate) max_size: Option<u64>,
}

/// How much is recorded beside the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Switches, wake-ups, interrupts, idle states.
    Light,
    /// Also system calls, exceptions, interrupt vectors, migrations, IPIs. Costs most where there are many system calls.
    Standard,
    /// Also block requests, TCP, frequencies, and top-down counters where the CPU has them.
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Where the capture would be written: that disk is checked.
    #[arg(long, short, value_name = "FILE", default_value = "perf.data")]
    pub(crate) output: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
    /// The preset of the command that record would run.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// Also records Intel PT for 200 ms, and reports how much trace each CPU writes and what is lost.
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) trial: bool,
    /// Only reads: the disk is not tried.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Reads /sys and /proc below this directory, for a machine whose files were copied: then nothing is tried.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    Text,
    /// `tailtrace-doctor/1`.
    Json,
}
