//! The report's text with its colours, as lines of the screen.
//!
//! Input: what `report` renders: escaped text, in which only its own colours stand, each `ESC [ codes m`, text, reset.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use report::cells::width;

/// How `report` shall render for this screen; what the terminal lacks is taken away when all is drawn.
pub(crate) fn style(width: u16) -> report::Style {
    report::Style { width: usize::from(width), color: true, unicode: true }
}

/// The lines of `text`.
pub(crate) fn lines(text: &str) -> Vec<Line<'static>> {
    text.lines().map(line).collect()
}

fn line(text: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::new();
    for (index, part) in text.split("\u{1b}[").enumerate() {
        let shown = match part.split_once('m').filter(|_| index > 0) {
            Some((codes, rest)) => {
                style = style_of(codes);
                rest
            }
            None => part,
        };
        if !shown.is_empty() {
            spans.push(Span::styled(shown.to_owned(), style));
        }
    }
    Line::from(spans)
}

/// The sixteen colours and the attributes that `report` uses.
fn style_of(codes: &str) -> Style {
    codes.split(';').filter_map(|code| code.parse::<u8>().ok()).fold(Style::new(), |style, code| match code {
        1 => style.add_modifier(Modifier::BOLD),
        2 => style.add_modifier(Modifier::DIM),
        30..=37 => style.fg(Color::Indexed(code - 30)),
        40..=47 => style.bg(Color::Indexed(code - 40)),
        90..=97 => style.fg(Color::Indexed(code - 90 + 8)),
        100..=107 => style.bg(Color::Indexed(code - 100 + 8)),
        _ => Style::new(),
    })
}

/// `lines` in `columns`: the report has a least width, and what is longer than the screen goes on in the next line.
pub(crate) fn folded(lines: Vec<Line<'static>>, columns: u16) -> Vec<Line<'static>> {
    let columns = usize::from(columns.max(1));
    lines
        .into_iter()
        .flat_map(|line| if line.width() <= columns { vec![line] } else { fold(&line, columns) })
        .collect()
}

fn fold(line: &Line<'_>, columns: usize) -> Vec<Line<'static>> {
    let mut folded = vec![Line::default()];
    let mut used = 0;
    for span in &line.spans {
        let mut rest = String::new();
        for character in span.content.chars() {
            let wide = width(character.encode_utf8(&mut [0; 4]));
            if used + wide > columns {
                push(&mut folded, &mut rest, span.style);
                folded.push(Line::default());
                used = 0;
            }
            used += wide;
            rest.push(character);
        }
        push(&mut folded, &mut rest, span.style);
    }
    folded
}

fn push(lines: &mut [Line<'static>], text: &mut String, style: Style) {
    if let Some(last) = lines.last_mut().filter(|_| !text.is_empty()) {
        last.spans.push(Span::styled(std::mem::take(text), style));
    }
}

/// The text of a line.
pub(crate) fn plain(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| &*span.content).collect()
}

#[cfg(test)]
mod tests;
