//! How what happens changes the state: keys and answers in, effects out.
//!
//! Input: [`Message`]s. Output: [`Effect`]s for the loop that owns terminal and worker. Invariant: there is at most one task
//! whose answer is awaited; the answers of others are dropped. What is decoded unasked (`ahead`) is no such task.

use std::rc::Rc;
use std::sync::Arc;

use analysis::capture::{Progress, Watch};
use crossterm::event::{KeyEvent, KeyEventKind};
use report::Composition;

use super::{State, ahead};
use crate::tui::app::message::{Effect, Message};
use crate::tui::app::worker::{Answer, Request};
use crate::tui::pages::ask::Ask;
use crate::tui::pages::keys;
use crate::tui::pages::made_of::MadeOfPage;
use crate::tui::pages::page::{OutlierPage, Page};
use crate::tui::pages::view::Task;

impl State {
    /// Takes in what happened.
    pub(crate) fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Message::Key(key) => self.press(key),
            Message::Mouse(mouse) => self.point(mouse),
            Message::Resize(columns, rows) => {
                self.view.size = (columns, rows);
                Vec::new()
            }
            Message::Answer(answer) => {
                let effects = self.take(answer);
                if effects.is_empty() { self.ask_next() } else { effects }
            }
            Message::Written(words) => {
                self.view.notice = Some(words);
                Vec::new()
            }
            Message::Tick => {
                self.view.ticks = self.view.ticks.wrapping_add(1);
                if let Some(task) = &mut self.view.task {
                    task.progress = task.watch.progress();
                }
                self.look_ahead()
            }
        }
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.view.notice = None;
        if self.view.overlay.is_some() {
            return self.press_in_overlay(key);
        }
        match keys::action(key, self.view.place()) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    /// Begins a task; the one before is no longer wanted.
    pub(super) fn ask(&mut self, what: String, ask: Ask) -> Vec<Effect> {
        self.cancel();
        if self.give_way(&what, ask) {
            return Vec::new();
        }
        let watch = Arc::new(Watch::default());
        let request = Request { ask, watch: Arc::clone(&watch) };
        self.view.task = Some(Task { what, progress: Progress::default(), watch, ask: Some(ask) });
        vec![Effect::Ask(request)]
    }

    /// Stops the task, if there is one; says whether there was.
    pub(super) fn cancel(&mut self) -> bool {
        let task = self.view.task.take();
        task.inspect(|task| task.watch.stop()).is_some()
    }

    fn take(&mut self, answer: Answer) -> Vec<Effect> {
        let awaited = self.view.task.as_ref().and_then(|task| task.ask);
        match (answer, awaited) {
            (Answer::Opened(overview), _) => {
                self.view.task = None;
                self.unasked = ahead::wanted(&overview);
                self.view.overview = Some(*overview);
            }
            (Answer::Explained(index, explained), awaited) => {
                self.view.known.insert(index, Rc::new(*explained));
                self.view.ahead.take_if(|ahead| ahead.ask == Some(Ask::Explain { index }));
                if awaited == Some(Ask::Explain { index }) {
                    self.view.task = None;
                    self.show_explained(index);
                    return self.ask_part_in_view();
                }
            }
            (Answer::Reasons(found), _) => {
                self.view.ahead.take_if(|ahead| matches!(ahead.ask, Some(Ask::Reasons { .. })));
                self.view.reasons.extend(found);
            }
            (Answer::MadeOf(composition), Some(Ask::MadeOf)) => {
                self.view.task = None;
                self.show_made_of(*composition);
            }
            (Answer::Flow(index, flow), Some(Ask::Flow { index: wanted, range })) => {
                if index == wanted && flow.asked == range {
                    self.view.task = None;
                    if let Some(page) = self.outlier_page_of(index) {
                        page.flow.show(*flow);
                    }
                }
            }
            (Answer::Code(index, ranges), Some(Ask::Code { index: wanted })) if index == wanted => {
                self.view.task = None;
                if let Some(page) = self.outlier_page_of(index) {
                    page.ranges = Some(ranges);
                }
            }
            (Answer::Block(listing), Some(Ask::Block { used, .. })) => {
                self.view.task = None;
                if let Some(Page::Block(page)) = self.view.pages.last_mut()
                    && page.used == used
                {
                    page.looked_up(*listing);
                }
            }
            (Answer::Failed(why), _) => {
                if self.view.task.take().is_none() {
                    let unasked = self.view.ahead.take().and_then(|ahead| ahead.ask);
                    self.has_failed |= matches!(unasked, Some(Ask::Reasons { .. }));
                }
                self.view.notice = Some(why);
            }
            // Answers that are no longer wanted.
            (
                Answer::Stopped | Answer::MadeOf(_) | Answer::Flow(..) | Answer::Code(..) | Answer::Block(_),
                _,
            ) => {}
        }
        Vec::new()
    }

    /// All intervals are decoded: whoever waits for that sees it.
    fn show_made_of(&mut self, composition: Composition) {
        if let Some(Page::MadeOf(page)) = self.view.pages.last_mut() {
            *page = MadeOfPage::of(&composition);
        }
        if let Some(overview) = &mut self.view.overview {
            overview.report.composition = Some(composition);
        }
    }

    /// Goes on with the queue, where nothing else is awaited.
    pub(super) fn ask_next(&mut self) -> Vec<Effect> {
        while self.view.task.is_none() {
            let Some(index) = self.queue.pop() else { break };
            if !self.view.known.contains_key(&index) {
                let left = self.queue.len();
                let id = self.view.row(index).map_or(0, |row| row.id);
                let what = format!("decoding interval {id} and its typical intervals ({left} more to go)");
                return self.ask(what, Ask::Explain { index });
            }
        }
        Vec::new()
    }

    pub(super) fn show_explained(&mut self, index: usize) {
        let Some(explained) = self.view.known.get(&index).cloned() else { return };
        if let Some(page) = self.outlier_page_of(index) {
            page.explained(&explained.outlier);
        }
    }

    pub(super) fn outlier_page_of(&mut self, index: usize) -> Option<&mut OutlierPage> {
        self.view.pages.iter_mut().find_map(|page| match page {
            Page::Outlier(page) if page.index == index => Some(&mut **page),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
