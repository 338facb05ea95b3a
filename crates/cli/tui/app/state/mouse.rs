//! What the mouse does: the wheel moves, a click goes to a line or a part, another one on the same line opens it.
//!
//! The right button goes back. In front of a page only the wheel counts.

use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::State;
use crate::tui::app::message::Effect;
use crate::tui::pages::keys::Action;
use crate::tui::pages::layout::{list, rows};
use crate::tui::pages::page::{BlockPart, OutlierPart, Page};
use crate::tui::pages::pieces::tab_at;

/// Lines that one notch of the wheel moves.
const NOTCH: isize = 3;

impl State {
    pub(super) fn point(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let is_overlaid = self.view.overlay.is_some();
        match mouse.kind {
            MouseEventKind::ScrollUp if is_overlaid => return self.press(KeyCode::Up.into()),
            MouseEventKind::ScrollDown if is_overlaid => return self.press(KeyCode::Down.into()),
            MouseEventKind::ScrollUp => self.step(-NOTCH),
            MouseEventKind::ScrollDown => self.step(NOTCH),
            MouseEventKind::Down(MouseButton::Left) if !is_overlaid => {
                return self.click(mouse.column, mouse.row);
            }
            MouseEventKind::Down(MouseButton::Right) if !is_overlaid => {
                self.view.notice = None;
                return self.act(Action::Back);
            }
            _ => {}
        }
        Vec::new()
    }

    /// With the left button, at this column and row of the screen.
    fn click(&mut self, column: u16, row: u16) -> Vec<Effect> {
        self.view.notice = None;
        let (width, height) = self.view.size;
        let [_, top, body, _] = rows(&self.view, Rect { x: 0, y: 0, width, height });
        if row >= top.y && row + 1 == top.y + top.height {
            return self.part_at(column).map_or_else(Vec::new, |part| self.act(Action::Part(part)));
        }
        if row < body.y || row >= body.y + body.height || self.view.overview.is_none() {
            return Vec::new();
        }
        if matches!(self.view.page(), Page::Population(_)) {
            return self.act(Action::Open);
        }
        let Some(list) = list(&self.view, body) else { return Vec::new() };
        let Some(line) = usize::from(row).checked_sub(usize::from(list.y)) else { return Vec::new() };
        let place = list.top + line;
        if place >= list.count {
            return Vec::new();
        }
        if place == list.at {
            return self.act(Action::Open);
        }
        let (to, from) = (isize::try_from(place).unwrap_or(0), isize::try_from(list.at).unwrap_or(0));
        self.step(to - from);
        Vec::new()
    }

    /// The part of the page whose name stands at this column.
    fn part_at(&self, column: u16) -> Option<usize> {
        let columns = self.view.size.0;
        match self.view.page() {
            Page::Outlier(page) => {
                tab_at(OutlierPart::ALL.iter().map(|part| part.name()), page.part as usize, columns, column)
            }
            Page::Block(page) => {
                tab_at(BlockPart::ALL.iter().map(|part| part.name()), page.part as usize, columns, column)
            }
            Page::Population(_) | Page::MadeOf(_) | Page::Intervals(_) | Page::Stretch(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::tui::app::message::Message;
    use crate::tui::pages::keys::Place;
    use crate::tui::testing::sample::{after, opened};

    fn mouse(state: &mut State, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Effect> {
        state.update(Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
    }

    const LEFT: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

    #[test]
    fn a_click_goes_to_a_line_and_another_one_opens_it() {
        let mut state = opened((80, 24));
        mouse(&mut state, LEFT, (5, 12));
        assert_eq!(state.view.place(), Place::Intervals);
        let at = |state: &State| match state.view.page() {
            Page::Intervals(page) => page.cursor.at(page.listed.len()),
            _ => usize::MAX,
        };
        // Title, three lines of header, then the list.
        assert!(mouse(&mut state, LEFT, (5, 5)).is_empty());
        assert_eq!((state.view.place(), at(&state)), (Place::Intervals, 1));
        let effects = mouse(&mut state, LEFT, (60, 5));
        assert!(matches!(effects[..], [Effect::Ask(_)]), "{effects:?}");
        assert_eq!(state.view.place(), Place::Verdict);
        mouse(&mut state, MouseEventKind::Down(MouseButton::Right), (0, 0));
        assert_eq!(state.view.place(), Place::Intervals);
        // Below the list is nothing.
        assert!(mouse(&mut state, LEFT, (5, 22)).is_empty());
        mouse(&mut state, MouseEventKind::ScrollUp, (0, 0));
        assert_eq!(at(&state), 0);
        mouse(&mut state, MouseEventKind::ScrollDown, (0, 0));
        assert!(at(&state) > 0);
    }

    #[test]
    fn the_names_of_parts_can_be_clicked() {
        let mut state = after((100, 30), "\n\n2");
        assert_eq!(state.view.place(), Place::Timeline);
        // ` 1 Verdict   2 Timeline   3 Calls `, below title and headline.
        mouse(&mut state, LEFT, (27, 2));
        assert_eq!(state.view.place(), Place::Calls);
        mouse(&mut state, LEFT, (3, 2));
        assert_eq!(state.view.place(), Place::Verdict);
        mouse(&mut state, LEFT, (99, 1));
        assert_eq!(state.view.place(), Place::Verdict);
    }
}
