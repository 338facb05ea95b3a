//! Tasks of Tokio: what the spans that it makes itself say of its tasks, and so of the intervals within them.
//!
//! Input: the spans `runtime.spawn` and the events of wakers, which Tokio has where it was compiled with `--cfg tokio_unstable` and
//! its feature `tracing`. Output: `run`, `ready` and `await` marks of the task's own interval, and of those that its polls enter.

use std::cell::RefCell;
use std::ffi::CStr;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use tailtrace_marks as marks;
use tracing_core::field::{Field, Visit};
use tracing_core::{Event, Metadata};

/// The span of a task: entered while it is polled.
const SPAWN: &str = "runtime.spawn";
/// What else Tokio has spans of: its timers, locks and channels, and each wait for one.
const RESOURCE: &str = "runtime.resource";
const WAKERS: &str = "tokio::task::waker";
/// Intervals of one task that are divided into phases.
const MOST_PARTS: usize = 64;

thread_local! {
    /// The tasks that this thread polls, the innermost last: a future may block on another one.
    static POLLED: RefCell<Vec<Arc<Task>>> = const { RefCell::new(Vec::new()) };
}

/// A task of Tokio.
#[derive(Debug, Default)]
pub(crate) struct Task(Mutex<Parts>);

/// The intervals that lie in it, its own one among them.
#[derive(Debug, Default)]
struct Parts(Vec<Part>);

#[derive(Debug)]
struct Part {
    label: &'static CStr,
    key: u64,
    state: State,
}

/// What an interval does.
#[derive(Clone, Copy, Debug)]
enum State {
    /// A thread is in its span. `is_woken`: it goes on at once.
    Running { is_woken: bool },
    /// This thread left the span at this time, and nothing has woken the task since: it waits, or is at its end.
    Left(u64, ThreadId),
    /// It was woken.
    Ready,
}

/// Whether the span is a task's.
pub(crate) fn is_task(span: &Metadata<'_>) -> bool {
    span.name() == SPAWN && span.target().starts_with("tokio::task")
}

/// Whether the span is one of Tokio's own, and no task: no interval that someone asks about.
pub(crate) fn is_internal(span: &Metadata<'_>) -> bool {
    span.name().starts_with(RESOURCE) && span.target().starts_with("tokio")
}

/// The task that this thread polls.
pub(crate) fn polled() -> Option<Arc<Task>> {
    // A span may be entered while its thread ends, when the list is gone.
    POLLED.try_with(|polled| polled.borrow().last().cloned()).ok().flatten()
}

/// This thread polls the task from here on.
pub(crate) fn begin_poll(task: &Arc<Task>) {
    let _ = POLLED.try_with(|polled| polled.borrow_mut().push(Arc::clone(task)));
}

/// The poll is over.
pub(crate) fn end_poll() {
    let _ = POLLED.try_with(|polled| polled.borrow_mut().pop());
}

impl Task {
    /// A task whose interval begins, and which is ready.
    pub(crate) fn spawned(label: &'static CStr, key: u64) -> Task {
        marks::task_ready(label, key);
        Task(Mutex::new(Parts(vec![Part { label, key, state: State::Ready }])))
    }

    /// An interval begins within the task.
    pub(crate) fn add(&self, label: &'static CStr, key: u64) {
        let Parts(parts) = &mut *self.parts();
        if parts.len() < MOST_PARTS {
            parts.push(Part { label, key, state: State::Running { is_woken: false } });
        }
    }

    /// The span of the interval is entered again. False: the task does not know the interval.
    pub(crate) fn enter(&self, key: u64) -> bool {
        let mut parts = self.parts();
        let Some(part) = parts.of(key) else { return false };
        match part.state {
            State::Ready => marks::task_run(part.label, part.key),
            // What woke it is not known.
            State::Left(at, by) if by != thread::current().id() => {
                marks::task_await_at(part.label, part.key, at);
                marks::task_run(part.label, part.key);
            }
            // Without a wake-up the task has not waited: a span within one poll, or the future is being dropped.
            State::Left(..) | State::Running { .. } => {}
        }
        part.state = State::Running { is_woken: false };
        true
    }

    /// The span is left.
    pub(crate) fn leave(&self, key: u64) {
        let now = marks::tsc();
        let mut parts = self.parts();
        let Some(part) = parts.of(key) else { return };
        part.state = match part.state {
            State::Running { is_woken: true } => {
                marks::task_await(part.label, part.key);
                State::Ready
            }
            State::Running { is_woken: false } => State::Left(now, thread::current().id()),
            left => left,
        };
    }

    /// The interval is over, or goes on in another task.
    pub(crate) fn remove(&self, key: u64) {
        self.parts().0.retain(|part| part.key != key);
    }

    /// Something wakes the task.
    pub(crate) fn wake(&self) {
        for part in &mut self.parts().0 {
            match &mut part.state {
                State::Left(at, _) => {
                    marks::task_await_at(part.label, part.key, *at);
                    marks::task_ready(part.label, part.key);
                    part.state = State::Ready;
                }
                State::Running { is_woken } if !*is_woken => {
                    marks::task_ready(part.label, part.key);
                    *is_woken = true;
                }
                State::Running { .. } | State::Ready => {}
            }
        }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Parts {
    fn of(&mut self, key: u64) -> Option<&mut Part> {
        self.0.iter_mut().find(|part| part.key == key)
    }
}

/// What an event of a waker says: the number of the task's span where it wakes the task.
pub(crate) fn woken(event: &Event<'_>) -> Option<u64> {
    if event.metadata().target() != WAKERS {
        return None;
    }
    let mut waker = Waker::default();
    event.record(&mut waker);
    waker.task.filter(|&task| task != 0 && waker.is_wake)
}

#[derive(Default)]
struct Waker {
    is_wake: bool,
    task: Option<u64>,
}

impl Visit for Waker {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.is_wake |= field.name() == "op" && matches!(value, "waker.wake" | "waker.wake_by_ref");
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "task.id" {
            self.task = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

/// What a task is called: its name, else the place in the source that spawned it.
#[derive(Default)]
pub(crate) struct Name {
    given: String,
    file: String,
    line: Option<u64>,
}

impl Name {
    /// The label of its interval; `None`: the span says neither.
    pub(crate) fn label(self) -> Option<String> {
        if !self.given.is_empty() {
            return Some(self.given);
        }
        let line = self.line?;
        // The last two parts of the path are enough to find it, and fit into a line.
        let from = self.file.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
        Some(format!("{}:{line}", &self.file[from..])).filter(|_| !self.file.is_empty())
    }
}

impl Visit for Name {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "task.name" => value.clone_into(&mut self.given),
            "loc.file" => value.clone_into(&mut self.file),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "loc.line" {
            self.line = Some(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Tokio writes the name by Display, which comes here.
        if field.name() == "task.name" {
            self.given = format!("{value:?}");
        }
    }
}
