//! What the screen shows: the way from the population down to the page in view, and what surrounds it.
//!
//! Invariant: there is always a page.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use analysis::capture::{Progress, Watch};
use report::{Composition, OutlierReasons, TimeUnit};

use super::ask::Ask;
use super::cursor::Cursor;
use super::explained::Explained;
use super::intervals::Known;
use super::keys::Place;
use super::overlay::Overlay;
use super::overview::{Overview, Row};
use super::page::Page;
use crate::args::AnalysisArgs;

/// What is awaited of the worker.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// In words, for the status line.
    pub(crate) what: String,
    /// How far it was at the last tick.
    pub(crate) progress: Progress,
    pub(crate) watch: Arc<Watch>,
    pub(crate) ask: Option<Ask>,
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct View {
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// The command line, for commands to paste.
    pub(crate) args: AnalysisArgs,
    /// The population; `None` until the capture is open.
    pub(crate) overview: Option<Overview>,
    /// Intervals explained so far, by index in the source.
    pub(crate) known: Known,
    /// Reasons of intervals that are not explained for themselves, by index in the source.
    pub(crate) reasons: BTreeMap<usize, OutlierReasons>,
    /// The way from the population down to the page in view; never empty.
    pub(crate) pages: Vec<Page>,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) task: Option<Task>,
    /// What is decoded though the user did not ask for it.
    pub(crate) ahead: Option<Task>,
    /// What the last key came to, until the next one.
    pub(crate) notice: Option<String>,
    /// Ticks so far: the spinner turns by it.
    pub(crate) ticks: usize,
}

impl View {
    /// Before the capture is open; `opening` holds the progress.
    pub(crate) fn new(args: AnalysisArgs, size: (u16, u16), opening: Arc<Watch>) -> View {
        let what = format!("opening {}", args.input.path().display());
        View {
            size,
            args,
            overview: None,
            known: Known::new(),
            reasons: BTreeMap::new(),
            pages: vec![Page::Population(Cursor::default())],
            overlay: None,
            task: Some(Task { what, progress: Progress::default(), watch: opening, ask: None }),
            ahead: None,
            notice: None,
            ticks: 0,
        }
    }

    /// The page in view.
    pub(crate) fn page(&self) -> &Page {
        // Never empty; the fallback keeps a bug from being a panic.
        const NONE: &Page = &Page::Population(Cursor::FIRST);
        self.pages.last().unwrap_or(NONE)
    }

    /// Where one is.
    pub(crate) fn place(&self) -> Place {
        self.page().place()
    }

    /// What the time of all intervals is made of, once they are decoded.
    pub(crate) fn composition(&self) -> Option<&Composition> {
        self.overview.as_ref()?.report.composition.as_ref()
    }

    /// The unit of every length.
    pub(crate) fn unit(&self) -> TimeUnit {
        self.overview.as_ref().map(Overview::unit).unwrap_or_default()
    }

    /// The explanation of the interval with this index, where there is one.
    pub(crate) fn explained(&self, index: usize) -> Option<&Explained> {
        self.known.get(&index).map(Rc::as_ref)
    }

    /// Why the interval with this index took its time, as far as it is known by now.
    pub(crate) fn reasons_of(&self, index: usize) -> Option<&OutlierReasons> {
        self.explained(index).map(|explained| &explained.reasons).or_else(|| self.reasons.get(&index))
    }

    /// The row of the interval with this index.
    pub(crate) fn row(&self, index: usize) -> Option<&Row> {
        self.overview.as_ref()?.rows.iter().find(|row| row.index == index)
    }
}
