//! The terminal's text.

use crate::escape::for_terminal;
use crate::{Report, headline, units};

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether ANSI colours are wanted; the caller decides by `NO_COLOR` and the terminal.
    pub color: bool,
    /// Whether block characters are wanted; plain ASCII otherwise.
    pub unicode: bool,
}

/// The whole report.
pub fn render_text(report: &Report, _style: &Style) -> String {
    let mut text = String::new();
    for outlier in &report.outliers {
        text.push_str(&format!("{}\n", headline(outlier)));
        for cause in &outlier.causes {
            text.push_str(&format!(
                "{:>12} {:>12} {:>6} {:<10} {} {}\n",
                units::signed_length(cause.excess_ns, outlier.time_unit),
                units::length(cause.typical_ns, outlier.time_unit),
                cause.count,
                cause.certainty.to_string(),
                for_terminal(&cause.cause),
                for_terminal(&cause.detail)
            ));
        }
    }
    text
}

/// The population alone.
pub fn render_stat_text(report: &Report, _style: &Style) -> String {
    format!("{} intervals\n", report.population.count)
}
