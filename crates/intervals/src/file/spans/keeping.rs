//! Keeps spans as intervals, and says what is wrong with the others.

use std::rc::Rc;

use model::{Attribute, Counter, Details, Interval, IntervalId, Number, Severity, ThreadId, Tsc, TscRange};
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

use super::place::Position;
use crate::file::cells;
use crate::file::draft::Draft;
use crate::file::tree::Link;
use crate::findings::Origin;
use crate::pairing::MOST_COUNTERS;

/// The most texts that one interval keeps, and the most characters of each.
const MOST_ATTRIBUTES: usize = 64;
const LONGEST_ATTRIBUTE: usize = 200;

/// A span, its times in the file's clock.
pub(super) struct Span {
    pub(super) name: String,
    pub(super) key: Option<String>,
    pub(super) start: u64,
    pub(super) stop: u64,
    pub(super) start_thread: Option<ThreadId>,
    pub(super) stop_thread: Option<ThreadId>,
    pub(super) attributes: Attributes,
    pub(super) link: Link,
    pub(super) origin: Origin,
}

/// What came with a span: numbers and texts.
#[derive(Default)]
pub(super) struct Attributes {
    counters: Vec<Counter>,
    texts: Vec<Attribute>,
}

/// The kind of what is left out, and why.
pub(super) type Refusal = (&'static str, String);

/// The draft that spans go to.
pub(super) struct Keeping<'a> {
    pub(super) draft: &'a mut Draft,
    position: Rc<Position>,
    /// The number of the next span.
    next: u64,
}

impl Attributes {
    /// Adds a number; those beyond the limit of an interval are dropped.
    pub(super) fn number(&mut self, name: &str, value: Number) {
        if self.counters.len() < MOST_COUNTERS {
            self.counters.push(Counter { name: name.to_owned(), value });
        }
    }

    /// Adds a text, cut to a bounded length.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        if self.texts.len() < MOST_ATTRIBUTES {
            let cut = |text: &str| text.chars().take(LONGEST_ATTRIBUTE).collect();
            self.texts.push(Attribute { name: cut(name), value: cut(value) });
        }
    }

    /// Adds a number as JSON has it; one that is not finite is dropped.
    pub(super) fn json_number(&mut self, name: &str, value: &serde_json::Number) {
        if let Some(value) = cells::json_number(value) {
            self.number(name, value);
        }
    }

    /// Adds a flag, as a text.
    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.text(name, if value { "true" } else { "false" });
    }

    /// Nothing, where there is nothing.
    pub(super) fn boxed(self) -> Option<Box<Attributes>> {
        let is_empty = self.counters.is_empty() && self.texts.is_empty();
        (!is_empty).then(|| Box::new(self))
    }

    pub(super) fn append(&mut self, other: Attributes) {
        let room = MOST_COUNTERS.saturating_sub(self.counters.len());
        self.counters.extend(other.counters.into_iter().take(room));
        let room = MOST_ATTRIBUTES.saturating_sub(self.texts.len());
        self.texts.extend(other.texts.into_iter().take(room));
    }
}

impl<'a> Keeping<'a> {
    pub(super) fn new(draft: &'a mut Draft, position: Rc<Position>) -> Keeping<'a> {
        Keeping { draft, position, next: 0 }
    }

    /// Reads a whole value into memory, up to the limit of one span; with its place.
    ///
    /// # Errors
    /// Those of the deserializer, also where the value is too long.
    pub(super) fn value<'de, D: Deserializer<'de>>(&self, from: D) -> Result<(Value, Origin), D::Error> {
        let origin = self.position.begin();
        let value = Value::deserialize(from)?;
        self.position.end();
        Ok((value, origin))
    }

    /// A number for the span that was met last, whether or not it can be used.
    pub(super) fn number(&mut self) -> IntervalId {
        self.next += 1;
        IntervalId(self.next - 1)
    }

    /// Keeps a span as the interval `id`; the index of its row.
    pub(super) fn keep(&mut self, id: IntervalId, span: Span) -> Option<usize> {
        let Span { name, start, stop, origin, .. } = span;
        if stop < start {
            let what = format!("ends at {stop}, before it starts at {start}");
            self.refuse(origin, &name, ("negative intervals", what));
            return None;
        }
        let label = self.draft.context.label(&name);
        let range = TscRange { start: Tsc(start), stop: Tsc(stop) };
        let details = Details {
            key: span.key,
            counters: span.attributes.counters,
            attributes: span.attributes.texts,
            ..Details::default()
        };
        let mut interval = Interval::new(id, label, range, span.start_thread).with(details);
        interval.stop_thread = span.stop_thread;
        self.draft.links.push(span.link);
        Some(self.draft.keep_row(interval, origin))
    }

    /// A span that is left out, and why.
    pub(super) fn refuse(&mut self, origin: Origin, name: &str, (kind, what): Refusal) {
        let name: String = name.chars().take(60).collect();
        self.draft
            .findings
            .add(Severity::Error, kind, origin, || format!("span {name:?} {what}: it is left out"));
    }

    /// A span that is kept, but cannot be explained; `remedy` says what the program must write.
    pub(super) fn no_thread(&mut self, origin: Origin, name: &str, remedy: &str) {
        let name: String = name.chars().take(60).collect();
        self.draft.findings.add(Severity::Warning, "spans without a thread", origin, || {
            format!("span {name:?} names no thread, so it is measured but cannot be explained: {remedy}")
        });
    }
}
