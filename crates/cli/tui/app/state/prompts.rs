//! Keys while something stands in front of the page: help, commands to copy, a line being typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::State;
use crate::tui::app::message::Effect;
use crate::tui::pages::cursor::Cursor;
use crate::tui::pages::overlay::{Overlay, Prompt};
use crate::tui::pages::page::Page;
use crate::tui::pages::reading;

/// No search needs a longer line.
const LONGEST_LINE: usize = 200;

impl State {
    pub(super) fn press_in_overlay(&mut self, key: KeyEvent) -> Vec<Effect> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if ctrl && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        match self.view.overlay.take() {
            Some(Overlay::Prompt(prompt, line)) => {
                self.type_key(prompt, line, key);
                Vec::new()
            }
            Some(mut reading @ (Overlay::Help(_) | Overlay::Evidence(_))) => {
                let extent = reading::extent(&self.view, &reading);
                if let (Some(lines), Overlay::Help(cursor) | Overlay::Evidence(cursor)) =
                    (steps(key.code), &mut reading)
                {
                    cursor.step(lines, extent);
                    self.view.overlay = Some(reading);
                }
                Vec::new()
            }
            Some(Overlay::Yank(commands, mut cursor)) => {
                if let Some(command) = chosen(&commands, cursor, key.code, 'y') {
                    self.view.notice = Some(format!("copied: {}", command.line));
                    return vec![Effect::Copy(command.line.clone())];
                }
                if let Some(lines) = steps(key.code) {
                    cursor.step(lines, commands.len());
                    self.view.overlay = Some(Overlay::Yank(commands, cursor));
                }
                Vec::new()
            }
            Some(Overlay::Write(files, mut cursor)) => {
                if let Some(file) = chosen(&files, cursor, key.code, 'w') {
                    self.view.notice = Some(format!("writing {}{}", file.name, file.extension));
                    return vec![Effect::Write(file.clone())];
                }
                if let Some(lines) = steps(key.code) {
                    cursor.step(lines, files.len());
                    self.view.overlay = Some(Overlay::Write(files, cursor));
                }
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn type_key(&mut self, prompt: Prompt, mut line: String, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter => return self.finish_line(prompt, line),
            KeyCode::Backspace => drop(line.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => line.clear(),
            KeyCode::Char(character) if line.chars().count() < LONGEST_LINE => line.push(character),
            _ => {}
        }
        self.view.overlay = Some(Overlay::Prompt(prompt, line));
    }

    fn finish_line(&mut self, prompt: Prompt, line: String) {
        match prompt {
            Prompt::Search => {
                if !line.is_empty() {
                    self.sought = line;
                }
                self.search(true);
            }
            Prompt::Filter => {
                if let (Some(Page::Intervals(page)), Some(overview)) =
                    (self.view.pages.last_mut(), &self.view.overview)
                {
                    page.filter = line;
                    page.list(overview, &self.view.known);
                }
            }
        }
    }
}

/// The item of a list that a key chooses: its number, or Enter and the key that opened the list for the one under the cursor.
fn chosen<T>(items: &[T], cursor: Cursor, code: KeyCode, opener: char) -> Option<&T> {
    let place = match code {
        KeyCode::Enter => cursor.at(items.len()),
        KeyCode::Char(key) if key == opener => cursor.at(items.len()),
        KeyCode::Char(digit) => usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?,
        _ => return None,
    };
    items.get(place)
}

/// How many lines a key moves in a list; `None` where it closes it.
fn steps(code: KeyCode) -> Option<isize> {
    match code {
        KeyCode::Up | KeyCode::Char('k') => Some(-1),
        KeyCode::Down | KeyCode::Char('j') => Some(1),
        KeyCode::PageUp => Some(-10),
        KeyCode::PageDown => Some(10),
        _ => None,
    }
}
