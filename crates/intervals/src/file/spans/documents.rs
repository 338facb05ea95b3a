//! The documents of a span file: one object or array, or several objects, one after the other (OTLP as JSON lines).
//!
//! After an error in the JSON itself the next line that begins with an object is read; spans before it stay.

use std::io::{self, BufRead};
use std::rc::Rc;

use model::Severity;
use serde::Deserialize;
use serde::de::{DeserializeSeed as _, IgnoredAny, MapAccess};
use serde_json::Value;
use serde_json::error::Category;

use super::keeping::Keeping;
use super::otlp::Resource;
use super::place::{Placed, Position};
use super::trace_events::TraceEvents;
use super::visits::{Array, Fields, Object};
use crate::clock::Clock;
use crate::file::draft::Draft;

/// Chrome's names of clocks that `tailtrace` converts.
const CHROME_CLOCKS: [(&str, Clock); 4] = [
    ("LINUX_CLOCK_MONOTONIC", Clock::Monotonic),
    // No names of Chrome's, but of its form.
    ("LINUX_CLOCK_MONOTONIC_RAW", Clock::MonotonicRaw),
    ("LINUX_CLOCK_BOOTTIME", Clock::Boottime),
    ("LINUX_CLOCK_REALTIME", Clock::Realtime),
];

/// What was found in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Found {
    #[default]
    Nothing,
    Otlp,
    TraceEvents,
}

/// Reads all spans, as the function of this name outside.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read<R: BufRead>(reader: R, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let mut placed = Placed::new(reader);
    let position = placed.position();
    let mut keeping = Keeping::new(draft, Rc::clone(&position));
    let mut all = Document { events: TraceEvents::new(&mut keeping), found: Found::Nothing, clock: None };
    let mut broken = None;
    while let Some(first) = placed.next_byte()? {
        let Some(error) = all.read(first, &mut placed) else { continue };
        let is_cut_off = error.is_cut_off();
        // The closing bracket of an array may be missing: programs that crash write none.
        if !(is_cut_off && first == b'[') {
            let what = error.described(&position)?;
            broken.get_or_insert_with(|| what.clone());
            all.error(&position, what);
        }
        if is_cut_off || !placed.skip_to_object()? {
            break;
        }
    }
    let Document { events, found, clock } = all;
    events.finish();
    Ok(outcome(draft, found, clock, broken))
}

/// Why a document was not read to its end.
enum Failure {
    NoDocument,
    Json(serde_json::Error),
}

impl Failure {
    fn is_cut_off(&self) -> bool {
        matches!(self, Failure::Json(error) if error.classify() == Category::Eof)
    }

    /// # Errors
    /// Where the file itself could not be read.
    fn described(self, position: &Position) -> io::Result<String> {
        Ok(match self {
            Failure::NoDocument => {
                "what follows is neither a JSON object nor an array: it is left out".to_owned()
            }
            Failure::Json(_) if position.exceeded() => {
                "a span of more than 16 MiB: the document is read up to it".to_owned()
            }
            Failure::Json(error) => match error.classify() {
                Category::Io => return Err(error.into()),
                Category::Eof => "the file ends here, within an object: it was cut off, or its program still writes it; the spans before are used".to_owned(),
                _ => format!("not as JSON or not as spans are written: {error}; the spans before are used"),
            },
        })
    }
}

fn outcome(
    draft: &mut Draft,
    found: Found,
    clock: Option<Clock>,
    broken: Option<String>,
) -> Result<(), String> {
    match found {
        Found::Otlp => draft.name_clock(Clock::Realtime),
        Found::TraceEvents => {
            if let Some(clock) = clock {
                draft.name_clock(clock);
            }
        }
        Found::Nothing => {
            return Err(broken.unwrap_or_else(|| {
                "the JSON holds neither `resourceSpans` (OTLP) nor `traceEvents` (Chrome's trace events), nor is it \
                 headed by {\"tailtrace-intervals\": 1, \"clock\": …}"
                    .to_owned()
            }));
        }
    }
    Ok(())
}

/// An object that holds spans.
struct Document<'a, 'd> {
    events: TraceEvents<'a, 'd>,
    found: Found,
    clock: Option<Clock>,
}

impl Document<'_, '_> {
    /// Reads the document that begins with the byte `first`; why not to its end.
    fn read<R: BufRead>(&mut self, first: u8, placed: &mut Placed<R>) -> Option<Failure> {
        let mut json = serde_json::Deserializer::from_reader(placed);
        let read = match first {
            b'[' => {
                self.found = Found::TraceEvents;
                Array(&mut self.events).deserialize(&mut json)
            }
            b'{' => Object(self).deserialize(&mut json),
            _ => return Some(Failure::NoDocument),
        };
        read.err().map(Failure::Json)
    }

    fn error(&mut self, position: &Position, what: String) {
        let findings = &mut self.events.keeping().draft.findings;
        findings.add(Severity::Error, "broken documents", position.here(), || what);
    }
}

/// What describes the trace, as far as it is read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(rename = "clock-domain")]
    clock_domain: Option<Value>,
}

impl Fields for Document<'_, '_> {
    fn field<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<(), M::Error> {
        match name {
            "resourceSpans" => {
                self.found = Found::Otlp;
                map.next_value_seed(Array(&mut Resource::new(self.events.keeping())))
            }
            "traceEvents" => {
                self.found = Found::TraceEvents;
                map.next_value_seed(Array(&mut self.events))
            }
            "metadata" | "otherData" => {
                let stated = map.next_value::<Metadata>()?.clock_domain;
                let named = stated.as_ref().and_then(Value::as_str);
                let known = CHROME_CLOCKS.iter().find(|(name, _)| named == Some(name));
                self.clock = known.map(|(_, clock)| *clock).or(self.clock);
                Ok(())
            }
            _ => map.next_value::<IgnoredAny>().map(drop),
        }
    }
}
