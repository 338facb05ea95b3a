//! Why all outliers are slow: explains more of them than the report shows, within a bound of work.
//!
//! Of too many, or of too long ones, some are taken at equal distances in the order of their durations: which ones depends on
//! the capture alone, never on the machine's speed.

use std::collections::BTreeMap;

use attribution::Examined;
use intervals::ranks_evenly_apart;
use model::{Interval, PerfTime};
use rayon::prelude::*;
use report::{OutlierReasons, OutlierReport, Reasons};

use super::opened::{Baselines, Study};
use crate::capture::trace_size;
use crate::error::Result;

/// How much is explained at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) intervals: usize,
    /// In bytes.
    pub(super) trace: u64,
    /// Of their own time and of [`REACH_NS`] before.
    pub(super) records: u64,
}

/// So far before an outlier are records read: of the threads that woke it, and what those did.
const REACH_NS: u64 = 1_000_000;

/// Outliers that are explained together: a second or two.
pub(super) const MOST_OUTLIERS: Bound = Bound { intervals: 500, trace: 32 << 20, records: 500_000 };

impl Study<'_> {
    /// The reasons of all that the selection finds, before `--top` takes the longest of them; of what was chosen by id, of that.
    /// `reports` are those of the chosen ones. A slice carries those of its recording.
    ///
    /// # Errors
    /// Where an outlier cannot be attributed, which is a bug and says so.
    pub fn reasons(&self, reports: &[OutlierReport]) -> Result<Reasons> {
        let found = self.found();
        let all = found.len();
        if all == reports.len() {
            let reasons: Vec<OutlierReasons> = reports.iter().map(OutlierReasons::of).collect();
            return Ok(Reasons::of(&reasons, all as u64));
        }
        let by_id: BTreeMap<(u64, u64), &OutlierReport> =
            reports.iter().map(|report| ((report.id, report.start_tsc), report)).collect();
        let report = |index: &usize| {
            let interval = &self.intervals()[*index];
            by_id.get(&(interval.id.0, interval.range.start.0)).copied()
        };
        let (known, others): (Vec<usize>, Vec<usize>) =
            self.sample_of(found, MOST_OUTLIERS).into_iter().partition(|index| report(index).is_some());
        let mut reasons: Vec<OutlierReasons> =
            known.iter().filter_map(report).map(OutlierReasons::of).collect();
        reasons.extend(self.reasons_of(&others)?);
        Ok(Reasons::of(&reasons, all as u64))
    }

    /// The indices of the intervals that [`Study::reasons`] is about, the longest first, and of how many they are taken.
    pub fn with_reasons(&self) -> (Vec<usize>, usize) {
        let found = self.found();
        let all = found.len();
        let mut taken = self.sample_of(found, MOST_OUTLIERS);
        taken.reverse();
        (taken, all)
    }

    /// The reasons of each of `outliers`, by their indices.
    ///
    /// # Errors
    /// Where an outlier cannot be attributed, which is a bug and says so.
    pub fn reasons_of(&self, outliers: &[usize]) -> Result<Vec<OutlierReasons>> {
        self.explain_each(outliers, |report| OutlierReasons::of(&report))
    }

    /// What the selection finds before `--top` takes the longest; what was chosen by id.
    fn found(&self) -> Vec<usize> {
        let selection = &self.request().selection;
        if selection.is_by_id() {
            self.selected().indices.clone()
        } else {
            selection.select_all(self.population()).indices
        }
    }

    /// Of `intervals` as many as can be explained within `most`: all, or some at equal distances in the order of their durations, the
    /// longest among them.
    pub(super) fn sample_of(&self, mut intervals: Vec<usize>, most: Bound) -> Vec<usize> {
        intervals.sort_by_key(|&index| (self.intervals()[index].range.ticks(), index));
        let sample = at_equal_distances(&intervals, most.intervals);
        let size = |index: &usize| trace_size(&self.capture().stretches_of(&self.intervals()[*index]));
        let records = |index: &usize| self.records_around(&self.intervals()[*index]);
        let sum = |of: &dyn Fn(&usize) -> u64| sample.iter().map(of).fold(0, u64::saturating_add);
        let of_trace = fitting(sample.len(), sum(&size), most.trace);
        let fewer = of_trace.min(fitting(sample.len(), sum(&records), most.records));
        if fewer == sample.len() { sample } else { at_equal_distances(&intervals, fewer.max(1)) }
    }

    /// Whether the records around the intervals `wanted` are many beside those between the first and the last of them.
    pub(super) fn lie_close(&self, wanted: &[usize]) -> bool {
        let intervals = || wanted.iter().map(|&index| &self.intervals()[index]);
        let start = intervals().map(|interval| interval.range.start).min();
        let stop = intervals().map(|interval| interval.range.stop).max();
        let (Some(start), Some(stop)) = (start, stop) else { return false };
        let Some(conversion) = self.capture().conversion() else { return false };
        let all = conversion.to_perf_time(start)..conversion.to_perf_time(stop);
        let around = intervals().map(|interval| self.records_around(interval));
        2 * around.fold(0, u64::saturating_add) > self.capture().perf().count_in(all) as u64
    }

    /// How many records there are in the time of `interval` and [`REACH_NS`] before.
    fn records_around(&self, interval: &Interval) -> u64 {
        let Some(conversion) = self.capture().conversion() else { return 0 };
        let start = conversion.to_perf_time(interval.range.start);
        let from = PerfTime(start.0.saturating_sub(REACH_NS));
        self.capture().perf().count_in(from..conversion.to_perf_time(interval.range.stop)) as u64
    }

    /// What `keep` keeps of the reports on `outliers`, each against its own typical intervals.
    ///
    /// # Errors
    /// Where an outlier cannot be attributed, which is a bug and says so.
    pub(super) fn explain_each<T: Send>(
        &self,
        outliers: &[usize],
        keep: impl Fn(OutlierReport) -> T + Sync,
    ) -> Result<Vec<T>> {
        if outliers.is_empty() {
            return Ok(Vec::new());
        }
        let baselines = self.baselines(outliers);
        let examined = self.examine_shown(&baselines);
        self.reports_on(outliers, &baselines, &examined, keep)
    }

    /// What `keep` keeps of the reports on `outliers`, each against its `baselines`, all of them examined.
    pub(super) fn reports_on<T: Send>(
        &self,
        outliers: &[usize],
        baselines: &Baselines,
        examined: &BTreeMap<usize, Examined>,
        keep: impl Fn(OutlierReport) -> T + Sync,
    ) -> Result<Vec<T>> {
        let explain = |index: &usize| self.outlier_report(*index, &baselines[index], examined).map(&keep);
        outliers.par_iter().with_max_len(1).map(explain).collect()
    }
}

/// Of how many of `length` the work is at most `most`, where that of all is `all`.
fn fitting(length: usize, all: u64, most: u64) -> usize {
    let share = length as u128 * u128::from(most) / u128::from(all.max(1));
    usize::try_from(share).unwrap_or(usize::MAX).min(length)
}

/// All of `of`, or the middle of each of `most` equal parts, and in place of the last part's the last of all.
fn at_equal_distances(of: &[usize], most: usize) -> Vec<usize> {
    let mut taken: Vec<usize> = ranks_evenly_apart(of.len(), most).into_iter().map(|rank| of[rank]).collect();
    if let (Some(last), Some(longest)) = (taken.last_mut(), of.last()) {
        *last = *longest;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::{at_equal_distances, fitting};

    /// Ten into three parts: 0 to 3, 3 to 6, 6 to 10 and a third; the middles by hand are 1.67, 5 and 8.33, and the last is 9.
    #[test]
    fn a_sample_lies_at_equal_distances() {
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(at_equal_distances(&all, 3), [1, 5, 9]);
        assert_eq!(at_equal_distances(&all, 10), all);
        assert_eq!(at_equal_distances(&all, 11), all);
        assert_eq!(at_equal_distances(&[], 3), Vec::<usize>::new());
    }

    #[test]
    fn four_times_the_work_leaves_a_fourth() {
        assert_eq!(fitting(500, 1_000_000, 250_000), 125);
        assert_eq!([fitting(500, 250_000, 250_000), fitting(500, 0, 250_000)], [500, 500]);
        assert_eq!([fitting(0, 0, 1), fitting(3, u64::MAX, 1)], [0, 0]);
    }
}
