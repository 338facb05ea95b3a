//! What stands in front of the page: the keys, and the commands to copy.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use report::cells::wrap;
use report::for_terminal;

use crate::tui::pages::cursor::Cursor;
use crate::tui::pages::overlay::{Command, Offer, Overlay, Writing};
use crate::tui::pages::pieces::{bold, dim};
use crate::tui::pages::reading;
use crate::tui::pages::view::View;

/// Longer commands are cut; none that this program makes is.
const LONGEST_COMMAND: usize = 4096;

pub(super) fn draw(view: &View, frame: &mut Frame<'_>, area: Rect) {
    match &view.overlay {
        Some(shown @ (Overlay::Help(cursor) | Overlay::Evidence(cursor))) => {
            let (title, lines) = reading::text(view, shown);
            let height = usize::from(area.height).saturating_sub(4).max(1);
            let top = cursor.at(lines.len()).min(lines.len().saturating_sub(height));
            let shown = lines.into_iter().skip(top).take(height).collect();
            boxed(&format!(" {title} (any other key closes) "), shown, frame, area);
        }
        Some(Overlay::Offer(Offer::Commands(commands), cursor)) => {
            let columns = usize::from(area.width).saturating_sub(6);
            boxed(" copy: Enter, or the number ", yank(commands, *cursor, columns), frame, area);
        }
        Some(Overlay::Offer(Offer::Files(files), cursor)) => {
            boxed(
                " write into the current folder: Enter, or the number ",
                written(files, *cursor),
                frame,
                area,
            );
        }
        Some(Overlay::Prompt(..)) | None => {}
    }
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

/// Each file with what it is.
fn written(files: &[Writing], cursor: Cursor) -> Vec<Line<'static>> {
    let at = cursor.at(files.len());
    let line = |(index, file): (usize, &Writing)| {
        let style = if index == at { bold().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Line::styled(format!("{} {}{}  {}", index + 1, file.name, file.extension, file.what), style)
    };
    files.iter().enumerate().map(line).collect()
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
