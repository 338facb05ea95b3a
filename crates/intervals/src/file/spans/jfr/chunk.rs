//! The events of a chunk that become intervals. What they refer to may stand after them.

use std::rc::Rc;

use serde_json::Number;

use super::Header;
use super::bytes::{Broken, Bytes, Text};
use super::metadata::{self, Class, Classes};
use super::pools::{self, Pools, Value};
use crate::file::spans::keeping::Attributes;

const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;
/// The class that events are derived from.
const EVENT: &str = "jdk.jfr.Event";
/// Classes of the JDK's own events: what it does, not what the program does for a request.
const OF_THE_JDK: &str = "jdk.";
const JVM_INFORMATION: &str = "jdk.JVMInformation";
/// The recording itself: its name is that of async-profiler where that made it.
const ACTIVE_RECORDING: &str = "jdk.ActiveRecording";
const PROFILER: &str = "async-profiler";
/// A call of a method that the user wants to see, of the JDK (25 and newer) and of async-profiler alike.
const METHOD_TRACE: &str = "jdk.MethodTrace";
/// A span of async-profiler: its name is its tag.
const SPAN: &str = "profiler.Span";
/// A wait for a lock, as the JDK's `jdk.JavaMonitorEnter`.
const NATIVE_LOCK: &str = "profiler.NativeLock";

/// An event with a duration and a thread.
#[derive(Default)]
pub(super) struct Event {
    /// Its place in the chunk.
    pub(super) at: usize,
    class: u64,
    pub(super) start: u64,
    pub(super) duration: u64,
    /// Its entry in the pool of threads.
    thread: Option<u64>,
    /// Its entries in the pools of methods and of stack traces.
    method: Option<u64>,
    stack: Option<u64>,
    /// The text that names it.
    tag: Option<Text>,
    /// Those of the other fields, by their index in the class.
    values: Vec<(usize, Value)>,
}

pub(super) struct Chunk<'a> {
    header: &'a Header,
    /// What is to be read.
    bytes: Bytes<'a>,
    all: &'a [u8],
    classes: Classes,
    pools: Pools,
    events: Vec<Event>,
    pid: Option<i32>,
    is_of_profiler: bool,
}

impl<'a> Chunk<'a> {
    pub(super) fn new(header: &'a Header, all: &'a [u8]) -> Chunk<'a> {
        let bytes = Bytes::new(all, super::HEADER_BYTES, header.is_compressed);
        Chunk {
            header,
            bytes,
            all,
            classes: Classes::new(),
            pools: Pools::default(),
            events: Vec::new(),
            pid: None,
            is_of_profiler: false,
        }
    }

    /// The byte that was reached.
    pub(super) fn at(&self) -> usize {
        self.bytes.at()
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// What is broken. Events before it are there.
    pub(super) fn read(&mut self) -> Result<(), Broken> {
        let metadata = usize::try_from(self.header.metadata).ok().filter(|at| *at < self.all.len());
        let at = metadata.ok_or_else(|| "the chunk's metadata lie outside of it".to_owned())?;
        let (kind, content) = Bytes::new(self.all, at, self.header.is_compressed).event()?;
        if kind != METADATA {
            return Err("the chunk has no metadata where its header says".to_owned());
        }
        self.classes = metadata::read(content)?;
        while self.bytes.left() > 0 {
            let at = self.bytes.at();
            let (kind, content) = self.bytes.event()?;
            match kind {
                METADATA => {}
                CHECKPOINT => self.pools.read(&self.classes, content)?,
                _ => self.event(at, kind, content)?,
            }
        }
        Ok(())
    }

    fn event(&mut self, at: usize, number: u64, bytes: Bytes<'_>) -> Result<(), Broken> {
        let Some(class) = self.classes.get(&number) else { return Ok(()) };
        match &*class.name {
            JVM_INFORMATION => {
                let event = read(&self.classes, class, (at, number), bytes)?;
                let of = |(index, value): &(usize, Value)| match (&*class.fields[*index].name, value) {
                    ("pid", Value::Signed(pid)) => i32::try_from(*pid).ok().filter(|pid| *pid > 0),
                    _ => None,
                };
                self.pid = event.values.iter().find_map(of);
            }
            ACTIVE_RECORDING => {
                let event = read(&self.classes, class, (at, number), bytes)?;
                let is_name = |(_, value): &(usize, Value)| match value {
                    Value::Text(Text::Here(text)) => text.starts_with(PROFILER),
                    _ => false,
                };
                self.is_of_profiler |= event.values.iter().any(is_name);
            }
            _ if is_interval(class) => self.events.push(read(&self.classes, class, (at, number), bytes)?),
            _ => {}
        }
        Ok(())
    }

    /// Whether async-profiler made the chunk: then nanoseconds are those of `CLOCK_MONOTONIC`.
    pub(super) fn is_of_profiler(&self) -> bool {
        self.is_of_profiler
    }

    /// The process, where the chunk says it.
    pub(super) fn pid(&self) -> Option<i32> {
        self.pid
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What names an event: its tag or its method, else its class.
    pub(super) fn name(&self, event: &Event) -> Rc<str> {
        let class = || self.classes.get(&event.class).map(|class| Rc::clone(&class.name));
        let tag = event.tag.as_ref().and_then(|tag| self.pools.text(tag));
        let tag = tag.filter(|tag| !tag.is_empty());
        tag.or_else(|| self.pools.method(event.method, event.stack)).or_else(class).unwrap_or_default()
    }

    pub(super) fn tid(&self, event: &Event) -> Option<i32> {
        self.pools.tid(event.thread?)
    }

    /// Numbers become counters, texts and flags attributes.
    pub(super) fn attributes(&self, event: &Event) -> Attributes {
        let mut kept = Attributes::default();
        let Some(class) = self.classes.get(&event.class) else { return kept };
        for (index, value) in &event.values {
            let name = &*class.fields[*index].name;
            match value {
                Value::Signed(number) => kept.json_number(name, &Number::from(*number)),
                Value::Double(number) => {
                    if let Some(number) = Number::from_f64(*number) {
                        kept.json_number(name, &number);
                    }
                }
                Value::Flag(flag) => kept.flag(name, *flag),
                Value::Text(text) => {
                    if let Some(text) = self.pools.text(text) {
                        kept.text(name, &text);
                    }
                }
                Value::Pooled(_) | Value::Other => {}
            }
        }
        kept
    }
}

/// Reads an event of the class `number`, which begins at this byte of the chunk.
fn read(
    classes: &Classes,
    class: &Class,
    (at, number): (usize, u64),
    mut bytes: Bytes<'_>,
) -> Result<Event, Broken> {
    let mut event = Event { at, class: number, ..Event::default() };
    for (index, field) in class.fields.iter().enumerate() {
        let value = pools::value(classes, field, &mut bytes, 0)?;
        match (&*field.name, value) {
            ("startTime", Value::Signed(ticks)) => event.start = ticks.cast_unsigned(),
            ("duration", Value::Signed(ticks)) => event.duration = u64::try_from(ticks).unwrap_or_default(),
            ("eventThread", Value::Pooled(thread)) => event.thread = Some(thread),
            ("tag", Value::Text(tag)) if &*class.name == SPAN => event.tag = Some(tag),
            ("method", Value::Pooled(method)) if &*class.name == METHOD_TRACE => event.method = Some(method),
            ("stackTrace", Value::Pooled(stack)) if &*class.name == METHOD_TRACE => event.stack = Some(stack),
            (_, Value::Pooled(_) | Value::Other) => {}
            (_, value) => event.values.push((index, value)),
        }
    }
    Ok(event)
}

/// Whether events of a class are intervals of the program.
fn is_interval(class: &Class) -> bool {
    let has = |name: &str| class.fields.iter().any(|field| &*field.name == name);
    class.parent.as_deref() == Some(EVENT)
        && (!class.name.starts_with(OF_THE_JDK) || &*class.name == METHOD_TRACE)
        && &*class.name != NATIVE_LOCK
        && has("duration")
        && has("eventThread")
}
