//! The drilldown on the terminal: from the population down to a single block. `docs/tui.md`.
//!
//! `pages` are the models of the pages, each with its lines; `draw` puts a [`View`](pages::view::View) on the screen; `app` takes in
//! events, changes its state, and asks the thread that decodes. Both import `pages`, `app` imports `draw`, and nothing goes
//! back.

mod app;
mod draw;
mod pages;
#[cfg(test)]
mod testing;

pub(crate) use app::{give_back, run};
