//! What was executed, in order of time: runs through functions, their blocks, and what came between.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{OutlierReport, TimeUnit, counted, length};

use crate::tui::pages::flow::{BlockUse, Mark, Run};
use crate::tui::pages::flow_list::FlowLine;
use crate::tui::pages::page::OutlierPage;
use crate::tui::pages::pieces::{Times, dim, figure, fitting, selected};

/// How the offsets of these lines are written.
fn offsets(lines: &[FlowLine<'_>], unit: TimeUnit) -> Times {
    let offset = |line: &FlowLine<'_>| match line {
        FlowLine::Run(run, ..) => Some(run.offset),
        FlowLine::Mark(mark) => Some(mark.offset),
        FlowLine::Block(..) => None,
    };
    Times::of(lines.iter().filter_map(offset), unit, 10)
}

pub(super) fn draw(page: &OutlierPage, outlier: &OutlierReport, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height).saturating_sub(1);
    let count = page.flow.count();
    let at = page.flow.cursor.at(count);
    let top = page.flow.cursor.top(count, height);
    let unit = outlier.time_unit;
    let shown = page.flow.lines(top, height);
    let offsets = offsets(&shown, unit);
    let names = format!(
        " {} {}  CPU {} {}   function",
        figure("at", offsets.columns),
        figure("for", 10),
        figure("blocks", 8),
        figure("insns", 9)
    );
    let mut lines = vec![Line::styled(fitting(&names, usize::from(area.width)), dim())];
    lines.extend(shown.into_iter().enumerate().map(|(place, row)| {
        let line = match row {
            FlowLine::Run(run, is_unfolded, hidden) => {
                of_run(run, (is_unfolded, hidden), (offsets, unit), area.width)
            }
            FlowLine::Block(run, used) => of_block(run, used, (offsets, unit), area.width),
            FlowLine::Mark(mark) => of_mark(mark, offsets, area.width),
        };
        selected(line, top + place == at, area.width)
    }));
    if count == 0 {
        lines.push(Line::raw("   nothing of this time was decoded"));
    } else if page.flow.flow.as_ref().is_some_and(|flow| flow.is_cut) && lines.len() > height {
        let last = lines.len() - 1;
        if top + height >= count {
            let cut = "   there is more: open the flow of one segment on the timeline";
            lines[last] = Line::styled(fitting(cut, usize::from(area.width)), Style::new().fg(Color::Yellow));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Columns that a call stands to the right of its caller, in at most one part in so many of what there is room for.
const STEP: usize = 2;
const DEEP: usize = 2;

fn of_run(
    run: &Run,
    (is_unfolded, hidden): (bool, usize),
    (offsets, unit): (Times, TimeUnit),
    columns: u16,
) -> Line<'static> {
    let cpu = run.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    let figures = format!(
        " {} {}  {} {} {} ",
        offsets.figure(run.offset),
        figure(&length(run.duration, unit), 10),
        figure(&cpu, 3),
        figure(&run.executions.to_string(), 8),
        figure(&run.instructions.to_string(), 9),
    );
    let room = usize::from(columns).saturating_sub(figures.chars().count() + 2);
    let margin = (run.depth * STEP).min(room / DEEP);
    let room = room - margin;
    let name = match hidden {
        0 => run.function.to_string(),
        rows => format!("{} (+{})", run.function, counted(rows as u64, "row")),
    };
    let colour = if run.is_kernel { Style::new().fg(Color::Yellow) } else { Style::new() };
    Line::from(vec![
        Span::raw(figures),
        Span::raw(" ".repeat(margin)),
        Span::styled(if is_unfolded { "▾ " } else { "▸ " }, dim()),
        Span::styled(fitting(&name, room), colour),
    ])
}

fn of_block(run: &Run, used: &BlockUse, (offsets, unit): (Times, TimeUnit), columns: u16) -> Line<'static> {
    let block = &used.block;
    let text = format!(
        " {} {}  {} {} {}     {:#x} to {:#x}",
        figure("", offsets.columns),
        figure(&length(used.duration, unit), 10),
        figure("", 3),
        figure(&format!("×{}", used.executions), 8),
        figure(&block.instructions.to_string(), 9),
        block.ip,
        block.end_ip,
    );
    let is_longest = run.blocks.iter().all(|other| other.duration <= used.duration);
    let style = if is_longest && run.blocks.len() > 1 { Style::new().fg(Color::Cyan) } else { dim() };
    Line::styled(fitting(&text, usize::from(columns)), style)
}

fn of_mark(mark: &Mark, offsets: Times, columns: u16) -> Line<'static> {
    let figures = format!(" {}   ", offsets.figure(mark.offset));
    let room = usize::from(columns).saturating_sub(figures.len());
    let text = Span::styled(fitting(&mark.text, room), Style::new().fg(Color::Magenta));
    Line::from(vec![Span::raw(figures), text])
}
