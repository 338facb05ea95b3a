//! What another thread did during a wait: its parts beside typical ones, a strip over the wait, the list of what it did, and the
//! evidence of the one under the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{Family, OutlierReport, SegmentReport, TimeUnit, length};

use super::timeline::{in_short, split};
use crate::tui::pages::layout::{above_pieces, parts_shown};
use crate::tui::pages::pieces::{
    Times, bold, cell, dim, family_mark, figure, fitting, in_view, strip, times_in_view,
};
use crate::tui::pages::reading::proof;
use crate::tui::pages::stretch::{StretchPage, subject, sum_heads, sum_line, sums};

/// Columns of the part: the longest is `others-first`.
const PART: usize = 12;
/// Columns of the cause at most.
const WIDEST_CAUSE: usize = 24;

pub(super) fn draw(page: &StretchPage, outlier: &OutlierReport, frame: &mut Frame<'_>, area: Rect) {
    let Some(wait) = page.wait(outlier) else { return };
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let height = above_pieces(wait, area).min(inner.height);
    let top = above(wait, outlier.time_unit, parts_shown(area), usize::from(inner.width));
    frame.render_widget(Paragraph::new(top), Rect { height, ..inner });
    let below = Rect { y: inner.y + height, height: inner.height - height, ..inner };
    let (list, evidence) = split(below, area);
    frame.render_widget(Paragraph::new(listing(page, outlier, list)), list);
    if let Some(piece) = page.current(outlier) {
        let lines = proof(piece, outlier, usize::from(evidence.width));
        frame.render_widget(Paragraph::new(in_short(lines, evidence)), evidence);
    }
}

/// The parts, where there are any, and the strip.
fn above(wait: &SegmentReport, unit: TimeUnit, most: usize, columns: usize) -> Vec<Line<'static>> {
    let sums = sums(wait, most);
    let mut lines = Vec::new();
    if !sums.is_empty() {
        lines.push(Line::styled(fitting(&sum_heads(), columns), dim()));
        lines.extend(sums.iter().map(|sum| Line::raw(fitting(&sum_line(sum, unit), columns))));
    }
    let end = wait.offset_ns.saturating_add(wait.duration_ns.max(1));
    lines.push(strip(&wait.during, (wait.offset_ns, end), columns));
    lines
}

fn listing(page: &StretchPage, outlier: &OutlierReport, area: Rect) -> Vec<Line<'static>> {
    let pieces = page.pieces(outlier);
    let unit = outlier.time_unit;
    let offsets = times_in_view(pieces, page.cursor, area, unit, |piece| piece.offset_ns);
    let cause = pieces.iter().map(|piece| report::cells::width(&piece.cause)).max();
    let cause = cause.unwrap_or(0).min(WIDEST_CAUSE);
    let has_parts = pieces.iter().any(|piece| piece.story.part.is_some());
    let columns = Columns { offsets, part: if has_parts { PART } else { 0 }, cause, all: area.width, unit };
    let part = if has_parts { cell("part", PART + 1) } else { String::new() };
    let names = format!(
        "  {} {}  {part} {}  what",
        figure("at", offsets.columns),
        figure("for", 9),
        cell("cause", cause)
    );
    let mut lines = vec![Line::styled(fitting(&names, usize::from(area.width)), dim())];
    lines.extend(in_view(pieces, page.cursor, area, |piece| line(piece, columns)));
    lines
}

/// How wide the columns of the list are.
#[derive(Clone, Copy)]
struct Columns {
    offsets: Times,
    part: usize,
    cause: usize,
    all: u16,
    unit: TimeUnit,
}

fn line(piece: &SegmentReport, columns: Columns) -> Line<'static> {
    let mut figures = format!(
        " {} {}  ",
        columns.offsets.figure(piece.offset_ns),
        figure(&length(piece.duration_ns, columns.unit), 9)
    );
    if columns.part > 0 {
        figures.push_str(&cell(piece.story.part.map_or("", model::Part::name), columns.part + 1));
    }
    figures.push_str(if piece.during.is_empty() { " " } else { "▸" });
    let cause = cell(&piece.cause, columns.cause);
    let used = 2 + figures.chars().count() + report::cells::width(&cause);
    let rest = usize::from(columns.all).saturating_sub(used + 2);
    Line::from(vec![
        Span::raw(" "),
        family_mark(Family::of(&piece.cause)),
        Span::raw(figures),
        Span::styled(cause, bold()),
        Span::styled(format!("  {}", fitting(&subject(piece), rest)), dim()),
    ])
}
