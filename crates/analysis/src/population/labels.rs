//! The population's durations label by label, with sketches that merge with those of other captures.

use intervals::{Population, Sketch, nearest_rank};
use report::PopulationSummary;
use serde::{Deserialize, Serialize};

/// The durations of one label's intervals, in the report's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelFigures {
    /// The label; empty for all labels together.
    pub label: String,
    /// How many intervals there are.
    pub count: u64,
    /// How many of them are outliers.
    pub outliers: u64,
    /// The sum of their durations.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The median, by nearest rank.
    pub p50_ns: u64,
    /// 99 % are not longer, by nearest rank.
    pub p99_ns: u64,
    /// All durations.
    pub sketch: Sketch,
}

/// Figures of all labels together, then of each, in the order of their names.
pub(crate) fn figures(population: &Population<'_>, is_outlier: &[bool]) -> Vec<LabelFigures> {
    let labels = population.members().iter().map(|&index| &*population.intervals()[index].label);
    let mut rows: Vec<(&str, u64, bool)> = labels
        .zip(population.durations())
        .zip(is_outlier)
        .map(|((label, &duration), &is_outlier)| (label, duration, is_outlier))
        .collect();
    rows.sort_unstable();
    let by_label = rows.chunk_by(|one, next| one.0 == next.0);
    // An empty label means all of them.
    let named: Vec<LabelFigures> =
        by_label.filter(|rows| !rows[0].0.is_empty()).map(|rows| of_rows(rows[0].0, rows)).collect();
    rows.sort_unstable_by_key(|row| row.1);
    std::iter::once(of_rows("", &rows)).chain(named).collect()
}

/// The figures of `rows`, which stand in the order of their durations.
fn of_rows(label: &str, rows: &[(&str, u64, bool)]) -> LabelFigures {
    let durations: Vec<u64> = rows.iter().map(|row| row.1).collect();
    let rank = |percentile| nearest_rank(&durations, percentile).unwrap_or(0);
    LabelFigures {
        label: label.to_owned(),
        count: rows.len() as u64,
        outliers: rows.iter().filter(|row| row.2).count() as u64,
        sum_ns: durations.iter().fold(0, |sum, &one| sum.saturating_add(one)),
        max_ns: rank(100.0),
        p50_ns: rank(50.0),
        p99_ns: rank(99.0),
        sketch: Sketch::of(durations.iter().map(|&duration| (duration, 1))),
    }
}

/// What is known where a slice carries none: all labels together, and of the histogram a sketch that is as wide as its bins.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
pub(crate) fn of_summary(summary: &PopulationSummary) -> LabelFigures {
    let bins = summary.histogram.iter();
    LabelFigures {
        label: String::new(),
        count: summary.count,
        outliers: summary.outliers,
        sum_ns: (summary.mean_ns * summary.count as f64).round() as u64,
        max_ns: summary.max_ns,
        p50_ns: summary.percentiles.p50,
        p99_ns: summary.percentiles.p99,
        sketch: Sketch::of(bins.map(|bin| (bin.from_ns.midpoint(bin.to_ns), bin.count))),
    }
}

#[cfg(test)]
mod tests {
    use model::{Interval, IntervalId, Tsc, TscRange};

    use super::*;

    #[test]
    fn labels_by_hand() {
        let interval = |(id, (label, length)): (usize, &(&str, u64))| {
            let range = TscRange::new(Tsc(10), Tsc(10 + length));
            Interval::new(IntervalId(id as u64), *label, range, None)
        };
        let intervals: Vec<Interval> =
            [("b", 3), ("a", 5), ("b", 90), ("", 2)].iter().enumerate().map(interval).collect();
        let found = figures(&Population::all(&intervals, None), &[false, false, true, false]);
        let short = |one: &LabelFigures| {
            (
                one.label.clone(),
                one.count,
                one.outliers,
                one.sum_ns,
                one.max_ns,
                one.p50_ns,
                one.sketch.count(),
            )
        };
        let expected = [("", 4, 1, 100, 90, 3, 4), ("a", 1, 0, 5, 5, 5, 1), ("b", 2, 1, 93, 90, 3, 2)].map(
            |(label, count, outliers, sum, max, p50, sketch)| {
                (label.to_owned(), count, outliers, sum, max, p50, sketch)
            },
        );
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), expected);
    }
}
