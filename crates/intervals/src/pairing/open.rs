//! An interval whose end has not come yet, and how much of it is kept.

use model::{Counter, Stage, ThreadId, Tsc};

use super::phases::Phases;
use super::{Mark, MarkKind};

/// The most stages that one interval keeps.
pub const MOST_STAGES: usize = 64;

/// The most counters that one interval keeps.
pub const MOST_COUNTERS: usize = 256;

/// An interval whose end has not come yet.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) begin: Mark,
    /// How many losses its thread had had.
    pub(super) losses: u64,
    /// An end of the same key that came before the begin: if no other follows, the interval is negative.
    pub(super) early_end: Option<Box<Mark>>,
    pub(super) publish: Option<Tsc>,
    pub(super) stages: Vec<Stage>,
    pub(super) phases: Phases,
    pub(super) counters: Vec<Counter>,
}

impl Open {
    pub(super) fn new(mut begin: Mark, losses: u64, early_end: Option<Box<Mark>>) -> Open {
        let counters = std::mem::take(&mut begin.counters);
        Open {
            begin,
            losses,
            early_end,
            publish: None,
            stages: Vec::new(),
            phases: Phases::default(),
            counters,
        }
    }

    /// Adds what a mark inside says; false where there is no room for it.
    pub(super) fn add(
        &mut self,
        kind: MarkKind,
        at: Tsc,
        thread: Option<ThreadId>,
        counters: Vec<Counter>,
    ) -> bool {
        match kind {
            MarkKind::Publish => self.publish = Some(at),
            MarkKind::Stage(_) if self.stages.len() >= MOST_STAGES => return false,
            MarkKind::Stage(name) => self.stages.push(Stage { name: name.to_string(), start: at }),
            MarkKind::Phase(phase) if !self.phases.add(phase, at, thread) => return false,
            MarkKind::Phase(_) | MarkKind::Begin | MarkKind::End | MarkKind::Counter => {}
        }
        let room = MOST_COUNTERS.saturating_sub(self.counters.len());
        let all = counters.len() <= room;
        self.counters.extend(counters.into_iter().take(room));
        all
    }
}
