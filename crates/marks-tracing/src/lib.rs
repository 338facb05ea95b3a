//! A layer for `tracing`: spans become intervals, by the marks of `tailtrace-marks`.
//!
//! Input: spans. Output: marks in the file that the program opened. What a span is called and which numbers it has is known when
//! it is created; the interval begins when it is first entered, that of a task where it is spawned.
#![doc = include_str!("../README.md")]

mod tasks;
mod texts;

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use tailtrace_marks as marks;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{ExtensionsMut, LookupSpan};

use tasks::{Name, Task};
use texts::Texts;

/// Numbers of a span that are kept until its interval begins.
const MOST_COUNTERS: usize = 64;

/// Keys that were given: all layers of a program write into one file.
static KEYS: AtomicU64 = AtomicU64::new(0);
/// Layers that were made.
static LAYERS: AtomicU64 = AtomicU64::new(0);

/// Marks the spans of the subscriber that it is a layer of. Of several in one subscriber, the first that sees a span marks it.
#[derive(Debug)]
pub struct MarksLayer {
    texts: Texts,
    number: u64,
}

/// What the layer knows of a span.
struct Interval {
    /// The number of the layer that marks it.
    layer: u64,
    label: &'static CStr,
    key: u64,
    /// When it began, as [`marks::begin`] returns it.
    since: u64,
    /// The thread that entered it last; `None`: it has not begun.
    thread: Option<ThreadId>,
    counters: Vec<(&'static CStr, i64)>,
    /// The task that it lies in, of those that Tokio says.
    task: Option<Arc<Task>>,
    /// It is the task's own.
    is_task: bool,
}

impl MarksLayer {
    /// A layer that marks each span it sees.
    pub fn new() -> MarksLayer {
        MarksLayer { texts: Texts::default(), number: LAYERS.fetch_add(1, Ordering::Relaxed) }
    }

    /// What is known of a span that this layer marks, and not another one of the same subscriber.
    fn own<'e>(&self, extensions: &'e mut ExtensionsMut<'_>) -> Option<&'e mut Interval> {
        extensions.get_mut::<Interval>().filter(|interval| interval.layer == self.number)
    }
}

impl Default for MarksLayer {
    fn default() -> MarksLayer {
        MarksLayer::new()
    }
}

impl Interval {
    /// The span is entered.
    fn enter(&mut self) {
        if let (true, Some(task)) = (self.is_task, &self.task) {
            tasks::begin_poll(task);
        }
        let here = thread::current().id();
        let before = self.thread.replace(here);
        if before.is_none() {
            self.begin();
        }
        let polled = tasks::polled();
        if self.task.as_ref().map(Arc::as_ptr) != polled.as_ref().map(Arc::as_ptr) {
            self.leave_task();
            if let Some(task) = &polled {
                task.add(self.label, self.key);
            }
            self.task = polled;
        } else if polled.is_some_and(|task| task.enter(self.key)) {
            return;
        }
        if before.is_some_and(|before| before != here) {
            marks::publish(self.label, self.key);
        }
    }

    fn begin(&mut self) {
        self.since = marks::begin(self.label, self.key);
        let counters = std::mem::take(&mut self.counters);
        self.count(&mut counters.into_iter());
    }

    /// The span is left.
    fn exit(&self) {
        if let Some(task) = &self.task {
            task.leave(self.key);
        }
        if self.is_task {
            tasks::end_poll();
        }
    }

    fn leave_task(&mut self) {
        if let Some(task) = self.task.take() {
            task.remove(self.key);
        }
    }

    /// Keeps or marks the numbers.
    fn count(&mut self, numbers: &mut dyn Iterator<Item = (&'static CStr, i64)>) {
        for (name, value) in numbers {
            if self.thread.is_some() {
                marks::counter(self.label, self.key, name, value);
            } else if self.counters.len() < MOST_COUNTERS {
                self.counters.push((name, value));
            }
        }
    }
}

/// The whole numbers among the fields.
struct Numbers<'a> {
    texts: &'a Texts,
    found: Vec<(&'static CStr, i64)>,
}

impl Visit for Numbers<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.found.push((self.texts.of(field.name()), value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        // A counter of the file is signed.
        if let Ok(value) = i64::try_from(value) {
            self.record_i64(field, value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S> Layer<S> for MarksLayer
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        if extensions.get_mut::<Interval>().is_some() || tasks::is_internal(attributes.metadata()) {
            return;
        }
        let mut numbers = Numbers { texts: &self.texts, found: Vec::new() };
        attributes.record(&mut numbers);
        numbers.found.truncate(MOST_COUNTERS);
        let mut interval = Interval {
            layer: self.number,
            label: self.texts.of(attributes.metadata().name()),
            key: KEYS.fetch_add(1, Ordering::Relaxed),
            since: 0,
            thread: None,
            counters: numbers.found,
            task: None,
            is_task: tasks::is_task(attributes.metadata()),
        };
        if interval.is_task {
            let mut name = Name::default();
            attributes.record(&mut name);
            interval.label = name.label().map_or(interval.label, |label| self.texts.copy(&label));
            interval.thread = Some(thread::current().id());
            interval.begin();
            interval.task = Some(Arc::new(Task::spawned(interval.label, interval.key)));
        }
        extensions.insert(interval);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut numbers = Numbers { texts: &self.texts, found: Vec::new() };
        values.record(&mut numbers);
        if let Some(interval) = self.own(&mut span.extensions_mut()) {
            interval.count(&mut numbers.found.into_iter());
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(interval) = self.own(&mut span.extensions_mut()) {
            interval.enter();
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(interval) = self.own(&mut span.extensions_mut()) {
            interval.exit();
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(span) = tasks::woken(event).and_then(|task| context.span(&Id::from_u64(task))) else {
            return;
        };
        let task = self.own(&mut span.extensions_mut()).and_then(|interval| interval.task.clone());
        if let Some(task) = task {
            task.wake();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let mut extensions = span.extensions_mut();
        if let Some(interval) = self.own(&mut extensions).filter(|interval| interval.thread.is_some()) {
            marks::end_since(interval.label, interval.key, interval.since);
            interval.leave_task();
        }
    }
}
