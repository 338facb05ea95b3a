//! The first screen: how long the intervals take and where the slow ones lie, why those are slow, and the list of them.
//!
//! Needs no script; with it, bars and stories filter the list and the sections, by the attributes that are written here.

use super::family::classes;
use super::figures::strip;
use super::histogram;
use super::reasons;
use super::verdict::{MOST_OUTLIERS, name};
use crate::escape::for_html;
use crate::headline;
use crate::outlier::OutlierReport;
use crate::report::Report;
use crate::timebase::TimeUnit;
use crate::units;
use crate::view::Story;

const MOST_LISTED: usize = 500;
const MOST_STORIES: usize = 20;

/// Percentiles, histogram, reasons of all outliers, stories of the explained ones, list. Empty without intervals.
pub(super) fn screen(report: &Report) -> String {
    let reasons = reasons::table(&report.view.reasons);
    [percentiles(report), histogram::of_population(report), reasons, stories(report), list(report)].concat()
}

/// The attributes by which the script filters a row or a section.
pub(super) fn filtered(report: &Report, outlier: &OutlierReport) -> String {
    let story = report.view.stories.iter().position(|story| story.ids.contains(&outlier.id));
    let story = story.map_or_else(String::new, |story| format!(" data-story=\"{story}\""));
    format!("{story} data-took=\"{}\"", outlier.duration_ns)
}

fn percentiles(report: &Report) -> String {
    let (population, unit) = (&report.population, report.capture.time_unit);
    if population.count == 0 {
        return String::new();
    }
    let of = &population.percentiles;
    let figures = [
        ("intervals", units::grouped(population.count)),
        ("p50", units::length(of.p50, unit)),
        ("p90", units::length(of.p90, unit)),
        ("p99", units::length(of.p99, unit)),
        ("p99.9", units::length(of.p99_9, unit)),
        ("longest", units::length(population.max_ns, unit)),
        ("slow", units::grouped(population.outliers)),
        ("explained here", report.outliers.len().to_string()),
    ];
    let items = figures.map(|(what, figure)| format!("<div><dt>{what}</dt><dd>{figure}</dd></div>"));
    format!("<dl class=\"percentiles\">{}</dl>\n", items.concat())
}

/// The stories of several outliers, the largest group first.
fn stories(report: &Report) -> String {
    let (stories, unit) = (&report.view.stories, report.capture.time_unit);
    if report.outliers.len() < 2 || stories.is_empty() {
        return String::new();
    }
    let shown = stories.iter().take(MOST_STORIES).enumerate();
    let rows: String = shown.map(|(index, story)| story_row(index, story, unit)).collect();
    let more = match stories.len().saturating_sub(MOST_STORIES) {
        0 => String::new(),
        rest => format!("<p class=\"note\">and {rest} more</p>\n"),
    };
    format!(
        "<h2 id=\"stories\">Stories of those explained here</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" \
         aria-labelledby=\"stories\"><table class=\"stories\">\n<thead><tr><th class=\"number\">intervals</th>\
         <th class=\"number\">of all excess</th><td></td><th class=\"number\">took</th><th>what happened</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}

fn story_row(index: usize, story: &Story, unit: TimeUnit) -> String {
    let (shortest, longest) = (units::length(story.shortest_ns, unit), units::length(story.longest_ns, unit));
    let lengths = if shortest == longest { longest } else { format!("{shortest} to {longest}") };
    let color = story.causes.first().map_or_else(|| "unknown".to_owned(), |cause| classes(cause));
    format!(
        "<tr data-of=\"{index}\"><td class=\"number\">{}</td><td class=\"number\">{}</td><td><svg class=\"share\" \
         viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bar {color}\" \
         width=\"{:.1}\" height=\"8\"/></svg></td><td class=\"number\">{lengths}</td><th scope=\"row\" class=\"long\">{}\
         </th></tr>\n",
        story.ids.len(),
        units::percent(story.share),
        (story.share * 100.0).clamp(0.0, 100.0),
        for_html(&story.words),
    )
}

/// Where there are several outliers: one line each.
fn list(report: &Report) -> String {
    if report.outliers.len() < 2 {
        return String::new();
    }
    let longest = report.outliers.iter().map(|outlier| outlier.duration_ns).max().unwrap_or(1).max(1);
    let shown = report.outliers.iter().take(MOST_LISTED).enumerate();
    let rows: String = shown.map(|(index, outlier)| list_row(report, outlier, index, longest)).collect();
    let rest = report.outliers.len().saturating_sub(MOST_LISTED);
    let more = if rest > 0 { format!("<p class=\"note\">and {rest} more</p>\n") } else { String::new() };
    format!(
        "<h2 id=\"list\">All {} explained intervals</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" \
         aria-label=\"Explained intervals\"><table class=\"list\">\n<thead><tr><th>interval</th><th class=\"number\">took</th>\
         <th class=\"number\">typical</th><th>by cause</th><th>what differs first</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n\
         {more}",
        report.outliers.len(),
    )
}

/// The foremost cause with what differs between outliers first, and the next one, dimmed.
fn why(outlier: &OutlierReport) -> String {
    let next = headline::clauses(outlier).into_iter().nth(1);
    let next = next
        .map_or_else(String::new, |next| format!(" <span class=\"note\">also {}</span>", for_html(&next)));
    format!("{}{next}", for_html(&headline::line(outlier)))
}

fn list_row(report: &Report, outlier: &OutlierReport, index: usize, longest: u64) -> String {
    let unit = outlier.time_unit;
    let typical = outlier.baseline_mean_ns.map_or_else(|| "-".to_owned(), |mean| units::length(mean, unit));
    let name = for_html(&name(outlier));
    let name = match index {
        0..MOST_OUTLIERS => format!("<a href=\"#outlier-{}\">{name}</a>", index + 1),
        _ => name,
    };
    format!(
        "<tr{}><th scope=\"row\">{name}</th><td class=\"number\">{}</td><td class=\"number\">{typical}</td><td>{}</td>\
         <td>{}</td></tr>\n",
        filtered(report, outlier),
        units::length(outlier.duration_ns, unit),
        strip(outlier, longest),
        why(outlier),
    )
}
