//! Arguments of `fleet`.

use std::path::PathBuf;
use std::time::Duration;

use analysis::Request;
use analysis::request::Input;
use clap::{Args, Subcommand};
use fleet::{Delivery, Limits};

use super::{CodeArgs, EngineArgs, TagArgs};

#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) what: Fleet,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Adds captures to Parquet tables: each once, on all cores. What cannot be read has a row with the reason.
    Ingest(IngestArgs),
    /// Prints the rows of one capture in all tables as JSON lines. A file that cannot be read has a row, too, and exit code 0.
    Rows(RowsArgs),
    /// Joins the small files of tables to large ones, while nothing reads them.
    Compact {
        /// The folder of the tables.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// Bundles, slices, captures with their intervals.csv beside them, and folders of these.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// The folder of the tables; it is made where it is missing. Captures that are in it are skipped.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Captures that are explained at the same time. [default: one for each CPU]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// A bundle, a slice, or a capture with its intervals.csv beside it.
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// What the tables call it. [default: its path]
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Option<String>,
    /// In this process, within its memory, and after a line with the capture's ID.
    #[arg(long, hide = true)]
    pub(crate) alone: bool,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// How captures are explained.
#[derive(Clone, Debug, Args)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    pub(crate) tags: TagArgs,
    /// Seconds that explaining one capture may take; then its row has the status `timeout`.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) limit_time: u64,
    /// MiB of memory that explaining one capture may take; then its row has the status `too-large`.
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) limit_memory: u64,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

impl HowArgs {
    /// How much a capture may take.
    pub(crate) fn limits(&self) -> Limits {
        Limits { time: Duration::from_secs(self.limit_time), memory: self.limit_memory << 20 }
    }

    /// The capture at `path`, called `uri` or by its path.
    pub(crate) fn delivery(&self, path: PathBuf, uri: Option<String>) -> Delivery {
        let input =
            Input { path, code: self.code.request(), engine: self.engine.request(), ..Input::default() };
        Delivery::of(Request { input, ..Request::default() }, uri, self.tags.by_name())
    }
}
