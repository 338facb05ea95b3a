//! Events in pairs: what begins and ends intervals, by their names.
//!
//! Events of a thread may lie in the streams of several CPUs, so all are sorted by time before they are paired.

use std::collections::HashMap;
use std::rc::Rc;

use model::{IntervalId, ThreadId};

use super::types::{Field, Value, last};
use crate::file::spans::keeping::{Attributes, Keeping, Span};
use crate::file::tree::Link;
use crate::findings::Origin;

/// Ends of names: of a begin, of its end.
const PAIRS: [(&str, &str); 5] =
    [("_begin", "_end"), ("_entry", "_exit"), ("_enter", "_exit"), ("_start", "_stop"), ("_start", "_end")];
/// The field that pairs events across threads.
const KEY: &str = "key";
const REMEDY: &str = "`lttng add-context -u -t vpid -t vtid` (of the kernel: `-k -t pid -t tid`) before the session starts records it";

/// The name of an interval, and whether the event is its end.
pub(super) type Named = (Rc<str>, bool);

/// What an event's name says; `None`: it is no part of a pair.
pub(super) fn named(name: &str) -> Option<Named> {
    let begins = PAIRS.iter().find_map(|(begin, _)| Some((name.strip_suffix(begin)?, false)));
    let ends = || PAIRS.iter().find_map(|(_, end)| Some((name.strip_suffix(end)?, true)));
    let (label, is_end) = begins.or_else(ends)?;
    (!label.is_empty()).then(|| (label.into(), is_end))
}

/// An event of a pair.
struct Mark {
    at: u64,
    label: Rc<str>,
    is_end: bool,
    key: Option<Rc<str>>,
    thread: Option<ThreadId>,
    attributes: Option<Box<Attributes>>,
    origin: Origin,
}

/// All of them.
#[derive(Default)]
pub(super) struct Marks(Vec<Mark>);

/// What pairs with what: a label, and a key or else a thread.
type Lane = (Rc<str>, Result<Rc<str>, Option<ThreadId>>);

impl Marks {
    pub(super) fn add(
        &mut self,
        at: u64,
        named: &Named,
        thread: Option<ThreadId>,
        fields: &[Field],
        origin: Origin,
    ) {
        let key = last(fields, KEY).map(|value| text(value).into());
        let mut attributes = Attributes::default();
        for field in fields.iter().filter(|field| &*field.name != KEY) {
            attribute(&mut attributes, field);
        }
        let (label, is_end) = named.clone();
        self.0.push(Mark { at, label, is_end, key, thread, attributes: attributes.boxed(), origin });
    }

    /// Keeps the intervals that the events make.
    pub(super) fn pair(mut self, keeping: &mut Keeping<'_>) {
        // Stable: those of a stream keep their order.
        self.0.sort_by_key(|mark| mark.at);
        let mut open = HashMap::<Lane, Vec<(IntervalId, Mark)>>::new();
        for mark in self.0 {
            let lane = (Rc::clone(&mark.label), mark.key.clone().ok_or(mark.thread));
            if !mark.is_end {
                let id = keeping.number();
                open.entry(lane).or_default().push((id, mark));
            } else if let Some((id, begin)) = open.get_mut(&lane).and_then(Vec::pop) {
                keep(id, begin, mark, keeping);
            } else {
                let what = "has an end without a begin, which may be from before the trace".to_owned();
                keeping.refuse(mark.origin, &mark.label, ("ends without a begin", what));
            }
        }
        let mut left: Vec<(IntervalId, Mark)> = open.into_values().flatten().collect();
        left.sort_by_key(|(id, _)| *id);
        for (_, mark) in left {
            let what = "has no end: the trace may end before it".to_owned();
            keeping.refuse(mark.origin, &mark.label, ("begins without an end", what));
        }
    }
}

fn keep(id: IntervalId, begin: Mark, end: Mark, keeping: &mut Keeping<'_>) {
    if begin.thread.is_none() {
        keeping.no_thread(begin.origin, &begin.label, REMEDY);
    }
    let mut attributes = begin.attributes.map(|attributes| *attributes).unwrap_or_default();
    attributes.append(end.attributes.map(|attributes| *attributes).unwrap_or_default());
    // What encloses it on its thread is its parent.
    let link = Link::Lane(begin.thread.map_or(0, |thread| thread.tid.0.cast_unsigned()));
    let span = Span {
        name: begin.label.to_string(),
        key: begin.key.map(|key| key.to_string()),
        start: begin.at,
        stop: end.at,
        start_thread: begin.thread,
        stop_thread: end.thread,
        attributes,
        link,
        origin: begin.origin,
    };
    keeping.keep(id, span);
}

fn text(value: &Value) -> String {
    match value {
        Value::Unsigned(value) => value.to_string(),
        Value::Signed(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.chars().take(200).collect(),
        Value::Named(name, _) => name.to_string(),
    }
}

fn attribute(attributes: &mut Attributes, field: &Field) {
    match &field.value {
        Value::Unsigned(value) => attributes.json_number(&field.name, &(*value).into()),
        Value::Signed(value) => attributes.json_number(&field.name, &(*value).into()),
        Value::Float(value) => {
            if let Some(value) = serde_json::Number::from_f64(*value) {
                attributes.json_number(&field.name, &value);
            }
        }
        Value::Text(_) | Value::Named(..) => attributes.text(&field.name, &text(&field.value)),
    }
}
