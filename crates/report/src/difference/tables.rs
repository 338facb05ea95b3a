//! The figures as tables, the same ones for every format that people read; nothing in them is escaped.

use super::{CauseChange, Contrast, Difference, Spread};
use crate::causes::signed_difference;
use crate::timebase::TimeUnit;
use crate::units::{self, Digits};

/// Causes of one table.
const MOST_CAUSES: usize = 12;

/// One table. All columns but the last hold figures.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The durations, then the causes of typical and of chosen intervals.
pub(super) fn tables(difference: &Difference) -> Vec<Table> {
    let unit = difference.time_unit;
    let all = [
        durations(difference),
        causes("Typical intervals, mean time by cause", &difference.typical, unit),
        causes("Explained intervals, mean time by cause", &difference.outliers, unit),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn durations(difference: &Difference) -> Table {
    let unit = difference.time_unit;
    let (a, b) = (&difference.a.population, &difference.b.population);
    let row = |a: u64, b: u64, confidence: Option<(i64, i64)>, name: String| {
        let confidence = confidence.map_or_else(
            || "-".to_owned(),
            |(low, high)| {
                format!("{} to {}", units::signed_length(low, unit), units::signed_length(high, unit))
            },
        );
        let moved = units::signed_length(signed_difference(b, a), unit);
        let digits = Digits::of([a, b], unit);
        vec![moved, confidence, digits.show(a), digits.show(b), name]
    };
    let mut rows = Vec::new();
    if let Some(change) = &difference.change {
        rows.push(row(a.min_ns, b.min_ns, None, "lowest".to_owned()));
        let quantiles = change.quantiles.iter();
        rows.extend(
            quantiles.map(|one| row(one.a_ns, one.b_ns, one.confidence_ns, format!("p{}", one.percent))),
        );
        rows.push(row(a.max_ns, b.max_ns, None, "highest".to_owned()));
        let counts = |a: u64, b: u64| [String::new(), String::new(), a.to_string(), b.to_string()];
        let named = |figures: [String; 4], name: &str| [figures.to_vec(), vec![name.to_owned()]].concat();
        rows.push(named(counts(a.outliers, b.outliers), "outliers, each by its own capture's rule"));
        rows.push(named(counts(a.count, b.count), "intervals"));
    }
    Table { title: "All intervals".to_owned(), heads: vec!["change", "95 % confidence", "A", "B", ""], rows }
}

fn causes(title: &str, contrast: &Contrast, unit: TimeUnit) -> Table {
    let spread = |spread: &Spread, count: u64| match spread.intervals {
        0 => ["-".to_owned(), String::new()],
        intervals => [
            format!("{} ± {}", units::length(spread.mean_ns, unit), units::length(spread.stdev_ns, unit)),
            format!("{intervals}/{count}"),
        ],
    };
    let row = |change: &CauseChange| {
        let moved = units::signed_length(change.change_ns, unit);
        let (a, b) = (spread(&change.a, contrast.a_count), spread(&change.b, contrast.b_count));
        [vec![moved], a.to_vec(), b.to_vec(), vec![change.cause.clone()]].concat()
    };
    let mut rows: Vec<Vec<String>> = contrast.causes.iter().take(MOST_CAUSES).map(row).collect();
    if let Some(rest) = contrast.causes.get(MOST_CAUSES..).filter(|rest| !rest.is_empty()) {
        let moved = rest.iter().fold(0i64, |sum, change| sum.saturating_add(change.change_ns));
        let mut last = vec![String::new(); 5];
        last[0] = units::signed_length(moved, unit);
        last.push(units::counted(rest.len() as u64, "more cause"));
        rows.push(last);
    }
    Table { title: title.to_owned(), heads: vec!["change", "A", "in", "B", "in", "cause"], rows }
}
