//! The terminal's text.
//!
//! Input: a report and a [`Style`]. Output: lines no wider than the style says (except the command to paste, which
//! must stay whole), with colours only where requested, and no other control character but the newline.

use crate::composition::Composition;
use crate::outlier::OutlierReport;
use crate::reasons::Reasons;
use crate::recording;
use crate::report::Report;
use crate::timebase::TimeUnit;
use crate::view::words;

pub use style::Style;
pub use timeline::axis;

mod causes;
pub mod cells;
pub(crate) mod composition;
pub(crate) mod group;
mod head;
mod kernel;
mod outlier;
pub(crate) mod population;
mod reasons;
mod rows;
mod segments;
mod style;
pub(crate) mod timeline;
mod view;

pub use cells::wrap;
pub(crate) use cells::{cut, right, width};
pub(crate) use head::fact;
pub(crate) use style::Ink;

/// Outliers of several that are shown with their time line; each other one has a line.
const MOST_IN_BRIEF: usize = 3;

/// The report for `explain`: why all outliers are slow, and the three foremost in brief; one outlier alone is shown in full.
pub fn render_text(report: &Report, style: &Style) -> String {
    if report.outliers.len() < 2 {
        return render_full_text(report, style);
    }
    let style = *style;
    let mut lines = above(report, style);
    lines.extend(view::brief(report, style));
    let lacking = outlier::lacking_for_all(&report.outliers);
    for (index, outlier) in report.outliers.iter().take(MOST_IN_BRIEF).enumerate() {
        lines.push(String::new());
        lines.extend(outlier::brief(outlier, index + 1, &lacking, style));
    }
    if report.outliers.len() > MOST_IN_BRIEF {
        lines.push(String::new());
        lines.extend(head::overview(report, MOST_IN_BRIEF, style));
    }
    lines.extend(
        report
            .outliers
            .iter()
            .find_map(|outlier| {
                let lines = outlier::server_requests(outlier, style);
                (!lines.is_empty()).then_some(lines)
            })
            .unwrap_or_default(),
    );
    lines.push(String::new());
    lines.extend(outlier::checks(&lacking, style.columns(), style));
    lines.extend(head::selection(report, style));
    lines.extend(head::notes(report, style));
    let further = "segments, evidence and checks: -v; all of it: --format json; a page: --html; the terminal: tailtrace tui";
    lines.extend(fact("further", further, Ink::Dim, style));
    finish(&lines, style)
}

/// The whole report: each outlier with its segments, their evidence, and what the capture holds for it.
pub fn render_full_text(report: &Report, style: &Style) -> String {
    let style = *style;
    let mut lines = above(report, style);
    if report.outliers.len() > 1 {
        lines.push(String::new());
        lines.extend(head::overview(report, 0, style));
    }
    lines.extend(view::lines(report, style));
    for (index, outlier) in report.outliers.iter().enumerate() {
        lines.push(String::new());
        lines.extend(outlier::lines(outlier, (index + 1, report.outliers.len()), style));
    }
    lines.push(String::new());
    lines.extend(head::selection(report, style));
    lines.extend(head::capture(report, style));
    lines.extend(head::notes(report, style));
    finish(&lines, style)
}

/// Population, what is wrong, why all outliers are slow, and what the recording itself took.
fn above(report: &Report, style: Style) -> Vec<String> {
    let mut lines = head::first(report, style);
    lines.extend(head::troubles(report, style));
    let why = reasons::lines(&report.view.reasons, &words::explained(&report.view.reasons), style);
    if !why.is_empty() {
        lines.push(String::new());
        lines.extend(why);
    }
    lines.extend(composition_of(report, style));
    let tracing = recording::of_all(&report.outliers, report.capture.time_unit);
    if !tracing.is_empty() && report.outliers.len() > 1 {
        lines.push(String::new());
        lines.extend(fact("tracing", &tracing, Ink::Dim, style));
    }
    lines
}

/// What the time of all intervals is made of; nothing where that was not requested.
fn composition_of(report: &Report, style: Style) -> Vec<String> {
    let found = report.composition.iter();
    found.flat_map(|found| composition::lines(found, report.capture.time_unit, style)).collect()
}

/// Why outliers are slow, as the table that stands above them; empty where fewer than two were explained. `which` says what was taken
/// where that are not all: `the longest first`.
pub fn render_reasons(reasons: &Reasons, which: &str, style: &Style) -> String {
    finish(&reasons::lines(reasons, &words::explained_of(reasons, which), *style), *style)
}

/// One outlier's causes, facts and checks: its verdict without the headline, the most telling first.
pub fn render_verdict(outlier: &OutlierReport, style: &Style) -> String {
    finish(&outlier::verdict(outlier, *style), *style)
}

/// The population alone, for `stat`: the table, percentiles and histogram; how many are selected where [`Report::selection`] has a rule.
pub fn render_stat_text(report: &Report, style: &Style) -> String {
    let mut lines = head::capture(report, *style);
    lines.push(String::new());
    lines.extend(population::lines(report, *style));
    lines.extend(composition_of(report, *style));
    lines.extend(view::counters(&report.population.counters, *style));
    lines.extend(head::troubles(report, *style));
    lines.extend(head::notes(report, *style));
    finish(&lines, *style)
}

/// What the time of all intervals is made of, as `stat --causes` prints it.
pub fn render_composition(composition: &Composition, unit: TimeUnit, style: &Style) -> String {
    finish(&composition::lines(composition, unit, *style), *style)
}

/// Joins the lines; without characters beyond ASCII, those of names become `?`.
pub(crate) fn finish(lines: &[String], style: Style) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if style.unicode { text } else { cells::ascii_only(&text) }
}

#[cfg(test)]
mod tests;
