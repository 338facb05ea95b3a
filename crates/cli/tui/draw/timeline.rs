//! The timeline: a strip of the time in view, where the segment under the cursor lies in it, the list of segments, and
//! the evidence of that one.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::cells::wrap;
use report::{Family, OutlierReport, SegmentReport, for_terminal, length, percentage};

use super::pieces::{bold, cell, dim, family_mark, figure, fitting, in_view, strip};
use crate::tui::page::OutlierPage;
use crate::tui::painted;
use crate::tui::segments::Line as Row;

/// Lines above the list: axis, strip, mark, legend, names of the columns.
const ABOVE: u16 = 5;
/// From so many columns on, the evidence stands beside the list.
const WIDE: u16 = 150;

/// Lines of the list in a body like this.
pub(super) fn list_height(body: Rect) -> u16 {
    body.height.saturating_sub(ABOVE + evidence_height(body)).max(1)
}

/// Lines of the evidence, where it stands below the list.
fn evidence_height(body: Rect) -> u16 {
    if body.width >= WIDE { 0 } else { (body.height / 3).clamp(3, 12) }
}

pub(super) fn draw(page: &OutlierPage, outlier: &OutlierReport, frame: &mut Frame<'_>, area: Rect) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let view = page.segments.view(outlier);
    let columns = usize::from(inner.width);
    let axis = report::axis(view, outlier.time_unit, columns, painted::style(inner.width));
    let rows = page.segments.lines(outlier);
    let at = page.segments.cursor.at(rows.len());
    let current = rows.get(at).map(|row| row.segment);
    let top = vec![
        Line::styled(axis, dim()),
        strip(&outlier.segments, view, columns),
        current.map_or_else(Line::default, |segment| mark(segment, view, columns)),
        legend(outlier, columns),
    ];
    frame.render_widget(Paragraph::new(top), Rect { height: 4.min(inner.height), ..inner });
    let below = Rect { y: inner.y + 4, height: inner.height.saturating_sub(4), ..inner };
    let (list, evidence) = split(below, area);
    frame.render_widget(Paragraph::new(listing(page, &rows, outlier, list)), list);
    if let Some(segment) = current {
        frame.render_widget(Paragraph::new(proof(segment, outlier, evidence)), evidence);
    }
}

/// List and evidence: one above the other, or side by side.
fn split(below: Rect, body: Rect) -> (Rect, Rect) {
    let lines = evidence_height(body);
    if lines == 0 {
        let left = below.width * 3 / 5;
        return (
            Rect { width: left, ..below },
            Rect { x: below.x + left + 2, width: below.width.saturating_sub(left + 2), ..below },
        );
    }
    let list = below.height.saturating_sub(lines);
    (Rect { height: list, ..below }, Rect { y: below.y + list, height: lines, ..below })
}

/// Where a segment lies in the view: a mark below its cells, at least one column wide.
fn mark(segment: &SegmentReport, (from, to): (u64, u64), columns: usize) -> Line<'static> {
    let column = |at: u64| {
        let inside = u128::from(at.clamp(from, to) - from);
        usize::try_from(inside * columns as u128 / u128::from((to - from).max(1))).unwrap_or(columns)
    };
    let end = segment.offset_ns.saturating_add(segment.duration_ns);
    if end < from || segment.offset_ns > to {
        return Line::default();
    }
    let begin = column(segment.offset_ns).min(columns.saturating_sub(1));
    let width = column(end).saturating_sub(begin).max(1);
    Line::styled(format!("{}{}", " ".repeat(begin), "▲".repeat(width)), bold())
}

/// The families by their time, as many as fit.
fn legend(outlier: &OutlierReport, columns: usize) -> Line<'static> {
    let mut times: BTreeMap<Family, u64> = BTreeMap::new();
    for segment in &outlier.segments {
        let time = times.entry(Family::of(&segment.cause)).or_default();
        *time = time.saturating_add(segment.duration_ns);
    }
    let mut order: Vec<(Family, u64)> = times.into_iter().collect();
    order.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    let mut spans = Vec::new();
    let mut used = 0;
    for (family, time) in order {
        let text = format!(
            " {} {} {}   ",
            family.name(),
            length(time, outlier.time_unit),
            percentage(time, outlier.duration_ns)
        );
        used += 1 + text.chars().count();
        if used > columns + 3 {
            break;
        }
        spans.extend([family_mark(family), Span::raw(text)]);
    }
    Line::from(spans)
}

fn listing(page: &OutlierPage, rows: &[Row<'_>], outlier: &OutlierReport, area: Rect) -> Vec<Line<'static>> {
    let names = format!("  {} {}  CPU  {} segment", figure("at", 9), figure("for", 9), figure("share", 5));
    let mut lines = vec![Line::styled(names, dim())];
    lines.extend(in_view(rows, page.segments.cursor, area, |row| line(row, outlier, area.width)));
    lines
}

fn line(row: &Row<'_>, outlier: &OutlierReport, columns: u16) -> Line<'static> {
    let segment = row.segment;
    let unit = outlier.time_unit;
    let cpu = segment.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    let fold = match (segment.during.is_empty(), row.is_unfolded) {
        (true, _) => " ",
        (false, true) => "▾",
        (false, false) => "▸",
    };
    let depth = row.path.len().saturating_sub(1);
    let figures = format!(
        " {} {}  {}  {} {}{fold}",
        figure(&length(segment.offset_ns, unit), 9),
        figure(&length(segment.duration_ns, unit), 9),
        figure(&cpu, 3),
        figure(&percentage(segment.duration_ns, outlier.duration_ns), 5),
        "  ".repeat(depth),
    );
    let room = usize::from(columns).saturating_sub(figures.chars().count() + 3);
    let cause = fitting(&segment.cause, room);
    let rest = room.saturating_sub(report::cells::width(&cause) + 2);
    let detail = if rest > 8 { format!("  {}", fitting(&segment.detail, rest)) } else { String::new() };
    Line::from(vec![
        Span::raw(" "),
        family_mark(Family::of(&segment.cause)),
        Span::raw(figures),
        Span::styled(cause, bold()),
        Span::styled(detail, dim()),
    ])
}

/// What is known of a segment, and from where.
fn proof(segment: &SegmentReport, outlier: &OutlierReport, area: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(area.width);
    let tid = segment.tid.map_or_else(String::new, |tid| format!(", tid {tid}"));
    let edges = match segment.edge_uncertainty_ns {
        0 => String::new(),
        edge => format!(", edges ±{}", length(edge, outlier.time_unit)),
    };
    let title = format!("{}, {}{tid}{edges}", segment.cause, segment.certainty);
    let mut lines = vec![Line::styled(cell(&title, columns), Style::new().fg(Color::Cyan)), Line::default()];
    lines.truncate(if area.height < 6 { 1 } else { 2 });
    lines.extend(
        wrap(&for_terminal(&segment.detail), columns)
            .into_iter()
            .filter(|line| !line.is_empty())
            .map(Line::raw),
    );
    if !segment.during.is_empty() {
        lines.push(Line::raw(fitting(
            "Space shows what the thread that ended the wait did meanwhile",
            columns,
        )));
    }
    lines.extend(
        segment.evidence.iter().map(|evidence| Line::styled(fitting(&evidence.words(), columns), dim())),
    );
    let height = usize::from(area.height);
    if lines.len() > height && height > 0 {
        let more = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(Line::styled(format!("and {more} more lines: the JSON report has all"), dim()));
    }
    lines
}
