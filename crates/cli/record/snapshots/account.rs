//! The account of a recording: how many intervals were slow, how many are kept, and why the others are not; of all of it, and of what
//! came since the last bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::output::write_file;
use analysis::request::ACCOUNT;
use analysis::study::{Account, BundleCounts, LostEvents};
use anyhow::Result;
use report::{SkippedIntervals, SlowLimit, Snapshots};

use super::Plan;
use super::bundles;
use super::watched::Watched;
use crate::output;

/// How many intervals there were in some time, and what became of the slow ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// All intervals that a limit is for.
    intervals: u64,
    /// Slow ones that are in slices.
    kept: u64,
    /// Those that are not.
    skipped: SkippedIntervals,
}

impl Tally {
    /// As reports have it.
    fn snapshots(&self, limits: Vec<SlowLimit>, is_part: bool) -> Snapshots {
        Snapshots {
            is_complete: true,
            is_part,
            limits,
            intervals: self.intervals,
            slow: self.kept + self.skipped.count(),
            kept: self.kept,
            skipped: self.skipped,
        }
    }
}

/// What was counted until now.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Slices that were written.
    pub(super) slices: u64,
    /// Of the whole recording.
    whole: Tally,
    /// Since the last bundle.
    part: Tally,
    /// Of the bundles that may still be removed.
    bundles: BTreeMap<PathBuf, Tally>,
    pub(super) bundled: BundleCounts,
    /// The begins of those that are in slices.
    kept: BTreeSet<u64>,
    /// The begins of those that a ring held in part.
    cut_off: BTreeSet<u64>,
    /// The begins of those that rang, have a percentile as limit and are not counted yet.
    rung: BTreeSet<u64>,
    /// Pairs of events that are not counted yet: begin and end of slow ones, and how many others there were.
    paired: Vec<(u64, u64)>,
    quick: u64,
    /// What else was heard; stretches that may still be needed.
    watched: Watched,
}

impl Counts {
    /// What was heard since then.
    pub(super) fn hear(&mut self, later: Watched) {
        let Watched { rung, late, snapshots, slow, paired, pairs, losses, lost, limited, writing } = later;
        self.watched.rung += rung;
        self.watched.late += late;
        self.watched.snapshots += snapshots;
        self.rung.extend(slow);
        self.quick += pairs.saturating_sub(paired.len() as u64);
        self.paired.extend(paired.iter().map(|paired| (paired.begin, paired.end)));
        self.watched.losses += losses;
        self.watched.lost += lost;
        self.watched.limited.append(limited);
        self.watched.writing.append(writing);
    }

    /// Whether the program rang for the interval that begins at `begin`, of those that are not counted yet.
    pub(super) fn has_rung(&self, begin: u64) -> bool {
        self.rung.contains(&begin)
    }

    /// Whether it is in a slice.
    pub(super) fn is_kept(&self, begin: u64) -> bool {
        self.kept.contains(&begin)
    }

    /// These were held in part.
    pub(super) fn add_cut_off(&mut self, begins: impl Iterator<Item = u64>) {
        self.cut_off.extend(begins);
    }

    /// Another slice, of these.
    pub(super) fn add_slice(&mut self, begins: impl Iterator<Item = u64>) {
        let before = self.kept.len();
        self.kept.extend(begins);
        let more = (self.kept.len() - before) as u64;
        self.slices += 1;
        self.whole.kept += more;
        self.part.kept += more;
    }

    /// An interval that a limit is for; `None` where it was not slow, else begin and end. Each comes once, after the slice that it may be
    /// in. The first reason that holds counts.
    pub(super) fn add(&mut self, slow: Option<(u64, u64)>) {
        let Counts { whole, part, kept, cut_off, rung, watched, .. } = self;
        let is_cut_off = slow.is_some_and(|(begin, _)| cut_off.remove(&begin));
        if let Some((begin, _)) = slow {
            rung.remove(&begin);
        }
        for tally in [whole, part] {
            tally.intervals += 1;
            let Some((begin, end)) = slow.filter(|(begin, _)| !kept.contains(begin)) else { continue };
            let skipped = &mut tally.skipped;
            if watched.limited.meet((end, end)) {
                skipped.rate_limit += 1;
            } else if watched.writing.meet((begin, end)) {
                skipped.while_writing += 1;
            } else if is_cut_off {
                skipped.ring_overwritten += 1;
            } else {
                skipped.no_snapshot += 1;
            }
        }
    }

    /// All pairs of events that ended up to `until`, as [`Counts::add`].
    pub(super) fn add_paired(&mut self, until: u64) {
        let quick = std::mem::take(&mut self.quick);
        self.whole.intervals += quick;
        self.part.intervals += quick;
        let paired = std::mem::take(&mut self.paired);
        let (ended, later): (Vec<_>, Vec<_>) = paired.into_iter().partition(|&(_, end)| end <= until);
        self.paired = later;
        for slow in ended {
            self.add(Some(slow));
        }
        self.forget_until(until);
    }

    /// All that ended up to `at` was added.
    pub(super) fn forget_until(&mut self, at: u64) {
        self.watched.limited.forget_until(at);
        self.watched.writing.forget_until(at);
    }

    /// What came since the last bundle, for the next one.
    pub(super) fn part(&self, plan: &Plan) -> Snapshots {
        self.part.snapshots(plan.limits.listed(), true)
    }

    /// That bundle is written, at `path`.
    pub(super) fn begin_part(&mut self, path: PathBuf) {
        self.bundled.written += 1;
        self.bundles.retain(|known, _| known.exists());
        self.bundles.insert(path, std::mem::take(&mut self.part));
    }

    /// The bundle at `path` is removed: if it is of this recording, the next one stands for what was in it, and for what it stood for.
    pub(super) fn lose_bundle(&mut self, path: &Path) {
        self.bundled.removed += 1;
        let Some(lost) = self.bundles.remove(path) else { return };
        self.part.intervals += lost.intervals;
        self.part.skipped.no_bundle += lost.kept + lost.skipped.count();
        self.lose(lost.kept);
    }

    /// That bundle could not be written: the next one stands for it.
    pub(super) fn lose_part(&mut self) {
        self.bundled.unwritten += 1;
        let lost = std::mem::take(&mut self.part.kept);
        self.part.skipped.no_bundle += lost;
        self.lose(lost);
    }

    fn lose(&mut self, kept: u64) {
        self.whole.kept -= kept;
        self.whole.skipped.no_bundle += kept;
    }
}

/// Writes that the recording has begun: what a killed recorder leaves says that nothing was counted.
pub(super) fn begin(plan: &Plan) -> Result<()> {
    let snapshots = Snapshots { limits: plan.limits.listed(), ..Snapshots::default() };
    Ok(write_file(&plan.folder.join(ACCOUNT), &Account::new(snapshots).to_json()?)?)
}

/// Writes it, and says it.
pub(super) fn end(plan: &Plan, counts: &Counts, delivered: BundleCounts) -> Result<()> {
    let snapshots = counts.whole.snapshots(plan.limits.listed(), false);
    let skips = snapshots.skips();
    output::print_note(&format!(
        "{}: {} of {} slow intervals kept, of {} in all, in {}",
        plan.folder.display(),
        snapshots.kept,
        snapshots.slow,
        snapshots.intervals,
        report::counted(counts.slices, "slice"),
    ));
    let is_too_small = snapshots.skipped.ring_overwritten > 0;
    let mut account = Account::new(snapshots);
    let watched = &counts.watched;
    (account.doorbell, account.late) = (watched.rung, watched.late);
    (account.taken, account.slices) = (watched.snapshots, counts.slices);
    if let Some(to) = plan.bundles.as_ref().map(|bundles| &bundles.to) {
        let BundleCounts { delivered, failures, .. } = delivered;
        let waiting = bundles::in_folder(to).len() as u64;
        let bundled = BundleCounts { delivered, failures, waiting, ..counts.bundled };
        output::print_note(&said(&bundled));
        account.bundles = Some(bundled);
    }
    if plan.pair.is_some() {
        account.lost = Some(LostEvents { times: watched.losses, events: watched.lost });
    }
    write_file(&plan.folder.join(ACCOUNT), &account.to_json()?)?;
    if !skips.is_empty() {
        output::print_note(&skips);
    }
    if watched.late > 0 {
        output::print_note(&format!(
            "{} of {} came from the program's writing thread, up to 2 ms after the interval: tailtrace_end_since rings at once",
            watched.late,
            report::counted(watched.rung, "ring"),
        ));
    }
    if watched.losses > 0 {
        output::print_note(&format!(
            "{}, {} in all, events were overwritten before they were read: pairs around them are neither kept nor counted",
            report::counted(watched.losses, "time"),
            watched.lost
        ));
    }
    if is_too_small {
        output::print_note(
            "the ring was too small for an interval: record with larger buffers, such as -m 32M",
        );
    }
    Ok(())
}

fn said(bundled: &BundleCounts) -> String {
    let BundleCounts { written, unwritten, removed, delivered, failures, waiting } = *bundled;
    let counts = [
        (unwritten, "could not be written"),
        (removed, "removed to make room"),
        (delivered, "delivered"),
        (failures, "failures of --on-bundle"),
        (waiting, "wait"),
    ];
    let counts = counts.into_iter().filter(|&(count, _)| count > 0);
    let words = counts.map(|(count, what)| format!("{count} {what}"));
    [report::counted(written, "bundle")].into_iter().chain(words).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard() -> Watched {
        let mut watched = Watched::default();
        watched.limited.extend(1_000, false);
        watched.limited.extend(1_500, true);
        watched.limited.extend(9_000, false);
        watched.writing.add(2_000, 2_100);
        watched
    }

    #[test]
    fn each_skipped_interval_has_one_reason() {
        let mut counts = Counts::default();
        counts.hear(heard());
        counts.add_slice([10].into_iter());
        counts.add_cut_off([900, 3_000].into_iter());
        // Kept; rate limit, three times; while writing; cut off; nothing.
        let slow = [
            (10, 20),
            (900, 1_000),
            (1_100, 1_200),
            (8_000, 9_000),
            (2_090, 2_500),
            (3_000, 3_100),
            (4_000, 4_100),
        ];
        for slow in slow {
            counts.add(Some(slow));
        }
        counts.add(None);
        let skipped = SkippedIntervals {
            rate_limit: 3,
            while_writing: 1,
            ring_overwritten: 1,
            no_snapshot: 1,
            ..SkippedIntervals::default()
        };
        assert_eq!(counts.whole, Tally { intervals: 8, kept: 1, skipped });
        assert_eq!(counts.whole.snapshots(Vec::new(), false).slow, 7);
    }

    /// What is counted for one bundle is not counted for the next one; what came to no bundle is.
    #[test]
    fn parts_add_up() {
        let mut counts = Counts::default();
        counts.hear(heard());
        counts.add_slice([10].into_iter());
        for slow in [Some((10, 20)), Some((900, 1_000)), None] {
            counts.add(slow);
        }
        counts.forget_until(1_500);
        let first = counts.part.clone();
        counts.begin_part(PathBuf::from("/none/1"));
        counts.add_slice([5_000, 5_100].into_iter());
        counts.add(Some((5_000, 5_050)));
        counts.lose_part();
        counts.add_slice([8_000].into_iter());
        for slow in [Some((8_000, 8_100)), Some((8_900, 9_000))] {
            counts.add(slow);
        }
        let skipped =
            |rate_limit, no_bundle| SkippedIntervals { rate_limit, no_bundle, ..SkippedIntervals::default() };
        assert_eq!(first, Tally { intervals: 3, kept: 1, skipped: skipped(1, 0) });
        assert_eq!(counts.part, Tally { intervals: 3, kept: 1, skipped: skipped(1, 2) });
        assert_eq!(counts.whole, Tally { intervals: 6, kept: 2, skipped: skipped(2, 2) });

        // The first one is removed: what it held and stood for is in the next one.
        counts.lose_bundle(Path::new("/none/1"));
        assert_eq!(counts.part, Tally { intervals: 6, kept: 1, skipped: skipped(1, 4) });
        assert_eq!(counts.whole, Tally { intervals: 6, kept: 1, skipped: skipped(2, 3) });
        assert_eq!((counts.bundled.written, counts.bundled.unwritten, counts.bundled.removed), (1, 1, 1));
    }
}
