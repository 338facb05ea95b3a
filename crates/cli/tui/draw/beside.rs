//! The interval's flow next to a typical one's: what only one of them ran stands out.

use model::CallLayer;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::TimeUnit;

use crate::tui::pages::beside::{Beside, Row};
use crate::tui::pages::explained::Explained;
use crate::tui::pages::layout::ABOVE_BESIDE;
use crate::tui::pages::page::OutlierPage;
use crate::tui::pages::pieces::{bold, dim, figure, fitting, in_view};

/// Callers that are shown by indentation.
const DEEPEST: usize = 12;
pub(super) fn draw(
    page: &OutlierPage,
    beside: &Beside,
    explained: &Explained,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let unit = explained.outlier.time_unit;
    let count = explained.baselines.len();
    let typical = explained.baselines.get(page.baseline);
    let title = typical.map_or_else(String::new, |typical| {
        let cut = if beside.is_cut { "; the beginning" } else { "" };
        let place = page.baseline + 1;
        format!(" beside typical interval {place} of {count}: {} {}{cut}", typical.label, typical.id)
    });
    let columns = usize::from(area.width);
    let names =
        figures(["at", "for", "typical", "difference"].map(str::to_owned)) + "    function, by its callers";
    let lines =
        vec![Line::styled(fitting(&title, columns), dim()), Line::styled(fitting(&names, columns), dim())];
    frame.render_widget(Paragraph::new(lines), area);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let rows: Vec<Line<'static>> =
        in_view(&beside.rows, beside.cursor, list, |row| line(row, unit, area.width)).collect();
    let place = Rect { y: area.y + ABOVE_BESIDE, height: area.height.saturating_sub(ABOVE_BESIDE), ..area };
    let nothing = || vec![Line::raw("   no control flow was decoded for these intervals")];
    frame.render_widget(Paragraph::new(if rows.is_empty() { nothing() } else { rows }), place);
}

fn figures([at, length, typical, difference]: [String; 4]) -> String {
    format!(" {} {} {} {}", figure(&at, 9), figure(&length, 9), figure(&typical, 9), figure(&difference, 10))
}

fn line(row: &Row, unit: TimeUnit, columns: u16) -> Line<'static> {
    let figures = figures(row.figures(unit));
    let Some(step) = row.step() else { return Line::default() };
    let (mark, style) = match (&row.own, &row.typical) {
        (Some(_), None) => ("+", bold()),
        (None, Some(_)) => ("-", dim()),
        _ => (" ", Style::new()),
    };
    let style = match step.layer {
        CallLayer::User => style,
        CallLayer::Kernel => style.fg(Color::Yellow),
        CallLayer::Waiting => style.fg(Color::Magenta).add_modifier(Modifier::ITALIC),
    };
    let indent = " ".repeat(step.depth.min(DEEPEST).min(usize::from(columns) / 8));
    let room = usize::from(columns).saturating_sub(figures.len() + indent.len() + 3);
    Line::from(vec![
        Span::raw(figures),
        Span::styled(format!(" {mark} {indent}"), style),
        Span::styled(fitting(&step.name, room), style),
    ])
}
