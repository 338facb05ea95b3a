//! Slow intervals against fast ones, paths against the most frequent one, earlier against later.

use std::collections::BTreeMap;

use super::{Rows, length};
use crate::composition::{PathClass, Period, Tail};
use crate::timebase::TimeUnit;
use crate::units;

/// Rows of each table; JSON has all.
const MOST_ROWS: usize = 8;
/// What makes less of the difference has no row.
const SMALLEST_SHARE: f64 = 0.02;
/// Functions that are named of a path.
const MOST_FUNCTIONS: usize = 3;

fn head(title: String, columns: &[&str]) -> (String, Vec<String>) {
    (title, columns.iter().map(|&column| column.to_owned()).collect())
}

/// Causes that make the slowest slow.
pub(super) fn tail(tail: &Tail, unit: TimeUnit) -> Rows {
    let title = format!(
        "What the slowest 1 % ({}) have more of than the faster half ({})",
        units::grouped(tail.slow),
        units::grouped(tail.fast)
    );
    let shown = tail.causes.iter().filter(|one| one.share.abs() >= SMALLEST_SHARE).take(MOST_ROWS);
    let row = |one: &crate::composition::TailCause| {
        let figures = vec![
            length(one.fast_ns, unit),
            length(one.slow_ns, unit),
            units::percent(one.share),
            units::percent(one.more_often),
        ];
        (one.cause.clone(), figures)
    };
    let columns = ["fast", "slow", "share", "more in"];
    std::iter::once(head(title, &columns)).chain(shown.map(row)).collect()
}

/// The most frequent path and those that took most; the head alone where all took one.
pub(super) fn paths(paths: &[PathClass], unit: TimeUnit) -> Rows {
    let title = "By path: which functions of the program were entered".to_owned();
    let mut rows = vec![head(title, &["intervals", "p50", "p99", "longest"])];
    if paths.len() < 2 {
        return rows;
    }
    let figures = |path: &PathClass| {
        let lengths = &path.lengths;
        let times = [lengths.p50_ns, lengths.p99_ns, lengths.max_ns].map(|ns| units::length(ns, unit));
        [vec![units::grouped(lengths.count)], times.to_vec()].concat()
    };
    rows.extend(paths.iter().take(MOST_ROWS).map(|path| (path_words(path), figures(path))));
    let rest = &paths[paths.len().min(MOST_ROWS)..];
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|path| path.lengths.count).sum();
        let longest = rest.iter().map(|path| path.lengths.max_ns).max().unwrap_or(0);
        let dash = "-".to_owned();
        let figures = vec![units::grouped(count), dash.clone(), dash, units::length(longest, unit)];
        rows.push((units::counted(rest.len() as u64, "other path"), figures));
    }
    rows
}

/// `the most frequent: 14 functions`, `also grow(), rehash(), 2 more`, `without put()`.
fn path_words(path: &PathClass) -> String {
    if path.differing == 0 {
        return format!("the most frequent: {}", units::counted(path.functions, "function"));
    }
    let named = |names: &[String]| {
        let names = names.iter().take(MOST_FUNCTIONS).map(|name| format!("{name}()"));
        names.collect::<Vec<_>>().join(", ")
    };
    let shown = path.also.len().min(MOST_FUNCTIONS) + path.lacks.len().min(MOST_FUNCTIONS);
    let also = (!path.also.is_empty()).then(|| format!("also {}", named(&path.also)));
    let lacks = (!path.lacks.is_empty()).then(|| format!("without {}", named(&path.lacks)));
    let rest = path.differing.saturating_sub(shown as u64);
    let more = (rest > 0).then(|| format!("{rest} more differ"));
    also.into_iter().chain(lacks).chain(more).collect::<Vec<_>>().join("; ")
}

/// How percentiles and causes changed; the head alone where there are too few intervals.
pub(super) fn periods(periods: &[Period], unit: TimeUnit) -> Rows {
    let part = periods.first().map_or(0, |first| first.to_ns.saturating_sub(first.from_ns));
    let title = format!("Over time: {} parts of {}", periods.len(), units::length(part, unit));
    let mut rows = vec![head(title, &["first", "last", "least", "most", "most at"])];
    if periods.is_empty() {
        return rows;
    }
    let at = |place: usize| units::length(periods[place].from_ns, unit);
    let (counts, most_at) = changes(periods, |period| Some(period.lengths.count), at);
    let grouped = counts.map(|count| units::grouped(count.unwrap_or(0)));
    rows.push(("intervals".to_owned(), [grouped.to_vec(), vec![most_at]].concat()));
    let some = |period: &Period, ns: u64| (period.lengths.count > 0).then_some(ns);
    for (name, of) in [
        ("p50", (|period| period.lengths.p50_ns) as fn(&Period) -> u64),
        ("p99", |period| period.lengths.p99_ns),
        ("longest", |period| period.lengths.max_ns),
    ] {
        rows.push(time_row(name, periods, |period| some(period, of(period)), unit));
    }
    for cause in changing(periods) {
        let of = |period: &Period| some(period, mean_of(period, cause));
        rows.push(time_row(&format!("mean {cause}"), periods, of, unit));
    }
    rows
}

fn time_row(
    name: &str,
    periods: &[Period],
    of: impl Fn(&Period) -> Option<u64>,
    unit: TimeUnit,
) -> (String, Vec<String>) {
    let (found, most_at) = changes(periods, of, |place| units::length(periods[place].from_ns, unit));
    let shown = found.map(|time| time.map_or_else(|| "-".to_owned(), |time| units::length(time, unit)));
    (name.to_owned(), [shown.to_vec(), vec![most_at]].concat())
}

/// The first, the last, the least and the greatest of what `of` gives, and where the greatest is.
fn changes(
    periods: &[Period],
    of: impl Fn(&Period) -> Option<u64>,
    at: impl Fn(usize) -> String,
) -> ([Option<u64>; 4], String) {
    let known: Vec<(usize, u64)> =
        periods.iter().enumerate().filter_map(|(place, period)| Some((place, of(period)?))).collect();
    // Of equal ones the earliest.
    let most = known.iter().rev().max_by_key(|(_, value)| *value).copied();
    let value = |one: Option<&(usize, u64)>| one.map(|(_, value)| *value);
    let least = known.iter().map(|(_, value)| *value).min();
    let found = [value(known.first()), value(known.last()), least, most.map(|(_, value)| value)];
    (found, most.map_or_else(|| "-".to_owned(), |(place, _)| at(place)))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates, and means are lengths
fn mean_of(period: &Period, cause: &str) -> u64 {
    let found = period.causes.iter().find(|(name, _)| name == cause);
    found.map_or(0, |(_, mean)| mean.round() as u64)
}

/// The causes whose mean changed most, the most first.
fn changing(periods: &[Period]) -> Vec<&str> {
    let mut extremes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let full: Vec<&Period> = periods.iter().filter(|period| period.lengths.count > 0).collect();
    for cause in full.iter().flat_map(|period| period.causes.iter().map(|(cause, _)| cause.as_str())) {
        extremes.entry(cause).or_insert_with(|| {
            let means = full.iter().map(|period| mean_of(period, cause));
            (means.clone().min().unwrap_or(0), means.max().unwrap_or(0))
        });
    }
    let mut causes: Vec<(&str, u64)> =
        extremes.into_iter().map(|(cause, (least, most))| (cause, most - least)).collect();
    causes.sort_by_key(|&(_, change)| std::cmp::Reverse(change));
    causes.into_iter().filter(|&(_, change)| change > 0).take(MOST_ROWS / 2).map(|(cause, _)| cause).collect()
}
