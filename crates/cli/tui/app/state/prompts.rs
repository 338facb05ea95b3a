//! Keys while something stands in front of the page: help, commands to copy, a line being typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::State;
use crate::tui::app::message::Effect;
use crate::tui::pages::cursor::Cursor;
use crate::tui::pages::overlay::{Offer, Overlay, Prompt};
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
            Some(Overlay::Offer(offer, mut cursor)) => {
                if let Some(place) = chosen(&offer, cursor, key.code) {
                    return self.choose(&offer, place);
                }
                if let Some(lines) = steps(key.code) {
                    cursor.step(lines, offer.count());
                    self.view.overlay = Some(Overlay::Offer(offer, cursor));
                }
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// What is at `place` of `offer`: copied or written.
    fn choose(&mut self, offer: &Offer, place: usize) -> Vec<Effect> {
        let (notice, effect) = match offer {
            Offer::Commands(commands) => {
                let line = &commands[place].line;
                (format!("copied: {line}"), Effect::Copy(line.clone()))
            }
            Offer::Files(files) => {
                let file = &files[place];
                (format!("writing {}{}", file.name, file.extension), Effect::Write(file.clone()))
            }
        };
        self.view.notice = Some(notice);
        vec![effect]
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

/// The place of what a key chooses: its number, or Enter and the key that opened the list for the one under the cursor.
fn chosen(offer: &Offer, cursor: Cursor, code: KeyCode) -> Option<usize> {
    let count = offer.count();
    let place = match code {
        KeyCode::Enter => cursor.at(count),
        KeyCode::Char(key) if key == offer.key() => cursor.at(count),
        KeyCode::Char(digit) => usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?,
        _ => return None,
    };
    (place < count).then_some(place)
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
