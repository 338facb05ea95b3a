//! The terminal's text.
//!
//! Input: a report and a [`Style`]. Output: lines no wider than the style says (except the command to paste, which
//! must stay whole), with colours only where asked for, and no other control character but the newline.

use crate::{OutlierReport, Report};

pub use timeline::axis;

mod causes;
pub mod cells;
pub(crate) mod group;
mod head;
mod outlier;
mod paint;
mod population;
mod segments;
pub(crate) mod timeline;
mod view;

pub(crate) use cells::{cut, right, width, wrap};
pub(crate) use head::fact;
pub(crate) use paint::Ink;

/// Narrower terminals get this width and wrap by themselves: the table of causes needs it.
const NARROWEST: usize = 72;
/// Wider ones get this: longer lines are hard to read.
const WIDEST: usize = 240;

/// How text may look; the caller decides by the terminal and `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below 72 counts as 72.
    pub width: usize,
    /// Whether ANSI colours are wanted.
    pub color: bool,
    /// Whether characters beyond ASCII (bars, rules, marks) are wanted.
    pub unicode: bool,
}

impl Style {
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(NARROWEST, WIDEST)
    }
}

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

/// The population alone, for `stat`: the table, percentiles and histogram.
pub fn render_stat_text(report: &Report, style: &Style) -> String {
    let mut lines = head::capture(report, *style);
    lines.push(String::new());
    lines.extend(population::lines(&report.population, report.capture.time_unit, *style));
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
