//! Where marks are missing, and which joins that makes doubtful.
//!
//! A thread's begins without a key that are open at a loss are closed: the end that comes next may be that of a begin
//! that was lost. An interval with a key that spans a loss is doubtful only where keys are used again: then its begin
//! and its end may belong to two intervals, of which the end and the begin between were lost.

use std::collections::HashMap;

use model::{ThreadId, Tsc};

/// Marks that a program made and its file does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Whose they were; `None` where they may be of any thread.
    pub thread: Option<ThreadId>,
    /// The time of the first one, or the last time before it that is known.
    pub first: Tsc,
    /// The time of the last one.
    pub last: Tsc,
}

/// How many losses a thread has had so far, and until when its marks are not complete.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u64,
    until: Option<Tsc>,
}

/// All losses of a source, passed in order of time.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// In order of their first times.
    all: Vec<Loss>,
    /// For each, the latest `last` of those up to it.
    latest: Vec<Tsc>,
    passed: usize,
    threads: HashMap<ThreadId, Seen>,
    anywhere: Seen,
}

impl Losses {
    pub(super) fn new(mut all: Vec<Loss>) -> Losses {
        all.sort_by_key(|loss| (loss.first, loss.last, loss.thread));
        let latest = all.iter().scan(Tsc(0), |latest, loss| {
            *latest = loss.last.max(*latest);
            Some(*latest)
        });
        Losses { latest: latest.collect(), all, ..Losses::default() }
    }

    /// Passes the losses that begin before `at`; a mark of the same tick was made before its thread lost one.
    pub(super) fn pass(&mut self, at: Tsc) {
        while let Some(loss) = self.all.get(self.passed).filter(|loss| loss.first < at) {
            let seen = match loss.thread {
                Some(thread) => self.threads.entry(thread).or_default(),
                None => &mut self.anywhere,
            };
            seen.count += 1;
            seen.until = seen.until.max(Some(loss.last));
            self.passed += 1;
        }
    }

    /// Passes those that are left.
    pub(super) fn pass_all(&mut self) {
        self.pass(Tsc(u64::MAX));
    }

    /// How many losses `thread` has had: what was opened at a lower number is not complete.
    pub(super) fn count(&self, thread: Option<ThreadId>) -> u64 {
        self.anywhere.count + self.of(thread).count
    }

    /// Whether marks of `thread` are missing after `at` in a loss that has begun.
    pub(super) fn lasts(&self, thread: Option<ThreadId>, at: Tsc) -> bool {
        self.anywhere.until.max(self.of(thread).until) > Some(at)
    }

    /// Whether marks of any thread are missing between two times.
    pub(super) fn any_between(&self, start: Tsc, stop: Tsc) -> bool {
        let begun = self.all.partition_point(|loss| loss.first < stop);
        begun.checked_sub(1).is_some_and(|last| self.latest[last] > start)
    }

    fn of(&self, thread: Option<ThreadId>) -> Seen {
        if self.threads.is_empty() {
            return Seen::default();
        }
        thread.and_then(|thread| self.threads.get(&thread)).copied().unwrap_or_default()
    }
}
