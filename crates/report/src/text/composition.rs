//! What the time is made of at each percentile, what slow intervals have more of, their paths, how they changed over time, and the
//! percentiles without a cause: a table each.

mod compared;

use std::collections::BTreeMap;

use super::rows::row;
use super::style::{Ink, Style};
use crate::composition::{Composition, CompositionPoint, Without};
use crate::escape::for_terminal;
use crate::timebase::TimeUnit;
use crate::units;

/// Causes in rows of their own; JSON has all.
const MOST_CAUSES: usize = 10;
/// A cause that nowhere has this part of the time stands in the sum of the others.
const SMALLEST_SHARE: f64 = 0.01;
/// Rows of the second table.
const MOST_WITHOUT: usize = 12;
/// Columns of a figure.
const FIGURE: usize = 10;

/// All tables; nothing where nothing was explained.
pub(super) fn lines(composition: &Composition, unit: TimeUnit, style: Style) -> Vec<String> {
    tables(composition, unit)
        .into_iter()
        .flat_map(|rows| std::iter::once(String::new()).chain(table(rows, style)))
        .collect()
}

/// Those that have rows.
pub(crate) fn tables(composition: &Composition, unit: TimeUnit) -> Vec<Rows> {
    if composition.points.is_empty() {
        return Vec::new();
    }
    let all = [
        made_of(composition, unit),
        compared::tail(&composition.tail, unit),
        without(composition, unit),
        compared::paths(&composition.paths, unit),
        compared::periods(&composition.periods, unit),
    ];
    all.into_iter().filter(|rows| rows.len() > 1).collect()
}

/// Names and figures; the first row is the head.
pub(crate) type Rows = Vec<(String, Vec<String>)>;

fn table(rows: Rows, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, (name, figures)) in rows.into_iter().enumerate() {
        let margin = if place == 0 { "" } else { "  " };
        let columns: Vec<(&str, usize)> = figures.iter().map(|figure| (figure.as_str(), FIGURE)).collect();
        let wrapped = row(&format!("{margin}{}", for_terminal(&name)), &columns, style);
        let ink = |line: String| if place == 0 { style.paint(Ink::Bold, &line) } else { line };
        lines.extend(wrapped.into_iter().map(ink));
    }
    lines
}

/// Mean time by cause around each percentile. The causes add up to what the intervals took.
fn made_of(composition: &Composition, unit: TimeUnit) -> Rows {
    let head = format!("What the time is made of ({})", explained(composition));
    let points = &composition.points;
    let mut rows = vec![(head, names(composition))];
    rows.push(("took".to_owned(), points.iter().map(|point| length(point.mean_ns, unit)).collect()));
    let mut by_cause: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        for (cause, mean) in &point.causes {
            by_cause.entry(cause).or_insert_with(|| vec![0.0; points.len()])[place] = *mean;
        }
    }
    let share = |means: &[f64]| {
        let shares = means.iter().zip(points).map(|(mean, point)| mean / point.mean_ns.max(1.0));
        shares.fold(0.0, f64::max)
    };
    let mut causes: Vec<(&str, Vec<f64>)> = by_cause.into_iter().collect();
    causes.sort_by(|a, b| share(&b.1).total_cmp(&share(&a.1)));
    let is_shown = |means: &[f64]| share(means) >= SMALLEST_SHARE;
    let shown = causes.iter().take(MOST_CAUSES).take_while(|(_, means)| is_shown(means)).count();
    for (cause, means) in &causes[..shown] {
        rows.push(((*cause).to_owned(), means.iter().map(|&mean| length(mean, unit)).collect()));
    }
    let rest = |place: usize| causes[shown..].iter().map(|(_, means)| means[place]).sum::<f64>();
    if shown < causes.len() {
        let name = units::counted((causes.len() - shown) as u64, "other cause");
        rows.push((name, (0..points.len()).map(|place| length(rest(place), unit)).collect()));
    }
    rows.push((
        "mean of intervals".to_owned(),
        points.iter().map(|point| point.intervals.to_string()).collect(),
    ));
    rows
}

/// The percentiles without a cause, and below it without what its objects and places took above typical.
fn without(composition: &Composition, unit: TimeUnit) -> Rows {
    let head = "Without one cause (an estimate: what waits for a slow interval is not followed)";
    let mut rows = vec![(head.to_owned(), names(composition))];
    if composition.without.is_empty() {
        return rows;
    }
    let measured = composition.points.iter().map(|point| units::length(point.duration_ns, unit));
    rows.push(("as measured".to_owned(), measured.collect()));
    for group in composition.without.chunk_by(|a, b| a.cause == b.cause) {
        rows.extend(rows_of(group).into_iter().map(|(name, one)| {
            (name, one.percentiles_ns.iter().map(|&ns| units::length(ns, unit)).collect())
        }));
    }
    rows.truncate(MOST_WITHOUT + 2);
    rows
}

/// A cause whose whole time is that of one object and place has one row.
fn rows_of(group: &[Without]) -> Vec<(String, &Without)> {
    match group {
        [whole, one] if whole.percentiles_ns == one.percentiles_ns => {
            vec![(format!("{}: {}", whole.cause, one.what), whole)]
        }
        _ => {
            let name = |one: &Without| match one.what.as_str() {
                "" => one.cause.clone(),
                what => format!("  {what}"),
            };
            group.iter().map(|one| (name(one), one)).collect()
        }
    }
}

/// `all 640 explained`, or how many of how many.
fn explained(composition: &Composition) -> String {
    let (explained, all) = (composition.explained, composition.intervals);
    if explained == all {
        return format!("all {} explained", units::grouped(all));
    }
    format!(
        "{} of {} explained, at equal distances by duration",
        units::grouped(explained),
        units::grouped(all)
    )
}

fn names(composition: &Composition) -> Vec<String> {
    composition.points.iter().map(CompositionPoint::name).collect()
}

/// A mean as a length; nothing at all as a dash.
fn length(mean: f64, unit: TimeUnit) -> String {
    if mean <= 0.0 { "-".to_owned() } else { units::mean_length(mean, unit) }
}
