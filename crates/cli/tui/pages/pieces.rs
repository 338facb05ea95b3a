//! What several pages are made of: cells of a width, marks of causes, selected lines.

use model::Diagnostic;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use report::cells::{cut, left, right, width, wrap};
use report::{Digits, Family, TimeUnit, for_terminal};

use super::cursor::Cursor;

/// Dark letters for light cells, light ones for dark cells.
const DARK: Color = Color::Rgb(0x14, 0x17, 0x1a);
const LIGHT: Color = Color::Rgb(0xf4, 0xf6, 0xf8);

/// What can be skipped.
pub(crate) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// What is read first.
pub(crate) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// `text` of the capture in exactly `columns`.
pub(crate) fn cell(text: &str, columns: usize) -> String {
    left(&fitting(text, columns), columns)
}

/// `text` of the capture in at most `columns`.
pub(crate) fn fitting(text: &str, columns: usize) -> String {
    cut(&for_terminal(text), columns, "…")
}

/// A figure in `columns`, to the right.
pub(crate) fn figure(text: &str, columns: usize) -> String {
    right(text, columns)
}

/// The colours of a family's cells.
pub(crate) fn family_style(family: Family) -> Style {
    let (red, green, blue) = family.colour();
    // Relative luminance as sRGB weighs the parts, without its curve: it only distinguishes light from dark.
    let luminance = 2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue);
    let ink = if luminance > 10_000 * 115 { DARK } else { LIGHT };
    Style::new().bg(Color::Rgb(red, green, blue)).fg(ink)
}

/// A family's letter in its colours.
pub(crate) fn family_mark(family: Family) -> Span<'static> {
    Span::styled(family.letter(), family_style(family))
}

/// A strip of `columns` over the time in view.
pub(crate) fn strip(segments: &[report::SegmentReport], view: (u64, u64), columns: usize) -> Line<'static> {
    let cells = report::strip(segments, view, columns);
    let runs = cells.chunk_by(|a, b| a == b);
    let spans = runs.map(|run| match run[0] {
        Some(family) => Span::styled(family.letter().repeat(run.len()), family_style(family)),
        None => Span::raw(" ".repeat(run.len())),
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// The lines of a list below its heading, as far as `area` shows them, the one under the cursor standing out.
pub(crate) fn in_view<T>(
    rows: &[T],
    cursor: Cursor,
    area: Rect,
    line: impl Fn(&T) -> Line<'static>,
) -> impl Iterator<Item = Line<'static>> {
    let height = usize::from(area.height).saturating_sub(1);
    let (at, top) = (cursor.at(rows.len()), cursor.top(rows.len(), height));
    let shown = rows.iter().enumerate().skip(top).take(height);
    shown.map(move |(place, row)| selected(line(row), place == at, area.width))
}

/// How the times of the lines that [`in_view`] draws are written, and as how many columns: nine at least.
pub(crate) fn times_in_view<T>(
    rows: &[T],
    cursor: Cursor,
    area: Rect,
    unit: TimeUnit,
    time: impl Fn(&T) -> u64,
) -> Times {
    let height = usize::from(area.height).saturating_sub(1);
    let shown = rows.iter().skip(cursor.top(rows.len(), height)).take(height);
    Times::of(shown.map(time), unit, 9)
}

/// Times below one another, distinguished by their digits, in a column as wide as the widest.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    digits: Digits,
    /// The column's width.
    pub(crate) columns: usize,
}

impl Times {
    /// Of `times`, in at least so many columns.
    pub(crate) fn of(times: impl Iterator<Item = u64>, unit: TimeUnit, least: usize) -> Times {
        let times: Vec<u64> = times.collect();
        let digits = Digits::of(times.iter().copied(), unit);
        let widest = times.iter().map(|&time| digits.show(time).len()).max();
        Times { digits, columns: widest.unwrap_or(0).max(least) }
    }

    /// One of them in its column.
    pub(crate) fn figure(self, time: u64) -> String {
        figure(&self.digits.show(time), self.columns)
    }
}

/// The line under the cursor stands out over the whole width, with colours or without.
pub(crate) fn selected(mut line: Line<'static>, is_selected: bool, columns: u16) -> Line<'static> {
    if !is_selected {
        return line;
    }
    let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
    line.spans.push(Span::raw(" ".repeat(usize::from(columns).saturating_sub(used))));
    let plain = line.spans.into_iter().map(|span| {
        let has_ground = span.style.bg.is_some();
        let style = if has_ground { span.style } else { Style::new().add_modifier(Modifier::REVERSED) };
        Span::styled(span.content, style)
    });
    Line::from(plain.collect::<Vec<_>>())
}

/// Names of parts, the one in view marked: ` 1 Verdict   2 Timeline `. Where they do not fit in `columns`, the others are
/// numbers.
pub(crate) fn tabs<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    at: usize,
    columns: u16,
) -> Line<'static> {
    let mut spans = Vec::new();
    for (index, text) in tab_texts(names, at, columns).into_iter().enumerate() {
        let style = if index == at { bold().add_modifier(Modifier::REVERSED) } else { dim() };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

/// The part whose name [`tabs`] writes at `column`.
pub(crate) fn tab_at<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    at: usize,
    columns: u16,
    column: u16,
) -> Option<usize> {
    let mut end = 0;
    tab_texts(names, at, columns).iter().position(|text| {
        // Each name, and the blank that follows it.
        end += width(text) + 1;
        usize::from(column) < end
    })
}

fn tab_texts<'n>(names: impl Iterator<Item = &'n str> + Clone, at: usize, columns: u16) -> Vec<String> {
    let needed: usize = names.clone().map(|name| name.len() + 5).sum();
    let text = |(index, name): (usize, &str)| {
        let is_named = needed <= usize::from(columns) + 1 || index == at;
        if is_named { format!(" {} {name} ", index + 1) } else { format!(" {} ", index + 1) }
    };
    names.enumerate().map(text).collect()
}

/// What the reader must know beside the figures.
pub(crate) fn remark(remark: &Diagnostic, columns: u16) -> Vec<Line<'static>> {
    let text = for_terminal(&format!("{}: {}", remark.severity, remark.what));
    let wrapped = wrap(&text, usize::from(columns).saturating_sub(3));
    wrapped.into_iter().map(|line| Line::styled(format!("  {line}"), dim())).collect()
}
