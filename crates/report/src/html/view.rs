//! What is true of many intervals: why the explained ones are slow together, and what counters, waits and devices of the
//! whole population show.

use super::family::classes;
use super::histogram::{self, Counted};
use crate::distribution::Lengths;
use crate::escape::for_html;
use crate::report::Report;
use crate::timebase::TimeUnit;
use crate::units;
use crate::view::{CauseShare, CounterView, DeviceView, WaitView, words};

/// The accesses of a device.
const ACCESSES: Counted<'_> = Counted { noun: "access", all: "access times", is_population: false };

/// Rows of each table.
const MOST_ROWS: usize = 20;
/// Devices with a picture.
const MOST_DEVICES: usize = 8;

/// The causes of the explained intervals; empty where there is only one.
pub(super) fn together(report: &Report) -> String {
    let (view, unit) = (&report.view, report.capture.time_unit);
    let exceeding: Vec<&CauseShare> = view.causes.iter().filter(|share| share.excess_ns > 0).collect();
    if report.outliers.len() < 2 || exceeding.is_empty() {
        return String::new();
    }
    let heads = ["share of all excess", "", "excess", "first in", "cause"];
    let causes =
        table("Dominant causes", &heads, &exceeding, |share| cause(share, report.outliers.len(), unit));
    format!(
        "<section aria-labelledby=\"together\">\n<h2 id=\"together\">Their causes, together</h2>\n{causes}</section>\n"
    )
}

/// What the whole population shows besides its durations, as parts of its section.
pub(super) fn of_population(report: &Report) -> String {
    let (view, unit) = (&report.view, report.capture.time_unit);
    let heads = ["in slow ones", "of their time", "in fast ones", "of their time", "cause", "object"];
    [
        counters(&report.population.counters),
        table("What they waited for", &heads, &view.waits, |one| wait(one, unit)),
        paragraphs(view.block_io.iter().map(words::block_io)),
        view.devices.iter().take(MOST_DEVICES).map(|one| device(one, unit)).collect(),
        paragraphs(view.nodes().into_iter()),
        paragraphs(view.remarks.iter().cloned()),
    ]
    .concat()
}

/// A cell's class and its text, which is escaped.
type Cell = (&'static str, String);

fn number(text: &str) -> Cell {
    ("number", for_html(text))
}

fn words(text: &str) -> Cell {
    ("", for_html(text))
}

/// A table below a title; empty without items. The last cell of a row names it.
fn table<T>(title: &str, heads: &[&str], items: &[T], cells: impl Fn(&T) -> Vec<Cell>) -> String {
    let Some(first) = items.first() else { return String::new() };
    let classes: Vec<&str> = cells(first).iter().map(|(class, _)| *class).collect();
    let head = |(name, class): (&&str, &str)| match *name {
        "" => "<td></td>".to_owned(),
        name => format!("<th class=\"{class}\">{name}</th>"),
    };
    let heads: String = heads.iter().zip(classes).map(head).collect();
    let row = |item: &T| {
        let mut cells = cells(item);
        let name = cells.pop().map(|(_, text)| text).unwrap_or_default();
        let cells: Vec<String> =
            cells.iter().map(|(class, text)| format!("<td class=\"{class}\">{text}</td>")).collect();
        format!("<tr>{}<th scope=\"row\" class=\"long\">{name}</th></tr>\n", cells.concat())
    };
    let rows: String = items.iter().take(MOST_ROWS).map(row).collect();
    let more = match items.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        rest => format!("<p class=\"note\">and {rest} more</p>\n"),
    };
    format!(
        "<h3>{title}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{title}\"><table>\n<thead><tr>\
         {heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}

fn cause(share: &CauseShare, outliers: usize, unit: TimeUnit) -> Vec<Cell> {
    let color = classes(&share.cause);
    let bar = format!(
        "<svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"bar {color}\" width=\"{:.1}\" height=\"8\"/></svg>",
        (share.share * 100.0).clamp(0.0, 100.0),
    );
    vec![
        number(&units::percent(share.share)),
        ("", bar),
        number(&units::length(share.excess_ns, unit)),
        number(&format!("{} of {outliers}", share.dominates)),
        words(&share.cause),
    ]
}

/// Those that correlate with slow intervals, each in a sentence; how many there are if none does.
fn counters(counters: &[CounterView]) -> String {
    let telling: Vec<&CounterView> = counters.iter().filter(|counter| counter.is_significant).collect();
    let items: String = match telling.as_slice() {
        [] if counters.is_empty() => return String::new(),
        [] => format!(
            "<li>none of {} correlates with slow intervals</li>\n",
            units::counted(counters.len() as u64, "counter")
        ),
        telling => {
            let items = telling.iter().take(MOST_ROWS);
            let items = items.map(|counter| format!("<li>{}</li>\n", for_html(&words::counter(counter))));
            items.collect::<Vec<_>>().concat()
        }
    };
    format!("<h3>Counters that correlate with slow intervals</h3>\n<ul>\n{items}</ul>\n")
}

fn wait(wait: &WaitView, unit: TimeUnit) -> Vec<Cell> {
    let side = |lengths: &Lengths| number(&words::lengths(lengths, unit));
    vec![
        side(&wait.slow),
        number(&units::percent(wait.slow_share)),
        side(&wait.fast),
        number(&units::percent(wait.fast_share)),
        words(&wait.cause),
        words(&wait.object),
    ]
}

fn device(device: &DeviceView, unit: TimeUnit) -> String {
    let title = format!("Device {}, {}", device.device, device.direction);
    format!(
        "<h3>{}</h3>\n<p>{}</p>\n{}",
        for_html(&title),
        for_html(&words::accesses(device, unit)),
        histogram::drawn(&device.histogram, unit, &ACCESSES, ""),
    )
}

fn paragraphs(texts: impl Iterator<Item = String>) -> String {
    let shown = texts.take(MOST_ROWS).map(|text| format!("<p class=\"note\">{}</p>\n", for_html(&text)));
    shown.collect::<Vec<_>>().concat()
}
