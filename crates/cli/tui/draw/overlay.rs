//! What stands in front of the page: the keys, and the commands to copy.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use report::cells::wrap;
use report::for_terminal;

use super::pieces::{bold, cell, dim};
use super::timeline;
use crate::tui::commands::Command;
use crate::tui::cursor::Cursor;
use crate::tui::keys::BINDINGS;
use crate::tui::page::Page;
use crate::tui::state::{Overlay, State};

/// Columns of the keys' names.
const KEYS: usize = 18;
/// Longer commands are cut; none that this program makes is.
const LONGEST_COMMAND: usize = 4096;

pub(super) fn draw(state: &State, frame: &mut Frame<'_>, area: Rect) {
    match &state.overlay {
        Some(reading @ (Overlay::Help(cursor) | Overlay::Evidence(cursor))) => {
            let (title, lines) = text(state, reading);
            let height = usize::from(area.height).saturating_sub(4).max(1);
            let top = cursor.at(lines.len()).min(lines.len().saturating_sub(height));
            let shown = lines.into_iter().skip(top).take(height).collect();
            boxed(&format!(" {title} (any other key closes) "), shown, frame, area);
        }
        Some(Overlay::Yank(commands, cursor)) => {
            let columns = usize::from(area.width).saturating_sub(6);
            boxed(" copy: Enter, or the number ", yank(commands, *cursor, columns), frame, area);
        }
        Some(Overlay::Prompt(..)) | None => {}
    }
}

/// Places of the cursor of what is read in front of the page.
pub(crate) fn reading_extent(state: &State, reading: &Overlay) -> usize {
    let height = usize::from(state.size.1).saturating_sub(4).max(1);
    (text(state, reading).1.len() + 1).saturating_sub(height).max(1)
}

/// The title and the lines of what is read in front of the page.
fn text(state: &State, reading: &Overlay) -> (String, Vec<Line<'static>>) {
    let evidence = match (reading, state.page()) {
        (Overlay::Evidence(_), Page::Outlier(page)) => state.explained(page.index).and_then(|explained| {
            let line = page.segments.current(&explained.outlier)?;
            let columns = usize::from(state.size.0).saturating_sub(6);
            Some(timeline::proof(line.segment, &explained.outlier, columns))
        }),
        _ => None,
    };
    match evidence {
        Some(lines) => ("all evidence".to_owned(), lines),
        None => (format!("keys of the {}", state.place().name()), help(state)),
    }
}

/// The table's lines that hold here, those of this place first.
fn help(state: &State) -> Vec<Line<'static>> {
    let place = state.place();
    let mut bindings: Vec<_> = BINDINGS.iter().filter(|binding| binding.applies(place)).collect();
    bindings.sort_by_key(|binding| binding.places.len());
    let line = |binding: &&crate::tui::keys::Binding| {
        Line::from(vec![Span::styled(cell(&binding.names(), KEYS), bold()), Span::raw(binding.help)])
    };
    bindings.iter().map(line).collect()
}

/// Each command with what it does, whole: what terminals do not copy can be copied by hand.
fn yank(commands: &[Command], cursor: Cursor, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let at = cursor.at(commands.len());
    for (index, command) in commands.iter().enumerate() {
        let is_current = index == at;
        let style = if is_current { bold().add_modifier(Modifier::REVERSED) } else { Style::new() };
        lines.push(Line::styled(format!("{} {}", index + 1, command.what), style));
        let line: String = command.line.chars().take(LONGEST_COMMAND).collect();
        let style = if is_current { Style::new() } else { dim() };
        lines.extend(
            wrap(&for_terminal_whole(&line), columns).into_iter().map(|line| Line::styled(line, style)),
        );
        lines.push(Line::default());
    }
    lines
}

/// Escaped piece by piece, because escaping shortens what is long.
fn for_terminal_whole(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(256).map(|piece| for_terminal(&piece.iter().collect::<String>())).collect()
}

/// A box in the middle, as large as its lines need.
fn boxed(title: &str, lines: Vec<Line<'static>>, frame: &mut Frame<'_>, area: Rect) {
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(title.len());
    let width = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let inner = Rect {
        x: place.x + 2,
        y: place.y + 1,
        width: width.saturating_sub(4),
        height: height.saturating_sub(2),
    };
    frame.render_widget(Clear, place);
    frame.render_widget(Block::bordered().title(title), place);
    frame.render_widget(Paragraph::new(lines), inner);
}
