//! How many places the cursor of a page has.

use super::layout::body_height;
use super::made_of;
use super::page::{OutlierPart, Page};
use super::text::{outlier_lines, population_lines};
use super::view::View;

/// How many places the cursor of the page in view has.
pub(crate) fn extent(view: &View) -> usize {
    let scrolled = |lines: usize| (lines + 1).saturating_sub(body_height(view)).max(1);
    match view.page() {
        Page::Population(_) => scrolled(population_lines(view).len()),
        Page::MadeOf(page) => scrolled(made_of::lines(view, page).len()),
        Page::Intervals(page) => page.listed.len(),
        Page::Block(page) => page.count(page.part),
        Page::Stretch(page) => {
            view.explained(page.index).map_or(1, |explained| page.pieces(&explained.outlier).len())
        }
        Page::Outlier(page) => view.explained(page.index).map_or(1, |explained| match page.part {
            OutlierPart::Verdict | OutlierPart::Baseline | OutlierPart::Code => {
                scrolled(outlier_lines(view).len())
            }
            OutlierPart::Timeline => page.segments.lines(&explained.outlier).len(),
            OutlierPart::Calls => page.calls.lines(&explained.outlier.calls).len(),
            OutlierPart::Flow => page.beside.as_ref().map_or(page.flow.count(), |beside| beside.rows.len()),
        }),
    }
}
