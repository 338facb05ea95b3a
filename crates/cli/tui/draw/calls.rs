//! The call tree against typical.

use model::CallLayer;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{OutlierReport, length, percentage};

use crate::tui::pages::call_list::CallLine;
use crate::tui::pages::page::OutlierPage;
use crate::tui::pages::pieces::{dim, figure, fitting, in_view};

pub(super) fn draw(page: &OutlierPage, outlier: &OutlierReport, frame: &mut Frame<'_>, area: Rect) {
    let rows = page.calls.lines(&outlier.calls);
    let names = format!(
        " {} {} {} {} {}  function",
        figure("total", 10),
        figure("", 5),
        figure("typical", 10),
        figure("self", 10),
        figure("calls", 7)
    );
    let mut lines = vec![Line::styled(fitting(&names, usize::from(area.width)), dim())];
    if rows.is_empty() {
        lines.push(Line::raw("   no control flow was decoded for this interval"));
    }
    lines.extend(in_view(&rows, page.calls.cursor, area, |row| line(row, outlier, area.width)));
    frame.render_widget(Paragraph::new(lines), area);
}

fn line(row: &CallLine, outlier: &OutlierReport, columns: u16) -> Line<'static> {
    let node = &outlier.calls.nodes[row.node];
    let or_dash = |time: u64| if time == 0 { "-".to_owned() } else { length(time, outlier.time_unit) };
    let calls = if node.calls == 0 { "-".to_owned() } else { node.calls.to_string() };
    let figures = format!(
        " {} {} {} {} {}  ",
        figure(&or_dash(row.total), 10),
        figure(&percentage(row.total, outlier.duration_ns), 5),
        figure(&or_dash(row.typical), 10),
        figure(&or_dash(node.self_ns), 10),
        figure(&calls, 7),
    );
    let fold = match (row.has_calls, row.is_open) {
        (false, _) => " ",
        (true, true) => "▾",
        (true, false) => "▸",
    };
    // Deep trees keep their names in view.
    let indent = "  ".repeat(row.depth.min(usize::from(columns) / 8));
    let room = usize::from(columns).saturating_sub(figures.chars().count() + indent.len() + 2);
    let colour = match node.layer {
        CallLayer::User => Style::new(),
        CallLayer::Kernel => Style::new().fg(Color::Yellow),
        CallLayer::Waiting => Style::new().fg(Color::Magenta).add_modifier(Modifier::ITALIC),
    };
    Line::from(vec![
        Span::raw(figures),
        Span::raw(indent),
        Span::styled(fold, dim()),
        Span::raw(" "),
        Span::styled(fitting(&node.name, room), colour),
    ])
}
