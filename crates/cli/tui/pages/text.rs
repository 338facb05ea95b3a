//! The pages that are text: the population, and the verdict, comparison and code of an interval.

mod baseline;
mod code;

use ratatui::text::Line;
use report::{Reasons, Style};

use super::overview::Overview;
use super::page::{OutlierPart, Page};
use super::view::View;
use super::{painted, pieces};

/// The population page's text, line by line.
pub(crate) fn population_text(view: &View) -> Vec<String> {
    population_lines(view).iter().map(painted::plain).collect()
}

/// The text of an outlier's verdict or comparison, line by line.
pub(crate) fn outlier_text(view: &View) -> Vec<String> {
    outlier_lines(view).iter().map(painted::plain).collect()
}

/// The population page: why the outliers are slow as far as they are explained by now, then the figures.
pub(crate) fn population_lines(view: &View) -> Vec<Line<'static>> {
    let Some(overview) = &view.overview else { return Vec::new() };
    let style = painted::style(view.size.0);
    let mut text = reasons(view, overview, &style);
    text.push_str(&report::render_stat_text(&overview.report, &style));
    painted::folded(painted::lines(&text), view.size.0)
}

/// The table and an empty line; nothing where fewer than two outliers are explained.
fn reasons(view: &View, overview: &Overview, style: &Style) -> String {
    let known = overview.with_reasons.iter().filter_map(|&index| view.reasons_of(index));
    let reasons = Reasons::of(known, overview.found);
    match report::render_reasons(&reasons, "the chosen ones first", style) {
        none if none.is_empty() => none,
        table => table + "\n",
    }
}

/// The lines of those parts of an outlier's page that are text.
pub(crate) fn outlier_lines(view: &View) -> Vec<Line<'static>> {
    let Page::Outlier(page) = view.page() else { return Vec::new() };
    let Some(explained) = view.explained(page.index) else { return Vec::new() };
    match (page.part, &page.ranges) {
        (OutlierPart::Baseline, _) => return baseline::lines(explained, page.baseline, view.size.0),
        (OutlierPart::Code, Some(ranges)) => return code::lines(ranges, view.unit(), view.size.0),
        _ => {}
    }
    let style = painted::style(view.size.0);
    let lines = painted::lines(&report::render_verdict(&explained.outlier, &style));
    let mut lines = painted::folded(lines, view.size.0);
    lines.extend(explained.remarks.iter().flat_map(|remark| pieces::remark(remark, view.size.0)));
    lines
}
