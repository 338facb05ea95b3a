//! What the user measures: one interval, between two marks.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::label::Label;
use crate::number::Number;
use crate::place::{FileOffset, ThreadId};
use crate::time::{Ticks, Tsc, TscRange};

/// Identifies an interval within its source: the row of a table (from 0), or the number its marks carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntervalId(pub u64);

/// A number the program recorded with the interval: bytes sent, queue length, retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Number,
}

/// A named part of an interval, as the program marked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// When it began; it ends where the next stage begins, or with the interval.
    pub start: Tsc,
}

/// What the task of an interval did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhaseKind {
    /// A thread ran it.
    Run,
    /// It could go on, and no thread ran it yet.
    Ready,
    /// It had nothing to do until something would wake it.
    Await,
}

/// A stretch of an interval of a task: of a request that is no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What the task did.
    pub kind: PhaseKind,
    /// Who made the marker that begins it: the thread that runs the task ([`PhaseKind::Run`]), the one that woke it
    /// ([`PhaseKind::Ready`]), or the one that had run it ([`PhaseKind::Await`]).
    pub thread: Option<ThreadId>,
    /// When, in ticks of the TSC.
    pub range: TscRange,
}

/// A text that came with an interval: the method of a request, the statement of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What the direct children of one label took of an interval whose source has a tree of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The children's label.
    pub label: String,
    /// How many there are.
    pub spans: u64,
    /// The time within the interval in which at least one of them was in progress.
    pub time: Ticks,
}

/// The thing the user measures: from a begin mark to an end mark.
///
/// What few of them have lies in its [`Details`], whose fields are read and written as if they were its own. There are
/// millions of intervals: where there is nothing to say, nothing is to be written, for that takes memory.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its identity within the source.
    pub id: IntervalId,
    /// What kind of interval it is; statistics are made per label.
    pub label: Label,
    /// From the begin mark to the end mark.
    pub range: TscRange,
    /// The thread that executed the begin mark, where known.
    pub start_thread: Option<ThreadId>,
    /// The thread that executed the end mark, where known.
    pub stop_thread: Option<ThreadId>,
    details: Option<Box<Details>>,
}

/// What few intervals have besides their time and their threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// What paired its two marks, where that is more than the id.
    pub key: Option<String>,
    /// When the start thread handed over to the stop thread, where a mark says so.
    pub publish: Option<Tsc>,
    /// Its named parts, in order of time.
    pub stages: Vec<Stage>,
    /// Where its source says what its task did: in order of time, without holes, from the begin to the end. Empty where
    /// the interval is that of its threads.
    pub phases: Vec<Phase>,
    /// Its counters, in the order of the source.
    pub counters: Vec<Counter>,
    /// Its texts, in the order of the source.
    pub attributes: Vec<Attribute>,
    /// Its direct children by label, the longest time first.
    pub children: Vec<Child>,
    /// The record of the perf.data that its end mark came from, where it came from one.
    pub record: Option<FileOffset>,
    /// The descriptor by which a request came to a server and was answered, where it is one that system calls show.
    pub connection: Option<u32>,
}

static NONE: Details = Details {
    key: None,
    publish: None,
    stages: Vec::new(),
    phases: Vec::new(),
    counters: Vec::new(),
    attributes: Vec::new(),
    children: Vec::new(),
    record: None,
    connection: None,
};

impl Interval {
    /// An interval on one thread without details.
    pub fn new(
        id: IntervalId,
        label: impl Into<Label>,
        range: TscRange,
        thread: Option<ThreadId>,
    ) -> Interval {
        Interval { id, label: label.into(), range, start_thread: thread, stop_thread: thread, details: None }
    }

    /// Its details where it has any: what is to be changed in millions must not make them anew.
    pub fn details_mut(&mut self) -> Option<&mut Details> {
        self.details.as_deref_mut()
    }

    /// With these details in place of its own.
    #[must_use]
    pub fn with(mut self, details: Details) -> Interval {
        self.details = (details != NONE).then(|| Box::new(details));
        self
    }
}

impl Deref for Interval {
    type Target = Details;

    fn deref(&self) -> &Details {
        self.details.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Interval {
    fn deref_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Interval) -> bool {
        let own = |one: &Interval| (one.id, one.range, one.start_thread, one.stop_thread);
        own(self) == own(other) && self.label == other.label && **self == **other
    }
}

impl Interval {
    /// The threads of its begin and its end; none of a task, which any worker runs.
    pub fn ends(&self) -> (Option<ThreadId>, Option<ThreadId>) {
        if self.phases.is_empty() { (self.start_thread, self.stop_thread) } else { (None, None) }
    }
}

impl fmt::Display for IntervalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests;
