//! OTLP JSON: `resourceSpans` → `scopeSpans` → `spans`; times are nanoseconds of `CLOCK_REALTIME`.
//!
//! The key of an interval is `TRACE/SPAN`, its label the span's name. A span's thread is its attribute `thread.id` (or
//! `tid`), the process the resource's or its own `process.pid` (or `pid`). One without a thread may get it from records
//! of which span each thread worked for ([`crate::SpanContext`]).

use model::{Number, Pid, ThreadId, Tid};
use serde::de::{Deserializer, IgnoredAny, MapAccess};
use serde_json::Value;

use super::keeping::{Attributes, Keeping, Refusal, Span};
use super::numbers;
use super::visits::{Array, Fields, Object, Take};
use crate::file::cells;
use crate::file::tree::Link;
use crate::findings::Origin;

const TIDS: [&str; 2] = ["thread.id", "tid"];
const PIDS: [&str; 2] = ["process.pid", "pid"];
const NESTED: &str = "`resourceSpans` within itself: the line before was cut off";

/// The element of `resourceSpans` that is being read.
pub(super) struct Resource<'a, 'd> {
    keeping: &'a mut Keeping<'d>,
    pid: Option<i32>,
    /// Rows whose process is not known yet, with their threads: the resource may come after its spans.
    waiting: Vec<(usize, i32)>,
}

struct Scope<'a, 'b, 'd>(&'a mut Resource<'b, 'd>);

struct Spans<'a, 'b, 'd>(&'a mut Resource<'b, 'd>);

impl<'a, 'd> Resource<'a, 'd> {
    pub(super) fn new(keeping: &'a mut Keeping<'d>) -> Resource<'a, 'd> {
        Resource { keeping, pid: None, waiting: Vec::new() }
    }

    fn end(&mut self) {
        // Else the capture's records name it.
        let pid = self.pid.map_or(Pid::UNKNOWN, Pid);
        for (row, tid) in self.waiting.drain(..) {
            let interval = &mut self.keeping.draft.rows[row];
            interval.start_thread = Some(ThreadId { pid, tid: Tid(tid) });
            interval.stop_thread = interval.start_thread;
        }
    }

    fn keep(&mut self, value: &Value, origin: Origin) {
        let id = self.keeping.number();
        let name = value["name"].as_str().unwrap_or_default();
        match span(value, self.pid, origin) {
            Err(refusal) => self.keeping.refuse(origin, name, refusal),
            Ok((span, tid)) => {
                let has_thread = span.start_thread.is_some();
                let row = self.keeping.keep(id, span);
                if let (Some(row), Some(tid), false) = (row, tid, has_thread) {
                    self.waiting.push((row, tid));
                }
            }
        }
    }
}

impl Take for Resource<'_, '_> {
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        self.pid = None;
        let taken = serde::de::DeserializeSeed::deserialize(Object(self), from);
        self.end();
        taken
    }
}

impl Fields for Resource<'_, '_> {
    fn field<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<(), M::Error> {
        match name {
            "resource" => map.next_value_seed(OneResource(self)),
            // The second is the name in versions before 0.15.
            "scopeSpans" | "instrumentationLibrarySpans" => map.next_value_seed(Array(&mut Scope(self))),
            _ => skip_field(name, map),
        }
    }
}

struct OneResource<'a, 'b, 'd>(&'a mut Resource<'b, 'd>);

impl<'de> serde::de::DeserializeSeed<'de> for OneResource<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let (value, _) = self.0.keeping.value(from)?;
        let pid = attributes(&value).find(|(name, _)| PIDS.contains(name));
        self.0.pid = pid.and_then(|(_, value)| thread_number(value));
        Ok(())
    }
}

impl Take for Scope<'_, '_, '_> {
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        serde::de::DeserializeSeed::deserialize(Object(self), from)
    }
}

impl Fields for Scope<'_, '_, '_> {
    fn field<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<(), M::Error> {
        match name {
            "spans" => map.next_value_seed(Array(&mut Spans(self.0))),
            _ => skip_field(name, map),
        }
    }
}

impl Take for Spans<'_, '_, '_> {
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let (value, origin) = self.0.keeping.value(from)?;
        if !value["resourceSpans"].is_null() {
            return Err(serde::de::Error::custom(NESTED));
        }
        self.0.keep(&value, origin);
        Ok(())
    }
}

/// Skips what is not of use. A document within a document is the next line after one that was cut off.
fn skip_field<'de, M: MapAccess<'de>>(name: &str, map: &mut M) -> Result<(), M::Error> {
    if name == "resourceSpans" {
        return Err(serde::de::Error::custom(NESTED));
    }
    map.next_value::<IgnoredAny>().map(drop)
}

/// The span, and the number of its thread where one is given.
fn span(value: &Value, pid: Option<i32>, origin: Origin) -> Result<(Span, Option<i32>), Refusal> {
    let (start, stop) = (time(value, "startTimeUnixNano")?, time(value, "endTimeUnixNano")?);
    let trace = u128::from_str_radix(id(value, "traceId", 32)?, 16).unwrap_or_default();
    let number = |digits| u64::from_str_radix(digits, 16).unwrap_or_default();
    let own = number(id(value, "spanId", 16)?);
    let parent = match &value["parentSpanId"] {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        _ => Some(number(id(value, "parentSpanId", 16)?)).filter(|&parent| parent != 0),
    };
    let (mut kept, mut own_pid, mut tid) = (Attributes::default(), None, None);
    for (name, value) in attributes(value) {
        if TIDS.contains(&name) {
            tid = thread_number(value).or(tid);
        } else if PIDS.contains(&name) {
            own_pid = thread_number(value).or(own_pid);
        } else {
            keep_attribute(&mut kept, name, value);
        }
    }
    let thread = own_pid.or(pid).zip(tid).map(|(pid, tid)| ThreadId::new(pid, tid));
    let span = Span {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        key: Some(format!("{trace:032x}/{own:016x}")),
        start,
        stop,
        start_thread: thread,
        stop_thread: thread,
        attributes: kept,
        link: Link::Ids { trace, span: own, parent },
        origin,
    };
    Ok((span, tid))
}

fn time(value: &Value, field: &str) -> Result<u64, Refusal> {
    match numbers::unsigned(&value[field]) {
        Some(0) | None if value[field].is_null() || value[field] == "0" || value[field] == 0 => {
            Err(("spans without times", format!("has no {field}; a span is written when it has ended")))
        }
        None => {
            let shown = numbers::shown(&value[field]);
            Err(("wrong times", format!("has {field} {shown}, not nanoseconds since 1970")))
        }
        Some(time) => Ok(time),
    }
}

/// The hexadecimal digits of an id.
fn id<'a>(value: &'a Value, field: &str, digits: usize) -> Result<&'a str, Refusal> {
    let text = value[field].as_str().unwrap_or_default();
    if text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text);
    }
    let shown = numbers::shown(&value[field]);
    Err((
        "wrong ids",
        format!("has {field} {shown}, not {digits} hexadecimal digits, as OTLP JSON writes it"),
    ))
}

/// Names and `AnyValue`s of an object with `attributes`.
fn attributes(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let list = value["attributes"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| Some((one["key"].as_str()?, &one["value"])))
}

fn thread_number(value: &Value) -> Option<i32> {
    ["intValue", "stringValue"].iter().find_map(|kind| numbers::thread_number(&value[kind]))
}

/// Numbers become counters, texts attributes; arrays, objects and bytes are left out.
fn keep_attribute(kept: &mut Attributes, name: &str, value: &Value) {
    let whole = |value: &Value| match value {
        Value::String(text) => Number::parse(text),
        Value::Number(number) => cells::json_number(number),
        _ => None,
    };
    if let Some(number) = whole(&value["intValue"]).or_else(|| whole(&value["doubleValue"])) {
        kept.number(name, number);
    } else if let Some(text) = value["stringValue"].as_str() {
        kept.text(name, text);
    } else if let Some(flag) = value["boolValue"].as_bool() {
        kept.flag(name, flag);
    }
}
