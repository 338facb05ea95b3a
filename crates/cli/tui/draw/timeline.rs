//! The timeline: the lanes over the time in view, where the segment under the cursor lies in it, the list of segments,
//! and the evidence of that one.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{Family, OutlierReport, length, percentage};

use super::lanes::Chart;
use crate::tui::pages::explained::Explained;
use crate::tui::pages::lanes::owner;
use crate::tui::pages::layout::{evidence_height, lanes_shown};
use crate::tui::pages::page::OutlierPage;
use crate::tui::pages::pieces::{Times, bold, dim, family_mark, figure, fitting, in_view, times_in_view};
use crate::tui::pages::reading::proof;
use crate::tui::pages::segments::Line as Row;

pub(super) fn draw(page: &OutlierPage, explained: &Explained, frame: &mut Frame<'_>, area: Rect) {
    let outlier = &explained.outlier;
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let columns = usize::from(inner.width);
    let rows = page.segments.lines(outlier);
    let at = page.segments.cursor.at(rows.len());
    let current = rows.get(at).map(|row| (row.segment, owner(row.path.len().saturating_sub(1), row.segment)));
    let (view, unit) = (page.segments.view(outlier), outlier.time_unit);
    let chart = Chart { lanes: &explained.lanes, view, unit, current };
    let mut top = chart.lines(lanes_shown(explained.lanes.len(), area), columns);
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
pub(super) fn split(below: Rect, body: Rect) -> (Rect, Rect) {
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
    let offset = |row: &Row<'_>| row.segment.offset_ns;
    let offsets = times_in_view(rows, page.segments.cursor, area, outlier.time_unit, offset);
    let at = figure("at", offsets.columns);
    let names = format!("  {at} {}  CPU  {} segment", figure("for", 9), figure("share", 5));
    let mut lines = vec![Line::styled(names, dim())];
    lines.extend(in_view(rows, page.segments.cursor, area, |row| line(row, outlier, offsets, area.width)));
    lines
}

fn line(row: &Row<'_>, outlier: &OutlierReport, offsets: Times, columns: u16) -> Line<'static> {
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
        offsets.figure(segment.offset_ns),
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

/// As much of it as there is room for.
pub(super) fn in_short(mut lines: Vec<Line<'static>>, area: Rect) -> Vec<Line<'static>> {
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
