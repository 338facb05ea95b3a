//! The table of intervals: figures to the right, the verdict last, where it is known by now.

use ratatui::text::{Line, Span};
use report::{TimeUnit, length, reasons};

use super::intervals::{Column, IntervalsPage};
use super::overview::Row;
use super::pieces::{bold, cell, dim, figure, fitting};
use super::view::View;

/// Columns of the table, but for the verdict, which takes the rest.
struct Widths {
    id: usize,
    label: usize,
    duration: usize,
    ratio: usize,
    at: usize,
    thread: usize,
}

fn widths(page: &IntervalsPage, columns: u16) -> Widths {
    let is_wide = columns >= 110;
    let most = usize::from(columns) / 7;
    Widths {
        id: page.widest.id.max(3),
        label: page.widest.label.clamp(6, most.max(6)),
        duration: 9,
        ratio: 7,
        at: if is_wide { 15 } else { 0 },
        thread: page.widest.thread.clamp(7, most.max(7)),
    }
}

/// What is listed and how, and the names of the columns.
pub(crate) fn header(view: &View, page: &IntervalsPage, columns: u16) -> [Line<'static>; 2] {
    let all = view.overview.as_ref().map_or(0, |overview| overview.rows.len());
    let which = if page.is_everything { "all intervals" } else { "the chosen intervals" };
    let filter = if page.filter.is_empty() { String::new() } else { format!(", filter: {}", page.filter) };
    let widths = widths(page, columns);
    let arrow = if page.is_reversed { "▲" } else { "▼" };
    // A narrow list has no column for it.
    let is_hidden = widths.at == 0 && page.column == Column::Start;
    let order = if is_hidden { format!(", by their start{arrow}") } else { String::new() };
    let ahead = if view.ahead.is_some() { ", looking for reasons" } else { "" };
    let what = format!(" {which}: {} of {all} listed{filter}{order}{ahead}", page.listed.len());
    let name = |column: Column| {
        if column == page.column { format!("{}{arrow}", column.name()) } else { column.name().to_owned() }
    };
    let start = match widths.at {
        0 => String::new(),
        columns => format!("{} ", figure(&name(Column::Start), columns)),
    };
    let names = format!(
        "   {} {} {} {} {start}{} why",
        figure(&name(Column::Id), widths.id),
        cell(&name(Column::Label), widths.label),
        figure(&name(Column::Duration), widths.duration),
        figure("×median", widths.ratio),
        cell(&name(Column::Thread), widths.thread),
    );
    let fit = |text: &str| fitting(text, usize::from(columns));
    [Line::raw(fit(&what)), Line::styled(fit(&names), dim())]
}

/// A row of the table.
pub(crate) fn line(view: &View, page: &IntervalsPage, row: &Row, columns: u16) -> Line<'static> {
    let Some(overview) = &view.overview else { return Line::default() };
    let (unit, widths) = (overview.unit(), widths(page, columns));
    let mark = if row.is_chosen {
        "*"
    } else if row.is_outlier {
        "!"
    } else {
        " "
    };
    let start = match widths.at {
        0 => String::new(),
        columns => format!("{} ", figure(&start_of(row, unit), columns)),
    };
    let figures = format!(
        " {mark} {} {} {} {} {start}{} ",
        figure(&row.id.to_string(), widths.id),
        cell(&row.label, widths.label),
        figure(&length(row.duration, unit), widths.duration),
        figure(&ratio(row.duration, overview.report.population.percentiles.p50), widths.ratio),
        cell(&row.thread, widths.thread),
    );
    let used = report::cells::width(&figures);
    let room = usize::from(columns).saturating_sub(used);
    let why = match view.explained(row.index) {
        Some(explained) => Span::styled(fitting(&reasons(&explained.outlier), room), bold()),
        None => Span::styled(fitting("·", room), dim()),
    };
    Line::from(vec![Span::raw(figures), why])
}

/// `45.7`: how many medians long.
fn ratio(duration: u64, median: u64) -> String {
    if median == 0 {
        return "-".to_owned();
    }
    let tenths = u128::from(duration) * 10 / u128::from(median);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn start_of(row: &Row, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Nanoseconds => model::PerfTime(row.start).to_string(),
        TimeUnit::Ticks => row.start.to_string(),
    }
}
