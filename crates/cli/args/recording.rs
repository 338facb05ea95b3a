//! The arguments of `record` and of `doctor`, which checks what `record` needs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::tags::TagArgs;

#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
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
    /// Copies no code that lies in no file: of memory that the recorded processes made executable themselves (docs/recording.md, "Code in no
    /// file").
    #[arg(long)]
    pub(crate) no_code_copies: bool,
    /// Records system calls, exceptions and samples of this cgroup alone, by its path below the cgroup file system; switches, wake-ups,
    /// interrupts and the trace are still those of the whole machine, for others make its threads wait.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tid", "machine_only"])]
    pub(crate) cgroup: Option<String>,
    /// Records system calls and exceptions of these threads alone, likewise; with --begin only their events ring.
    #[arg(long, value_name = "TID", value_delimiter = ',', conflicts_with = "machine_only")]
    pub(crate) tid: Vec<u32>,
    #[command(flatten)]
    pub(crate) pauses: PauseArgs,
    #[command(flatten)]
    pub(crate) snapshots: SnapshotArgs,
    #[command(flatten)]
    pub(crate) bundles: BundlesArgs,
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

/// A trace of what happens between events: less to write, and to keep.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// Each sample of this event pauses the trace of its CPU, until one of --resume. Linux 6.13 and perf 6.14 can: elsewhere both options are left
    /// out, with a note.
    #[arg(long, value_name = "EVENT", conflicts_with_all = ["no_pt", "machine_only"])]
    pub(crate) pause: Vec<String>,
    /// The trace begins paused, and each sample of this event resumes it.
    #[arg(long, value_name = "EVENT", conflicts_with_all = ["no_pt", "machine_only"])]
    pub(crate) resume: Vec<String>,
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
    /// The event that begins an interval, of a program that marks none: a uprobe or a tracepoint, as for explain. Then a pair that takes
    /// longer than the limit rings.
    #[arg(long, value_name = "EVENT", requires_all = ["end", "snapshot_over"])]
    pub(crate) begin: Option<String>,
    /// The event that ends it.
    #[arg(long, value_name = "EVENT", requires = "begin")]
    pub(crate) end: Option<String>,
    /// The field of both events that pairs them; without it they pair on each thread.
    #[arg(long, value_name = "FIELD", requires = "begin")]
    pub(crate) key: Option<String>,
    /// The most snapshots in a minute.
    #[arg(long, value_name = "N", default_value_t = 12, requires = "snapshot_over")]
    pub(crate) a_minute: u32,
    /// Runs this command of the shell beside the recording: each line that it prints rings, as a line into FOLDER/doorbell does, and
    /// SIGUSR2.
    #[arg(long, value_name = "COMMAND", requires = "snapshot_over")]
    pub(crate) ring_on: Option<String>,
    /// Also keeps the rings from which slow intervals were cut, and with --bundle-to the slices.
    #[arg(long, requires = "snapshot_over")]
    pub(crate) keep: bool,
    /// Ends the recording after this time, 10m as 600s.
    #[arg(long, value_name = "TIME", requires = "snapshot_over")]
    pub(crate) duration: Option<String>,
    /// Ends the recording when its folder holds so many MiB.
    #[arg(long, value_name = "MIB", requires = "snapshot_over")]
    pub(crate) max_size: Option<u64>,
}

/// What becomes of slices where the recording goes on.
#[derive(Debug, Args)]
pub(crate) struct BundlesArgs {
    /// Makes a bundle of each slice in this folder, as tailtrace bundle does, while the recording goes on; the slice is removed.
    /// Names of the host, its users, command lines and paths are replaced.
    #[arg(long, value_name = "DIR", requires = "snapshot_over")]
    pub(crate) bundle_to: Option<PathBuf>,
    /// Runs this command of the shell for each bundle, with its path in `TAILTRACE_BUNDLE`: after exit code 0 the bundle is removed, with --keep
    /// renamed; else it stays, and is tried again later and by the next recording.
    #[arg(long, value_name = "COMMAND", requires = "bundle_to")]
    pub(crate) on_bundle: Option<String>,
    /// Ends that command after this time, 5m as 300s.
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "bundle_to")]
    pub(crate) on_bundle_limit: String,
    /// Removes the oldest bundles when the folder holds more than so many MiB of them.
    #[arg(long, value_name = "MIB", requires = "bundle_to")]
    pub(crate) bundle_disk: Option<u64>,
    /// Keeps these names in the bundles.
    #[arg(long, requires = "bundle_to")]
    pub(crate) no_redact: bool,
    #[command(flatten)]
    pub(crate) tags: TagArgs,
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
    /// The sizes of perf's buffers, as its option of that name has them: `32M`, `8M,256M`.
    #[arg(short = 'm', value_name = "RECORDS[,TRACE]")]
    pub(crate) buffers: Option<String>,
    /// Of a recording that keeps only what was slow (`record --snapshot-over`).
    #[arg(long)]
    pub(crate) snapshots: bool,
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
