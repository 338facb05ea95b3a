//! The timeline's lanes: titles to the left, time to the right, and where the segment under the cursor lies.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use report::cells::width;
use report::{Family, SegmentReport, for_terminal, strip};

use crate::tui::pages::lanes::{Lane, Owner};
use crate::tui::pages::painted;
use crate::tui::pages::pieces::{bold, cell, dim, family_style, fitting};

/// Titles are not wider than this.
const WIDEST_TITLE: usize = 20;
/// What is drawn.
pub(super) struct Chart<'l> {
    pub(super) lanes: &'l [Lane],
    /// The stretch in view.
    pub(super) view: (u64, u64),
    pub(super) unit: report::TimeUnit,
    /// The segment under the cursor, and whose lane it is in.
    pub(super) current: Option<(&'l SegmentReport, Owner)>,
}

impl Chart<'_> {
    /// Axis, lanes and the mark below them, in `columns`; `room` lanes at most, that of the cursor among them.
    pub(super) fn lines(&self, room: u16, columns: usize) -> Vec<Line<'static>> {
        let room = usize::from(room);
        let owner = self.current.map(|(_, owner)| owner);
        let mut picked: Vec<&Lane> = self.lanes.iter().take(room).collect();
        if let Some(lane) = self.lanes.iter().skip(room).find(|lane| Some(lane.owner) == owner)
            && let Some(last) = picked.last_mut()
        {
            *last = lane;
        }
        let widest = self.lanes.iter().map(|lane| width(&for_terminal(&lane.title))).max().unwrap_or(0);
        let gutter = widest.min(WIDEST_TITLE).min(columns / 4);
        let time = columns.saturating_sub(gutter + 1).max(1);
        let axis = report::axis(self.view, self.unit, time, painted::style(u16::MAX));
        let mut lines = vec![Line::styled(format!("{} {axis}", " ".repeat(gutter)), dim())];
        lines.extend(picked.iter().map(|lane| {
            let is_current = Some(lane.owner) == owner;
            let mut spans = bars(lane, self.view, time);
            let style = if is_current { bold() } else { dim() };
            spans.insert(0, Span::styled(format!("{} ", cell(&lane.title, gutter)), style));
            Line::from(spans)
        }));
        let more = match self.lanes.len().saturating_sub(room) {
            0 => String::new(),
            more => format!("{more} more"),
        };
        let mark = self.current.and_then(|(segment, _)| mark(segment, self.view, time)).unwrap_or_default();
        lines.push(Line::from(vec![
            Span::styled(format!("{} ", cell(&more, gutter)), dim()),
            Span::styled(mark, bold()),
        ]));
        lines
    }
}

/// A lane's cells: families by letter and colour, others by name.
fn bars(lane: &Lane, view: (u64, u64), columns: usize) -> Vec<Span<'static>> {
    let own = strip(&lane.segments, view, columns);
    let others = lane.others_in(view, columns);
    let cells: Vec<(Option<Family>, Option<usize>)> = own
        .into_iter()
        .zip(others)
        .map(|(family, other)| (family, other.filter(|_| family.is_none())))
        .collect();
    let runs = cells.chunk_by(|a, b| a == b);
    runs.map(|run| match run[0] {
        (Some(family), _) => Span::styled(family.letter().repeat(run.len()), family_style(family)),
        (None, Some(other)) => named(&lane.others[other].name, run.len()),
        (None, None) => Span::raw(" ".repeat(run.len())),
    })
    .collect()
}

/// Somebody else, named as far as there is room: `writer-----`.
fn named(name: &str, columns: usize) -> Span<'static> {
    let name = fitting(name, columns);
    let rest = "-".repeat(columns.saturating_sub(width(&name)));
    Span::styled(format!("{name}{rest}"), Style::new().add_modifier(Modifier::DIM))
}

/// Where a segment lies in the view: a mark below its cells, at least one column wide; `None` where it does not.
fn mark(segment: &SegmentReport, (from, to): (u64, u64), columns: usize) -> Option<String> {
    let column = |at: u64| {
        let inside = u128::from(at.clamp(from, to) - from);
        usize::try_from(inside * columns as u128 / u128::from((to - from).max(1))).unwrap_or(columns)
    };
    let end = segment.offset_ns.saturating_add(segment.duration_ns);
    if end < from || segment.offset_ns > to {
        return None;
    }
    let begin = column(segment.offset_ns).min(columns.saturating_sub(1));
    let width = column(end).saturating_sub(begin).max(1);
    Some(format!("{}{}", " ".repeat(begin), "▲".repeat(width)))
}
