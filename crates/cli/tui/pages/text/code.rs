//! The code in which most of the time went: per block what it cost here and typically, its instructions, their source.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use report::{HotInstruction, HotRange, SourceLine, Spent, TimeUnit, length};

use crate::tui::pages::pieces::{bold, cell, dim, figure, fitting};

/// Columns of the figures before the code.
const FIGURES: usize = 46;

/// The page's text.
pub(super) fn lines(ranges: &[HotRange], unit: TimeUnit, columns: u16) -> Vec<Line<'static>> {
    if ranges.is_empty() {
        return vec![Line::raw("  nothing of this interval's own code was decoded")];
    }
    let columns = usize::from(columns);
    let mut lines = Vec::new();
    for range in ranges {
        let title = format!(" {} in {}", range.function, range.dso);
        lines.push(Line::styled(fitting(&title, columns), bold()));
        let names = row("this", "typical", "cycles", "typical", "times");
        lines.push(Line::styled(fitting(&format!("{names}code"), columns), dim()));
        lines.push(Line::styled(format!("{}all of it", spent(&range.spent, unit)), Style::new()));
        for block in &range.blocks {
            let mut figures = spent(&block.spent, unit);
            let mut before: Option<&SourceLine> = None;
            for instruction in &block.instructions {
                lines.push(code(&figures, instruction, before, columns, &block.spent));
                figures = " ".repeat(FIGURES);
                before = instruction.line.as_ref();
            }
        }
        if range.left_out > 0 {
            let more = format!("{}and {} colder instructions", " ".repeat(FIGURES), range.left_out);
            lines.push(Line::styled(fitting(&more, columns), dim()));
        }
        lines.push(Line::default());
    }
    lines
}

fn row(this: &str, typical: &str, cycles: &str, typical_cycles: &str, times: &str) -> String {
    format!(
        "{}{}{}{}{}  ",
        figure(this, 9),
        figure(typical, 9),
        figure(cycles, 9),
        figure(typical_cycles, 9),
        figure(times, 8)
    )
}

/// Time, cycles and executions, here and typically.
fn spent(spent: &Spent, unit: TimeUnit) -> String {
    let or_dash = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let time = |time: u64| if time == 0 { "-".to_owned() } else { length(time, unit) };
    row(
        &time(spent.duration_ns),
        &time(spent.typical_ns),
        &or_dash(spent.cycles),
        &or_dash(spent.typical_cycles),
        &format!("×{}", spent.executions),
    )
}

/// An instruction, and its source where that changes.
fn code(
    figures: &str,
    instruction: &HotInstruction,
    before: Option<&SourceLine>,
    columns: usize,
    block: &Spent,
) -> Line<'static> {
    let is_slower = block.duration_ns > block.typical_ns;
    let style = if is_slower { bold() } else { dim() };
    let room = columns.saturating_sub(FIGURES);
    let wide = room >= 70;
    let text = format!("{} {}", figure(&format!("{:x}", instruction.address), 12), instruction.text);
    let line = instruction.line.as_ref().filter(|&line| wide && before != Some(line));
    let text = if wide { cell(&text, room / 2) } else { fitting(&text, room) };
    let source = line.map_or_else(String::new, |line| {
        let file = line.file.rsplit('/').next().unwrap_or("");
        format!(" {file}:{} {}", line.number, line.text.as_deref().unwrap_or("").trim())
    });
    Line::from(vec![
        Span::styled(figures.to_owned(), style),
        Span::styled(text, style),
        Span::styled(fitting(&source, room / 2), Style::new().fg(Color::Yellow)),
    ])
}
