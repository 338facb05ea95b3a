//! The account of a recording: how many intervals were slow, how many are kept, and why the others are not.

use std::collections::BTreeSet;

use analysis::output::write_file;
use anyhow::Result;
use serde::Serialize;

use super::Plan;
use crate::output;

/// What came of the recording.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// Lines that came through the doorbell.
    pub(super) rung: u64,
    /// Rings that were written.
    pub(super) snapshots: u64,
    /// Slices that were written.
    pub(super) slices: u64,
    /// All intervals of the label.
    pub(super) intervals: u64,
    /// Those over the limit.
    pub(super) slow: BTreeSet<u64>,
    /// Those of them that are in slices.
    pub(super) kept: BTreeSet<u64>,
    /// Those that a ring held in part: it had overwritten the rest.
    pub(super) cut_off: BTreeSet<u64>,
}

/// `snapshots.json`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    over_ns: u64,
    label: Option<&'a str>,
    intervals: u64,
    slow: u64,
    kept: u64,
    skipped: Skipped,
    doorbell: u64,
    snapshots: u64,
    slices: u64,
}

/// Slow intervals that are in no slice.
#[derive(Serialize)]
struct Skipped {
    /// The ring had overwritten a part of them.
    ring_too_small: u64,
    /// No ring held them: the snapshots of the minute were used up, the doorbell did not ring for them, or the recording ended.
    no_snapshot: u64,
}

impl Account {
    fn skipped(&self) -> Skipped {
        let cut_off =
            self.slow.iter().filter(|id| !self.kept.contains(id) && self.cut_off.contains(id)).count();
        let missed = self.slow.iter().filter(|id| !self.kept.contains(id)).count();
        Skipped { ring_too_small: cut_off as u64, no_snapshot: (missed - cut_off) as u64 }
    }

    /// Writes it, and says it.
    pub(super) fn write(&self, plan: &Plan) -> Result<()> {
        let kept = self.slow.iter().filter(|id| self.kept.contains(id)).count() as u64;
        let document = Document {
            schema: "tailtrace-snapshots/1",
            over_ns: plan.over_ns,
            label: plan.label.as_deref(),
            intervals: self.intervals,
            slow: self.slow.len() as u64,
            kept,
            skipped: self.skipped(),
            doorbell: self.rung,
            snapshots: self.snapshots,
            slices: self.slices,
        };
        let path = plan.folder.join("snapshots.json");
        write_file(&path, &serde_json::to_vec_pretty(&document)?)?;
        let Skipped { ring_too_small, no_snapshot } = document.skipped;
        output::print_note(&format!(
            "{}: {kept} of {} slow intervals kept, of {} in all, in {}; {no_snapshot} are in no snapshot, {ring_too_small} only \
             in part",
            plan.folder.display(),
            document.slow,
            document.intervals,
            report::counted(document.slices, "slice"),
        ));
        if ring_too_small > 0 {
            output::print_note(
                "the ring was too small for an interval: record with larger buffers, such as -m 32M",
            );
        }
        Ok(())
    }
}
