//! The account of a recording: how many intervals were slow, how many are kept, and why the others are not.

use std::collections::{BTreeMap, BTreeSet};

use analysis::output::write_file;
use analysis::study::{ACCOUNT, Account};
use anyhow::Result;
use report::{SkippedIntervals, Snapshots};

use super::Plan;
use crate::output;

/// Stretches of the time-stamp counter, both ends inside.
#[derive(Debug, Default)]
pub(super) struct Stretches(Vec<(u64, u64)>);

impl Stretches {
    /// Another one.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        self.0.push((from, to));
    }

    /// Makes the last one reach to `at`, or begins one there.
    pub(super) fn extend(&mut self, at: u64, goes_on: bool) {
        match self.0.last_mut().filter(|_| goes_on) {
            Some((from, to)) => (*from, *to) = ((*from).min(at), (*to).max(at)),
            None => self.0.push((at, at)),
        }
    }

    fn meet(&self, (from, to): (u64, u64)) -> bool {
        self.0.iter().any(|&(start, end)| start <= to && from <= end)
    }
}

/// What the recorder knows when perf has ended.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Lines that came through the doorbell.
    pub(super) rung: u64,
    /// Rings that were written.
    pub(super) snapshots: u64,
    /// The begins of those that rang and have a percentile as limit, since the last ring.
    pub(super) slow: Vec<u64>,
    /// When intervals ended that rang while the snapshots of the minute were used up.
    pub(super) limited: Stretches,
    /// While perf wrote.
    pub(super) writing: Stretches,
}

/// What was cut out of the rings, and all that the program marked.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Slices that were written.
    pub(super) slices: u64,
    /// All intervals that a limit is for.
    pub(super) intervals: u64,
    /// Begin and end of those over the limit.
    pub(super) slow: BTreeMap<u64, u64>,
    /// The begins of those that are in slices.
    pub(super) kept: BTreeSet<u64>,
    /// The begins of those that a ring held in part.
    pub(super) cut_off: BTreeSet<u64>,
}

impl Found {
    /// Why each slow interval that is in no slice is not: the first reason that holds.
    fn skipped(&self, watched: &Watched) -> SkippedIntervals {
        let mut skipped = SkippedIntervals::default();
        for (&begin, &end) in self.slow.iter().filter(|(begin, _)| !self.kept.contains(begin)) {
            if watched.limited.meet((end, end)) {
                skipped.rate_limit += 1;
            } else if watched.writing.meet((begin, end)) {
                skipped.while_writing += 1;
            } else if self.cut_off.contains(&begin) {
                skipped.ring_overwritten += 1;
            } else {
                skipped.no_snapshot += 1;
            }
        }
        skipped
    }
}

/// Writes that the recording has begun: what a killed recorder leaves says that nothing was counted.
pub(super) fn begin(plan: &Plan) -> Result<()> {
    let snapshots = Snapshots { limits: plan.limits.listed(), ..Snapshots::default() };
    Ok(write_file(&plan.folder.join(ACCOUNT), &Account::new(snapshots).to_json()?)?)
}

/// Writes it, and says it.
pub(super) fn end(plan: &Plan, watched: &Watched, found: &Found) -> Result<()> {
    let kept = found.slow.keys().filter(|begin| found.kept.contains(begin)).count() as u64;
    let skipped = found.skipped(watched);
    let snapshots = Snapshots {
        is_complete: true,
        limits: plan.limits.listed(),
        intervals: found.intervals,
        slow: found.slow.len() as u64,
        kept,
        skipped,
    };
    let skips = snapshots.skips();
    let mut account = Account::new(snapshots);
    (account.doorbell, account.taken, account.slices) = (watched.rung, watched.snapshots, found.slices);
    write_file(&plan.folder.join(ACCOUNT), &account.to_json()?)?;
    output::print_note(&format!(
        "{}: {kept} of {} slow intervals kept, of {} in all, in {}",
        plan.folder.display(),
        found.slow.len(),
        found.intervals,
        report::counted(found.slices, "slice"),
    ));
    if !skips.is_empty() {
        output::print_note(&skips);
    }
    if skipped.ring_overwritten > 0 {
        output::print_note(
            "the ring was too small for an interval: record with larger buffers, such as -m 32M",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skipped_interval_has_one_reason() {
        let mut watched = Watched::default();
        watched.limited.extend(1_000, false);
        watched.limited.extend(1_500, true);
        watched.limited.extend(9_000, false);
        watched.writing.add(2_000, 2_100);
        let found = Found {
            // Kept; rate limit, three times; while writing; cut off; nothing.
            slow: [
                (10, 20),
                (900, 1_000),
                (1_100, 1_200),
                (8_000, 9_000),
                (2_090, 2_500),
                (3_000, 3_100),
                (4_000, 4_100),
            ]
            .into(),
            kept: [10].into(),
            cut_off: [900, 3_000].into(),
            ..Found::default()
        };
        let expected =
            SkippedIntervals { rate_limit: 3, while_writing: 1, ring_overwritten: 1, no_snapshot: 1 };
        assert_eq!(found.skipped(&watched), expected);
        assert_eq!(expected.count() + 1, found.slow.len() as u64);
    }
}
