//! From the state to a screen: a pure function of it. Every string of the capture passes through one escaping.

mod baseline;
mod beside;
mod block;
mod calls;
mod code;
mod flow;
mod head;
mod intervals;
mod lanes;
mod overlay;
mod pieces;
mod timeline;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::cursor::Cursor;
use super::page::{OutlierPart, Page};
use super::painted;
use super::state::State;

pub(crate) use overlay::reading_extent;

/// Columns and rows below which nothing sensible fits.
const SMALLEST: (u16, u16) = (40, 10);

/// Draws everything.
pub(crate) fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("{} by {} is too small", area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let [title, header, body, status] = rows(state, area);
    frame.render_widget(Paragraph::new(head::title(state, title.width)), title);
    frame.render_widget(Paragraph::new(head::header(state, area)), header);
    draw_body(state, frame, body);
    frame.render_widget(Paragraph::new(head::status(state, status.width)), status);
    overlay::draw(state, frame, area);
}

/// Title, header, body and status of a screen.
fn rows(state: &State, area: Rect) -> [Rect; 4] {
    let header = u16::try_from(head::header(state, area).len()).unwrap_or(u16::MAX).min(area.height / 2);
    let body = area.height.saturating_sub(header + 2);
    let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    [row(0, 1), row(1, header), row(1 + header, body), row(1 + header + body, 1)]
}

/// Lines of the body in view.
pub(crate) fn body_height(state: &State) -> usize {
    let (width, height) = state.size;
    let body = rows(state, Rect { x: 0, y: 0, width, height })[2];
    let own = match state.page() {
        Page::Outlier(page) if page.part == OutlierPart::Timeline => {
            let lanes = state.explained(page.index).map_or(0, |explained| explained.lanes.len());
            timeline::list_height(lanes, body)
        }
        Page::Outlier(page) if page.part == OutlierPart::Flow && page.beside.is_some() => {
            body.height.saturating_sub(beside::ABOVE)
        }
        Page::Outlier(page) if matches!(page.part, OutlierPart::Calls | OutlierPart::Flow) => {
            body.height.saturating_sub(1)
        }
        _ => body.height,
    };
    usize::from(own)
}

/// How many places the cursor of the page in view has.
pub(crate) fn extent(state: &State) -> usize {
    let scrolled = |lines: usize| (lines + 1).saturating_sub(body_height(state)).max(1);
    match state.page() {
        Page::Population(_) => scrolled(population_lines(state).len()),
        Page::Intervals(page) => page.listed.len(),
        Page::Block(page) => page.count(page.part),
        Page::Outlier(page) => state.explained(page.index).map_or(1, |explained| match page.part {
            OutlierPart::Verdict | OutlierPart::Baseline | OutlierPart::Code => {
                scrolled(outlier_lines(state).len())
            }
            OutlierPart::Timeline => page.segments.lines(&explained.outlier).len(),
            OutlierPart::Calls => page.calls.lines(&explained.outlier.calls).len(),
            OutlierPart::Flow => page.beside.as_ref().map_or(page.flow.count(), |beside| beside.rows.len()),
        }),
    }
}

/// The population page's text, line by line.
pub(crate) fn population_text(state: &State) -> Vec<String> {
    population_lines(state).iter().map(painted::plain).collect()
}

/// The text of an outlier's verdict or comparison, line by line.
pub(crate) fn outlier_text(state: &State) -> Vec<String> {
    outlier_lines(state).iter().map(painted::plain).collect()
}

fn population_lines(state: &State) -> Vec<Line<'static>> {
    let Some(overview) = &state.overview else { return Vec::new() };
    let text = report::render_stat_text(&overview.report, &painted::style(state.size.0));
    painted::folded(painted::lines(&text), state.size.0)
}

/// The lines of those parts of an outlier's page that are text.
fn outlier_lines(state: &State) -> Vec<Line<'static>> {
    let Page::Outlier(page) = state.page() else { return Vec::new() };
    let Some(explained) = state.explained(page.index) else { return Vec::new() };
    match (page.part, &page.ranges) {
        (OutlierPart::Baseline, _) => return baseline::lines(explained, page.baseline, state.size.0),
        (OutlierPart::Code, Some(ranges)) => return code::lines(ranges, state.unit(), state.size.0),
        _ => {}
    }
    let style = painted::style(state.size.0);
    let lines = painted::lines(&report::render_verdict(&explained.outlier, &style));
    let mut lines = painted::folded(lines, state.size.0);
    lines.extend(explained.remarks.iter().flat_map(|remark| pieces::remark(remark, state.size.0)));
    lines
}

fn draw_body(state: &State, frame: &mut Frame<'_>, area: Rect) {
    match state.page() {
        Page::Population(cursor) => match &state.overview {
            Some(_) => draw_text(&population_lines(state), *cursor, frame, area),
            None => frame.render_widget(Paragraph::new(head::waiting(state, area)), area),
        },
        Page::Intervals(page) => intervals::draw(state, page, frame, area),
        Page::Block(page) => match &page.listing {
            Some(listing) => block::draw(page, listing, frame, area),
            None => frame.render_widget(Paragraph::new(head::waiting(state, area)), area),
        },
        Page::Outlier(page) => {
            let waits = match page.part {
                OutlierPart::Flow => page.beside.is_none() && page.flow.flow.is_none(),
                OutlierPart::Code => page.ranges.is_none(),
                _ => false,
            };
            let Some(explained) = state.explained(page.index).filter(|_| !waits) else {
                return frame.render_widget(Paragraph::new(head::waiting(state, area)), area);
            };
            match page.part {
                OutlierPart::Verdict => draw_text(&outlier_lines(state), page.verdict, frame, area),
                OutlierPart::Baseline => draw_text(&outlier_lines(state), page.comparison, frame, area),
                OutlierPart::Code => draw_text(&outlier_lines(state), page.code, frame, area),
                OutlierPart::Timeline => timeline::draw(page, explained, frame, area),
                OutlierPart::Calls => calls::draw(page, &explained.outlier, frame, area),
                OutlierPart::Flow => match &page.beside {
                    Some(beside) => beside::draw(page, beside, explained, frame, area),
                    None => flow::draw(page, &explained.outlier, frame, area),
                },
            }
        }
    }
}

/// Text from the cursor's line on, as far as it fits.
fn draw_text(lines: &[Line<'static>], cursor: Cursor, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    let top = cursor.at(lines.len()).min(lines.len().saturating_sub(height));
    let shown: Vec<Line<'static>> = lines.iter().skip(top).take(height).cloned().collect();
    frame.render_widget(Paragraph::new(shown), area);
}

#[cfg(test)]
mod tests;
