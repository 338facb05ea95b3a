//! The terminal's text.
//!
//! Input: a report and a [`Style`]. Output: lines no wider than the style says (except the command to paste, which
//! must stay whole), with colours only where requested, and no other control character but the newline.

use crate::outlier::OutlierReport;
use crate::report::Report;

pub use style::Style;
pub use timeline::axis;

mod causes;
pub mod cells;
pub(crate) mod group;
mod head;
mod outlier;
pub(crate) mod population;
mod segments;
mod style;
pub(crate) mod timeline;
mod view;

pub use cells::wrap;
pub(crate) use cells::{cut, right, width};
pub(crate) use head::fact;
pub(crate) use style::Ink;

/// The whole report, for `explain`.
pub fn render_text(report: &Report, style: &Style) -> String {
    let mut lines = head::capture(report, *style);
    lines.extend(head::selection(report, *style));
    lines.extend(head::diagnostics(report, *style));
    lines.extend(head::overview(report, *style));
    lines.extend(view::lines(report, *style));
    for (index, outlier) in report.outliers.iter().enumerate() {
        lines.push(String::new());
        lines.extend(outlier::lines(outlier, (index + 1, report.outliers.len()), *style));
    }
    finish(&lines, *style)
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
    lines.extend(view::counters(&report.population.counters, *style));
    lines.extend(head::diagnostics(report, *style));
    finish(&lines, *style)
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
