//! From what is shown to a screen: a pure function of it. Every string of the capture passes through one escaping.

mod beside;
mod block;
mod calls;
mod flow;
mod head;
mod intervals;
mod lanes;
mod look;
mod overlay;
mod stretch;
mod timeline;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::tui::pages::cursor::Cursor;
use crate::tui::pages::header::header;
use crate::tui::pages::layout::rows;
use crate::tui::pages::made_of;
use crate::tui::pages::page::{OutlierPart, Page};
use crate::tui::pages::text::{outlier_lines, population_lines};
use crate::tui::pages::view::View;

pub(super) use look::Look;

/// Columns and rows below which nothing sensible fits.
const SMALLEST: (u16, u16) = (40, 10);

/// Draws everything.
pub(crate) fn draw(view: &View, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("{} by {} is too small", area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let [title, top, body, status] = rows(view, area);
    frame.render_widget(Paragraph::new(head::title(view, title.width)), title);
    frame.render_widget(Paragraph::new(header(view, area)), top);
    draw_body(view, frame, body);
    frame.render_widget(Paragraph::new(head::status(view, status.width)), status);
    overlay::draw(view, frame, area);
}

fn draw_body(view: &View, frame: &mut Frame<'_>, area: Rect) {
    match view.page() {
        Page::Population(cursor) => match &view.overview {
            Some(_) => draw_text(&population_lines(view), *cursor, frame, area),
            None => frame.render_widget(Paragraph::new(head::waiting(view, area)), area),
        },
        Page::MadeOf(page) => match view.composition() {
            Some(_) => draw_text(&made_of::lines(view, page), page.cursor, frame, area),
            None => frame.render_widget(Paragraph::new(head::waiting(view, area)), area),
        },
        Page::Intervals(page) => intervals::draw(view, page, frame, area),
        Page::Block(page) => match &page.listing {
            Some(listing) => block::draw(page, listing, frame, area),
            None => frame.render_widget(Paragraph::new(head::waiting(view, area)), area),
        },
        Page::Stretch(page) => {
            if let Some(explained) = view.explained(page.index) {
                stretch::draw(page, &explained.outlier, frame, area);
            }
        }
        Page::Outlier(page) => {
            let waits = match page.part {
                OutlierPart::Flow => page.beside.is_none() && page.flow.flow.is_none(),
                OutlierPart::Code => page.ranges.is_none(),
                _ => false,
            };
            let Some(explained) = view.explained(page.index).filter(|_| !waits) else {
                return frame.render_widget(Paragraph::new(head::waiting(view, area)), area);
            };
            match page.part {
                OutlierPart::Verdict => draw_text(&outlier_lines(view), page.verdict, frame, area),
                OutlierPart::Baseline => draw_text(&outlier_lines(view), page.comparison, frame, area),
                OutlierPart::Code => draw_text(&outlier_lines(view), page.code, frame, area),
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
