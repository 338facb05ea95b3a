//! The list of intervals, as far as it fits.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::tui::pages::interval_table::line;
use crate::tui::pages::intervals::IntervalsPage;
use crate::tui::pages::pieces::{dim, selected};
use crate::tui::pages::view::View;

pub(super) fn draw(view: &View, page: &IntervalsPage, frame: &mut Frame<'_>, area: Rect) {
    let Some(overview) = &view.overview else { return };
    let height = usize::from(area.height);
    let at = page.cursor.at(page.listed.len());
    let top = page.cursor.top(page.listed.len(), height);
    let shown = page.listed.iter().enumerate().skip(top).take(height);
    let mut lines: Vec<Line<'static>> = shown
        .filter_map(|(place, &row)| Some((place, overview.rows.get(row)?)))
        .map(|(place, row)| selected(line(view, page, row, area.width), place == at, area.width))
        .collect();
    if lines.is_empty() {
        let none =
            if page.filter.is_empty() { "none is chosen: press a for all" } else { "none passes the filter" };
        lines.push(Line::styled(format!("   {none}"), dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}
