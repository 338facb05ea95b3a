//! What is explained while nothing else is decoded: the chosen intervals, the longest first, so that the list has its reasons
//! and the population its stories.
//!
//! It begins when a moment passed in which nothing was awaited, and ends at once when the user wants something decoded.

use std::cmp::Reverse;
use std::sync::Arc;

use analysis::capture::{Progress, Watch};

use super::State;
use crate::tui::app::message::Effect;
use crate::tui::app::worker::Request;
use crate::tui::pages::ask::Ask;
use crate::tui::pages::overview::Overview;
use crate::tui::pages::view::Task;

/// Intervals that are explained unasked: each is kept in memory with its typical ones.
const MOST: usize = 100;

/// The indices of those, the next one last.
pub(super) fn wanted(overview: &Overview) -> Vec<usize> {
    let mut chosen: Vec<_> = overview.rows.iter().filter(|row| row.is_chosen).collect();
    chosen.sort_by_key(|row| (Reverse(row.duration), row.start));
    chosen.truncate(MOST);
    chosen.into_iter().rev().map(|row| row.index).collect()
}

impl State {
    /// Whether there is more to explain unasked.
    pub(crate) fn is_looking_ahead(&self) -> bool {
        self.view.ahead.is_some() || !self.unasked.is_empty()
    }

    /// Begins with the next one, where nothing is decoded.
    pub(super) fn look_ahead(&mut self) -> Vec<Effect> {
        if self.view.task.is_some() || self.view.ahead.is_some() {
            return Vec::new();
        }
        let known = &self.view.known;
        let next = std::iter::from_fn(|| self.unasked.pop()).find(|index| !known.contains_key(index));
        let Some(index) = next else { return Vec::new() };
        let (ask, watch) = (Ask::Explain { index }, Arc::new(Watch::default()));
        let request = Request { ask, watch: Arc::clone(&watch) };
        let what = "explaining the chosen intervals".to_owned();
        self.view.ahead = Some(Task { what, progress: Progress::default(), watch, ask: Some(ask) });
        vec![Effect::Ask(request)]
    }

    /// The user wants `ask`: what is decoded unasked becomes that task if it is the same, and else is stopped and comes later.
    pub(super) fn give_way(&mut self, what: &str, ask: Ask) -> bool {
        let Some(ahead) = self.view.ahead.take() else { return false };
        if ahead.ask == Some(ask) {
            self.view.task = Some(Task { what: what.to_owned(), ..ahead });
            return true;
        }
        ahead.watch.stop();
        if let Some(Ask::Explain { index }) = ahead.ask {
            self.unasked.push(index);
        }
        false
    }
}

#[cfg(test)]
mod tests;
