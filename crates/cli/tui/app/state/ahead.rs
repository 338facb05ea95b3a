//! What is explained while nothing else is decoded: the chosen intervals, the longest first, so that the list has its reasons; then
//! the reasons of the other outliers, so that the population has those of all.
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
        self.view.ahead.is_some() || !self.unasked.is_empty() || self.without_reasons().is_some()
    }

    /// The place of the first outlier whose reasons are not known, where there are several: one has its own page.
    fn without_reasons(&self) -> Option<usize> {
        let outliers = self
            .view
            .overview
            .as_ref()
            .filter(|_| !self.has_failed)
            .map(|overview| &overview.with_reasons)?;
        let first = outliers.iter().position(|&index| self.view.reasons_of(index).is_none())?;
        (outliers.len() > 1).then_some(first)
    }

    /// Begins with the next one, where nothing is decoded.
    pub(super) fn look_ahead(&mut self) -> Vec<Effect> {
        if self.view.task.is_some() || self.view.ahead.is_some() {
            return Vec::new();
        }
        let known = &self.view.known;
        let next = std::iter::from_fn(|| self.unasked.pop()).find(|index| !known.contains_key(index));
        let (ask, what) = match (next, self.without_reasons()) {
            (Some(index), _) => (Ask::Explain { index }, "explaining the chosen intervals"),
            (None, Some(from)) => (Ask::Reasons { from }, "looking for the reasons of all outliers"),
            (None, None) => return Vec::new(),
        };
        let watch = Arc::new(Watch::default());
        let request = Request { ask, watch: Arc::clone(&watch) };
        let what = what.to_owned();
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
