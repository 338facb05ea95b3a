//! A recording of 200 ms with the recommended events: how much trace each CPU writes here and now, and what is lost.
//!
//! It shows the load of this moment: a machine that idles writes nearly nothing. The capture is removed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use perfdata::{LossKind, PerfData};

/// How long it records, as `sleep` takes it.
const SECONDS: &str = "0.2";

/// What a trial recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// Bytes of trace, by CPU.
    pub(super) bytes: BTreeMap<u32, u64>,
    /// Nanoseconds from the first record to the last.
    pub(super) nanos: u64,
    /// Times that a trace buffer was full.
    pub(super) full_buffers: u64,
    /// Records that were lost.
    pub(super) lost_records: u64,
}

/// The program of the trial: it does nothing.
pub(crate) fn program() -> [OsString; 2] {
    ["sleep", SECONDS].map(OsString::from)
}

/// Runs the command that `compose` makes for an output, and reads what it wrote.
///
/// # Errors
/// What perf said, or why its file cannot be read.
pub(crate) fn run(compose: impl FnOnce(&Path) -> anyhow::Result<Vec<OsString>>) -> Result<Trial, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = folder.path().join("perf.data");
    let words = compose(&output).map_err(|error| error.to_string())?;
    let (perf, arguments) = words.split_first().map_or((OsStr::new("perf"), &[][..]), |(a, b)| (a, b));
    let ended = Command::new(perf).args(arguments).output().map_err(|error| error.to_string())?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        // What perf says last is its usage.
        let first = said.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(first.unwrap_or("perf failed without a word").to_owned());
    }
    let capture = PerfData::open(&output).map_err(|error| error.to_string())?;
    Ok(Trial::of(&capture))
}

impl Trial {
    fn of(capture: &PerfData) -> Trial {
        let mut trial = Trial::default();
        if let Some(times) = capture.time_range() {
            trial.nanos = times.end.0.saturating_sub(times.start.0);
        }
        for buffer in capture.aux_buffers() {
            if let Some(cpu) = buffer.cpu {
                *trial.bytes.entry(cpu.0).or_default() += buffer.size;
            }
        }
        for loss in capture.loss() {
            match loss.kind {
                LossKind::Aux { .. } => trial.full_buffers += 1,
                LossKind::Records { count } | LossKind::Samples { count } => {
                    trial.lost_records = trial.lost_records.saturating_add(count);
                }
            }
        }
        trial
    }

    /// Bytes that `bytes` of the trial are in a second.
    pub(super) fn in_a_second(&self, bytes: u64) -> u64 {
        let nanos = u128::from(self.nanos.max(1));
        u64::try_from(u128::from(bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
    }

    /// The CPU that writes most, and its bytes; `None` where none wrote any.
    pub(super) fn busiest(&self) -> Option<(u32, u64)> {
        self.bytes.iter().map(|(&cpu, &bytes)| (cpu, bytes)).max_by_key(|&(_, bytes)| bytes)
    }
}
