//! Trace events (Chrome's format): complete events (`X`), begins and ends of a thread (`B`, `E`) and of an id (`b`, `e`).
//!
//! `ts` and `dur` are microseconds, perhaps with a fraction. Which clock they are of stands in `metadata.clock-domain`, or
//! nowhere. Begins and ends are paired in the order of the file, as the format demands of each thread.

use std::collections::HashMap;

use model::{Severity, ThreadId};
use serde::de::Deserializer;
use serde_json::Value;

use super::keeping::{Attributes, Keeping, Refusal, Span};
use super::numbers;
use super::visits::Take;
use crate::file::tree::Link;
use crate::findings::Origin;

/// The most begins that may be open on a thread or for an id.
const DEEPEST_NESTING: usize = 4096;
/// Floating point holds whole nanoseconds up to here, in microseconds: 2^53 / 1000.
const EXACT_BELOW: f64 = 9_007_199_254_740.992;
const REMEDY: &str = "write `pid` and `tid`, the kernel's numbers (getpid(), gettid()), into the event";

/// What spans nest in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Thread(String, String),
    Id(String, String, String),
}

struct Open {
    name: String,
    at: u64,
    thread: Option<ThreadId>,
    attributes: Attributes,
    origin: Origin,
    id: model::IntervalId,
}

/// Pairs the events of a file.
pub(super) struct TraceEvents<'a, 'd> {
    keeping: &'a mut Keeping<'d>,
    open: HashMap<Lane, Vec<Open>>,
    lanes: HashMap<Lane, u32>,
}

impl<'a, 'd> TraceEvents<'a, 'd> {
    pub(super) fn new(keeping: &'a mut Keeping<'d>) -> TraceEvents<'a, 'd> {
        TraceEvents { keeping, open: HashMap::new(), lanes: HashMap::new() }
    }

    pub(super) fn keeping(&mut self) -> &mut Keeping<'d> {
        self.keeping
    }

    /// The file has ended: what is still open has no end.
    pub(super) fn finish(mut self) {
        let mut left: Vec<Open> = std::mem::take(&mut self.open).into_values().flatten().collect();
        left.sort_by_key(|open| open.id);
        for open in left {
            self.without_end(&open);
        }
    }

    fn without_end(&mut self, open: &Open) {
        self.keeping.refuse(open.origin, &open.name, ("begins without end", "has no end".to_owned()));
    }

    fn event(&mut self, event: &Value, origin: Origin) {
        let name = event["name"].as_str().unwrap_or_default();
        let done = match event["ph"].as_str() {
            Some("X") => self.complete(event, origin),
            Some("B") => self.begin(event, Lane::of_thread(event), origin),
            Some("E") => self.end(event, &Lane::of_thread(event), origin),
            Some("b") => Lane::of_id(event).and_then(|lane| self.begin(event, lane, origin)),
            Some("e") => Lane::of_id(event).and_then(|lane| self.end(event, &lane, origin)),
            Some(_) => Ok(()),
            None => Err(("events without a phase", "has no `ph`".to_owned())),
        };
        if let Err(refusal) = done {
            self.keeping.refuse(origin, name, refusal);
        }
    }

    fn complete(&mut self, event: &Value, origin: Origin) -> Result<(), Refusal> {
        let start = self.time(event, "ts", origin)?;
        let length = self.time(event, "dur", origin)?;
        let id = self.keeping.number();
        let open = Open::of(event, id, start, origin);
        let lane = Lane::of_thread(event);
        let thread = open.thread;
        let stop = start.saturating_add(length);
        self.keep(&lane, open, stop, thread);
        Ok(())
    }

    fn begin(&mut self, event: &Value, lane: Lane, origin: Origin) -> Result<(), Refusal> {
        let at = self.time(event, "ts", origin)?;
        let id = self.keeping.number();
        let stack = self.open.entry(lane).or_default();
        if stack.len() >= DEEPEST_NESTING {
            return Err(("begins beyond the limit", "is one of more than 4096 open ones".to_owned()));
        }
        stack.push(Open::of(event, id, at, origin));
        Ok(())
    }

    /// Ends the innermost open begin, with a name the innermost one of that name.
    fn end(&mut self, event: &Value, lane: &Lane, origin: Origin) -> Result<(), Refusal> {
        let alone = || ("ends without begin", "has an end without begin".to_owned());
        let at = self.time(event, "ts", origin)?;
        let name = event["name"].as_str().filter(|name| !name.is_empty());
        let stack = self.open.get_mut(lane).ok_or_else(alone)?;
        let begun =
            stack.iter().rposition(|open| name.is_none_or(|name| name == open.name)).ok_or_else(alone)?;
        let unended = stack.split_off(begun + 1);
        let open = stack.pop();
        if stack.is_empty() {
            self.open.remove(lane);
        }
        for open in &unended {
            self.without_end(open);
        }
        let Some(mut open) = open else { return Ok(()) };
        open.attributes.append(arguments(event));
        let thread = thread(event).or(open.thread);
        self.keep(lane, open, at, thread);
        Ok(())
    }

    fn keep(&mut self, lane: &Lane, open: Open, stop: u64, stop_thread: Option<ThreadId>) {
        let next = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        let number = match self.lanes.get(lane) {
            Some(&number) => number,
            None => *self.lanes.entry(lane.clone()).or_insert(next),
        };
        let Open { name, at, thread, attributes, origin, id } = open;
        if thread.is_none() {
            self.keeping.no_thread(origin, &name, REMEDY);
        }
        let key = match lane {
            Lane::Thread(..) => None,
            Lane::Id(_, id, _) => Some(id.clone()),
        };
        let span = Span {
            name,
            key,
            start: at,
            stop,
            start_thread: thread,
            stop_thread,
            attributes,
            link: Link::Lane(number),
            origin,
        };
        self.keeping.keep(id, span);
    }

    /// Microseconds as nanoseconds.
    fn time(&mut self, event: &Value, field: &str, origin: Origin) -> Result<u64, Refusal> {
        let wrong = || {
            let shown = numbers::shown(&event[field]);
            ("wrong times", format!("has {field} {shown}, not microseconds"))
        };
        let Value::Number(number) = &event[field] else { return Err(wrong()) };
        if let Some(whole) = number.as_u64() {
            return whole.checked_mul(1000).ok_or_else(wrong);
        }
        let micros = number.as_f64().filter(|micros| *micros >= 0.0 && *micros < 1.8e16).ok_or_else(wrong)?;
        if micros > EXACT_BELOW {
            self.keeping.draft.findings.add(Severity::Note, "rounded times", origin, || {
                format!("{field} {micros} is a fraction beyond 2^53 ns: it is exact to 256 ns only")
            });
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in the range above
        Ok((micros * 1000.0).round() as u64)
    }
}

impl Take for TraceEvents<'_, '_> {
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let (value, origin) = self.keeping.value(from)?;
        self.event(&value, origin);
        Ok(())
    }
}

impl Open {
    fn of(event: &Value, id: model::IntervalId, at: u64, origin: Origin) -> Open {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        Open { name, at, thread: thread(event), attributes: arguments(event), origin, id }
    }
}

impl Lane {
    fn of_thread(event: &Value) -> Lane {
        Lane::Thread(event["pid"].to_string(), event["tid"].to_string())
    }

    /// Of an async event: its category and id; an id of its process where it says so.
    fn of_id(event: &Value) -> Result<Lane, Refusal> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let category = text(&event["cat"]).unwrap_or_default();
        let global = text(&event["id"]).or_else(|| text(&event["id2"]["global"]));
        let lane = match global {
            Some(id) => Some(Lane::Id(category, id, String::new())),
            None => text(&event["id2"]["local"]).map(|id| Lane::Id(category, id, event["pid"].to_string())),
        };
        lane.ok_or_else(|| ("events without an id", "is async and has neither `id` nor `id2`".to_owned()))
    }
}

fn thread(event: &Value) -> Option<ThreadId> {
    let number = |field: &str| numbers::thread_number(&event[field]);
    number("pid").zip(number("tid")).map(|(pid, tid)| ThreadId::new(pid, tid))
}

/// Numbers of `args` become counters, texts attributes.
fn arguments(event: &Value) -> Attributes {
    let mut kept = Attributes::default();
    for (name, value) in event["args"].as_object().into_iter().flatten() {
        match value {
            Value::Number(number) => kept.json_number(name, number),
            Value::String(text) => kept.text(name, text),
            Value::Bool(flag) => kept.flag(name, *flag),
            _ => {}
        }
    }
    kept
}
