//! The timeline: the lanes over the time in view, where the segment under the cursor lies in it, the list of segments,
//! and the evidence of that one.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::cells::wrap;
use report::{Family, OutlierReport, SegmentReport, for_terminal, length, percentage};

use super::lanes::{Chart, shown};
use super::pieces::{bold, cell, dim, family_mark, figure, fitting, in_view};
use crate::tui::lanes::owner;
use crate::tui::page::OutlierPage;
use crate::tui::segments::Line as Row;
use crate::tui::worker::Explained;

/// Lines above the list beside the lanes: axis, mark, legend, names of the columns.
const ABOVE: u16 = 4;
/// From so many columns on, the evidence stands beside the list.
const WIDE: u16 = 150;

/// Lines of the list in a body like this, where there are so many lanes.
pub(super) fn list_height(lanes: usize, body: Rect) -> u16 {
    body.height.saturating_sub(ABOVE + shown(lanes, body) + evidence_height(body)).max(1)
}

/// Lines of the evidence, where it stands below the list.
fn evidence_height(body: Rect) -> u16 {
    if body.width >= WIDE { 0 } else { (body.height / 3).saturating_sub(1).clamp(2, 12) }
}

pub(super) fn draw(page: &OutlierPage, explained: &Explained, frame: &mut Frame<'_>, area: Rect) {
    let outlier = &explained.outlier;
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let columns = usize::from(inner.width);
    let rows = page.segments.lines(outlier);
    let at = page.segments.cursor.at(rows.len());
    let current = rows.get(at).map(|row| (row.segment, owner(row.path.len().saturating_sub(1), row.segment)));
    let (view, unit) = (page.segments.view(outlier), outlier.time_unit);
    let chart = Chart { lanes: &explained.lanes, view, unit, current };
    let mut top = chart.lines(shown(explained.lanes.len(), area), columns);
    top.push(legend(outlier, columns));
    let height = u16::try_from(top.len()).unwrap_or(u16::MAX).min(inner.height);
    frame.render_widget(Paragraph::new(top), Rect { height, ..inner });
    let below = Rect { y: inner.y + height, height: inner.height - height, ..inner };
    let (list, evidence) = split(below, area);
    frame.render_widget(Paragraph::new(listing(page, &rows, outlier, list)), list);
    if let Some((segment, _)) = current {
        let lines = proof(segment, outlier, usize::from(evidence.width));
        frame.render_widget(Paragraph::new(in_short(lines, evidence)), evidence);
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

/// What is known of a segment, and from where: in `columns`.
pub(super) fn proof(segment: &SegmentReport, outlier: &OutlierReport, columns: usize) -> Vec<Line<'static>> {
    let tid = segment.tid.map_or_else(String::new, |tid| format!(", tid {tid}"));
    let edges = match segment.edge_uncertainty_ns {
        0 => String::new(),
        edge => format!(", edges ±{}", length(edge, outlier.time_unit)),
    };
    let title = format!("{}, {}{tid}{edges}", segment.cause, segment.certainty);
    let wrapped = |text: &str| wrap(&for_terminal(text), columns).into_iter().filter(|line| !line.is_empty());
    let mut lines = vec![Line::styled(cell(&title, columns), Style::new().fg(Color::Cyan))];
    lines.extend(wrapped(&segment.detail).map(Line::raw));
    if !segment.during.is_empty() {
        lines.extend(wrapped("Space shows what the thread that ended the wait did meanwhile").map(Line::raw));
    }
    let evidence = segment.evidence.iter().map(|evidence| fitting(&evidence.words(), columns));
    lines.extend(evidence.map(|words| Line::styled(words, dim())));
    lines
}

/// As much of it as there is room for.
fn in_short(mut lines: Vec<Line<'static>>, area: Rect) -> Vec<Line<'static>> {
    let height = usize::from(area.height);
    if height > 6 && lines.len() < height {
        lines.insert(1, Line::default());
    }
    if lines.len() > height && height > 0 {
        let more = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(Line::styled(format!("v shows {more} more lines"), dim()));
    }
    lines
}
