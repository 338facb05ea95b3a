//! What the time of all intervals is made of: a picture of each percentile, and the tables of the terminal.
//!
//! Needs no script; with it, a slider shows one percentile after the other (`assets/composition.js`).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::family::classes;
use crate::composition::{Composition, CompositionPoint};
use crate::escape::for_html;
use crate::report::Report;
use crate::text::composition::{Rows, tables};
use crate::timebase::TimeUnit;
use crate::units;

/// The place of zero, from the top, and how tall all of the time is.
const FLOOR: f64 = 130.0;
const TALLEST: f64 = 126.0;
/// Causes with a colour in the picture; the rest of a column is empty.
const MOST_CAUSES: usize = 24;
/// Percentiles that are named below it.
const NAMED: [f64; 6] = [0.0, 50.0, 90.0, 99.0, 99.9, 100.0];

/// Empty where nothing was explained for it.
pub(super) fn section(report: &Report) -> String {
    let Some(composition) = report.composition.as_ref().filter(|found| !found.points.is_empty()) else {
        return String::new();
    };
    let unit = report.capture.time_unit;
    let tables: String = tables(composition, unit).iter().map(table).collect();
    format!(
        "<section aria-labelledby=\"composition\">\n<h2 id=\"composition\">All intervals by cause</h2>\n{}{tables}</section>\n",
        picture(composition, unit)
    )
}

/// A column per percentile, filled by the causes' shares of its time.
fn picture(composition: &Composition, unit: TimeUnit) -> String {
    let curve = &composition.curve;
    let step = 100.0 / count(curve.len().max(1));
    let order = order(curve);
    let columns: String = curve
        .iter()
        .enumerate()
        .map(|(at, point)| column(point, count(at) * step, step, &order, unit))
        .collect();
    let named = curve.iter().enumerate().filter(|(_, point)| is_named(point.percentile));
    let ticks: String = named.map(|(at, point)| tick(point, (count(at) + 0.5) * step, unit)).collect();
    format!(
        "<figure class=\"composition\"><svg class=\"plot\" role=\"img\" aria-label=\"Shares of causes in the time of \
         intervals, from the shortest to the longest; the table below has them\">{columns}<line class=\"axis\" x1=\"0\" \
         x2=\"100%\" y1=\"{FLOOR}\" y2=\"{FLOOR}\"/>{ticks}</svg><figcaption>shares of each percentile's time: each tenth of \
         the intervals, then of the slowest tenth, of the slowest hundredth, and so on</figcaption></figure>\n"
    )
}

/// Causes by their share over the whole curve, so that each has its place in all columns.
fn order(curve: &[CompositionPoint]) -> Vec<&str> {
    let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
    for point in curve {
        for (cause, mean) in &point.causes {
            *shares.entry(cause).or_default() += mean / point.mean_ns.max(1.0);
        }
    }
    let mut causes: Vec<(&str, f64)> = shares.into_iter().collect();
    causes.sort_by(|a, b| b.1.total_cmp(&a.1));
    causes.into_iter().take(MOST_CAUSES).map(|(cause, _)| cause).collect()
}

fn column(point: &CompositionPoint, x: f64, width: f64, order: &[&str], unit: TimeUnit) -> String {
    let (mut drawn, mut top) = (String::from("<g class=\"column\">"), FLOOR);
    for &name in order {
        let mean = point.causes.iter().find(|(cause, _)| cause == name).map_or(0.0, |(_, mean)| *mean);
        let tall = mean / point.mean_ns.max(1.0) * TALLEST;
        if tall.partial_cmp(&0.2) != Some(Ordering::Greater) {
            continue;
        }
        top -= tall;
        let _ = write!(
            drawn,
            "<rect class=\"bar {}\" x=\"{x:.2}%\" y=\"{top:.1}\" width=\"{:.2}%\" height=\"{tall:.1}\"><title>{} {}: {} of {}\
             </title></rect>",
            classes(name),
            width * 0.92,
            point.name(),
            for_html(name),
            units::mean_length(mean, unit),
            units::mean_length(point.mean_ns, unit),
        );
    }
    drawn.push_str("</g>");
    drawn
}

fn is_named(percentile: f64) -> bool {
    NAMED.iter().any(|named| (named - percentile).abs() < 1e-9)
}

/// Name and length of a percentile below its column.
fn tick(point: &CompositionPoint, x: f64, unit: TimeUnit) -> String {
    // At the edges the words stay within the picture.
    let (x, anchor) = match x {
        ..3.0 => (0.0, "start"),
        97.0.. => (100.0, "end"),
        _ => (x, "middle"),
    };
    let text = |y: f64, words: &str| {
        format!("<text class=\"tick\" x=\"{x:.2}%\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>")
    };
    text(FLOOR + 16.0, &point.name()) + &text(FLOOR + 31.0, &units::length(point.duration_ns, unit))
}

/// One of the terminal's tables: the head is its title.
fn table(rows: &Rows) -> String {
    let Some(((title, names), rows)) = rows.split_first() else { return String::new() };
    let title = for_html(title);
    let heads: Vec<String> =
        names.iter().map(|name| format!("<th class=\"number\">{}</th>", for_html(name))).collect();
    let row = |(name, figures): &(String, Vec<String>)| {
        let cells: Vec<String> =
            figures.iter().map(|figure| format!("<td class=\"number\">{}</td>", for_html(figure))).collect();
        let class = if name.starts_with(' ') { " class=\"of\"" } else { "" };
        format!(
            "<tr{class}>{}<th scope=\"row\" class=\"long\">{}</th></tr>\n",
            cells.concat(),
            for_html(name.trim_start())
        )
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<h3>{title}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{title}\"><table class=\"composed\">\n<thead><tr>\
         {}<td></td></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        heads.concat()
    )
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn count(number: usize) -> f64 {
    number as f64
}
