//! What the program knows and shows, and how keys and answers change it. Draws nothing, decodes nothing.
//!
//! Input: [`Message`]s. Output: [`Effect`]s for the loop that owns terminal and worker. Invariant: there is always a
//! page, and at most one task whose answer is awaited; the answers of others are dropped.

mod acts;
mod prompts;
mod search;

use std::rc::Rc;
use std::sync::Arc;

use crossterm::event::{KeyEvent, KeyEventKind};

use report::TimeUnit;

use super::commands::Command;
use super::cursor::Cursor;
use super::intervals::Known;
use super::keys::{self, Place};
use super::overview::{Overview, Row};
use super::page::{OutlierPage, Page};
use super::worker::{Answer, Ask, Explained, Request};
use crate::args::AnalysisArgs;
use crate::progress::Progress;
use crate::watch::Watch;

/// What happens.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key went down.
    Key(KeyEvent),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// The worker answers.
    Answer(Answer),
    /// A moment passed.
    Tick,
}

/// What the loop shall do.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Let the worker answer this.
    Ask(Request),
    /// Put this on the clipboard.
    Copy(String),
    /// Draw everything anew.
    Redraw,
    /// Give the terminal back until the user wants to go on.
    Suspend,
    /// End.
    Quit,
}

/// What stands in front of the page.
#[derive(Clone, Debug)]
pub(crate) enum Overlay {
    /// The keys; the first line in view.
    Help(Cursor),
    /// All that is known of the segment under the cursor; the first line in view.
    Evidence(Cursor),
    /// Commands to copy.
    Yank(Vec<Command>, Cursor),
    /// A line being typed.
    Prompt(Prompt, String),
}

/// What is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// A text to look for.
    Search,
    /// Words that narrow the list.
    Filter,
}

/// What is awaited of the worker.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// In words, for the status line.
    pub(crate) what: String,
    /// How far it was at the last tick.
    pub(crate) progress: Progress,
    watch: Arc<Watch>,
    ask: Option<Ask>,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct State {
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// The command line, for commands to paste.
    pub(crate) args: AnalysisArgs,
    /// The population; `None` until the capture is open.
    pub(crate) overview: Option<Overview>,
    /// Intervals explained so far, by index in the source.
    pub(crate) known: Known,
    /// The way from the population down to the page in view; never empty.
    pub(crate) pages: Vec<Page>,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) task: Option<Task>,
    /// Indices of intervals to explain when nothing else is decoded; the next one last.
    pub(crate) queue: Vec<usize>,
    /// What the last key came to, until the next one.
    pub(crate) notice: Option<String>,
    /// What was last looked for.
    pub(crate) sought: String,
    /// Ticks so far: the spinner turns by it.
    pub(crate) ticks: usize,
}

impl State {
    /// Before the capture is open; `opening` tells how far that is.
    pub(crate) fn new(args: AnalysisArgs, size: (u16, u16), opening: Arc<Watch>) -> State {
        let what = format!("opening {}", args.input.input.display());
        State {
            size,
            args,
            overview: None,
            known: Known::new(),
            pages: vec![Page::Population(Cursor::default())],
            overlay: None,
            task: Some(Task { what, progress: Progress::default(), watch: opening, ask: None }),
            queue: Vec::new(),
            notice: None,
            sought: String::new(),
            ticks: 0,
        }
    }

    /// Takes in what happened.
    pub(crate) fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Message::Key(key) => self.press(key),
            Message::Resize(columns, rows) => {
                self.size = (columns, rows);
                Vec::new()
            }
            Message::Answer(answer) => {
                let effects = self.take(answer);
                if effects.is_empty() { self.ask_next() } else { effects }
            }
            Message::Tick => {
                self.ticks = self.ticks.wrapping_add(1);
                if let Some(task) = &mut self.task {
                    task.progress = task.watch.progress();
                }
                Vec::new()
            }
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

    /// The unit of every length.
    pub(crate) fn unit(&self) -> TimeUnit {
        self.overview.as_ref().map(Overview::unit).unwrap_or_default()
    }

    /// The explanation of the interval with this index, where there is one.
    pub(crate) fn explained(&self, index: usize) -> Option<&Explained> {
        self.known.get(&index).map(Rc::as_ref)
    }

    /// The row of the interval with this index.
    pub(crate) fn row(&self, index: usize) -> Option<&Row> {
        self.overview.as_ref()?.rows.iter().find(|row| row.index == index)
    }

    fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.notice = None;
        if self.overlay.is_some() {
            return self.press_in_overlay(key);
        }
        match keys::action(key, self.place()) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    /// Begins a task; the one before is no longer wanted.
    fn ask(&mut self, what: String, ask: Ask) -> Vec<Effect> {
        self.cancel();
        let watch = Arc::new(Watch::default());
        let request = Request { ask, watch: Arc::clone(&watch) };
        self.task = Some(Task { what, progress: Progress::default(), watch, ask: Some(ask) });
        vec![Effect::Ask(request)]
    }

    /// Stops the task, if there is one; says whether there was.
    fn cancel(&mut self) -> bool {
        let task = self.task.take();
        task.inspect(|task| task.watch.stop()).is_some()
    }

    fn take(&mut self, answer: Answer) -> Vec<Effect> {
        let awaited = self.task.as_ref().and_then(|task| task.ask);
        match (answer, awaited) {
            (Answer::Opened(overview), _) => {
                self.task = None;
                self.overview = Some(*overview);
            }
            (Answer::Explained(index, explained), awaited) => {
                self.known.insert(index, Rc::new(*explained));
                if awaited == Some(Ask::Explain { index }) {
                    self.task = None;
                    self.show_explained(index);
                    return self.ask_part_in_view();
                }
            }
            (Answer::Flow(index, flow), Some(Ask::Flow { index: wanted, range })) => {
                if index == wanted && flow.asked == range {
                    self.task = None;
                    if let Some(page) = self.outlier_page_of(index) {
                        page.flow.show(*flow);
                    }
                }
            }
            (Answer::Code(index, ranges), Some(Ask::Code { index: wanted })) if index == wanted => {
                self.task = None;
                if let Some(page) = self.outlier_page_of(index) {
                    page.ranges = Some(ranges);
                }
            }
            (Answer::Block(listing), Some(Ask::Block { used, .. })) => {
                self.task = None;
                if let Some(Page::Block(page)) = self.pages.last_mut()
                    && page.used == used
                {
                    page.looked_up(*listing);
                }
            }
            (Answer::Failed(why), _) => {
                self.task = None;
                self.notice = Some(why);
            }
            // Answers that nobody waits for any more.
            (Answer::Stopped | Answer::Flow(..) | Answer::Code(..) | Answer::Block(_), _) => {}
        }
        Vec::new()
    }

    /// Goes on with the queue, where nothing else is awaited.
    pub(crate) fn ask_next(&mut self) -> Vec<Effect> {
        while self.task.is_none() {
            let Some(index) = self.queue.pop() else { break };
            if !self.known.contains_key(&index) {
                let left = self.queue.len();
                let id = self.row(index).map_or(0, |row| row.id);
                let what = format!("decoding interval {id} and its typical ones ({left} more to go)");
                return self.ask(what, Ask::Explain { index });
            }
        }
        Vec::new()
    }

    fn show_explained(&mut self, index: usize) {
        let Some(explained) = self.known.get(&index).cloned() else { return };
        if let Some(page) = self.outlier_page_of(index) {
            page.explained(&explained.outlier);
        }
    }

    fn outlier_page_of(&mut self, index: usize) -> Option<&mut OutlierPage> {
        self.pages.iter_mut().find_map(|page| match page {
            Page::Outlier(page) if page.index == index => Some(&mut **page),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
