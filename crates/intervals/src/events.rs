//! Pairs of records become intervals: uprobes, USDT probes and tracepoints that the capture holds samples of.
//!
//! Input: the records, the names of two events and what their fields must hold. Output: intervals with the events' other numeric fields as counters.
//! Where begin and end are the same event, each occurrence ends one interval and begins the next (frames, ticks). Further events may divide
//! the intervals into the phases of a task.

mod contexts;
mod fields;
mod pattern;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use model::{
    Counter, Cpu, Details, FileOffset, Interval, IntervalId, Label, PhaseKind, Severity, ThreadId,
    TimeConversion, Tsc, TscRange,
};
use perfdata::{PerfData, Record, Sample, TracepointFormat};

use crate::error::Error;
use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
use crate::pairing::{self, Mark, MarkKind};
pub use contexts::span_contexts;
use fields::Fields;
pub use pattern::EventPattern;
use values::Values;

/// Two events that begin and end an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPair {
    /// The event that begins it, as `perf script` names it: `probe_app:start`; and what its fields must hold.
    pub begin: EventPattern,
    /// The event that ends it; the same as `begin` for the time between two occurrences.
    pub end: EventPattern,
    /// The field of both that pairs them across threads; without it they nest on each thread.
    pub key: Option<String>,
    /// The events at which a phase begins, of an interval that is a task. They have the key's field, too.
    pub phases: Vec<(PhaseKind, EventPattern)>,
}

/// What an occurrence does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Whether it begins an interval, else it ends one.
    pub is_begin: bool,
    /// The value of the key's field.
    pub key: Option<Box<str>>,
}

impl EventPair {
    /// What an occurrence of the event `name` with the payload `raw` does; `None` where it neither begins nor ends an interval.
    ///
    /// # Errors
    /// [`Error::NoSuchEvent`] where it lacks the key's field, [`Error::EventCondition`] where a condition cannot be asked of it.
    pub fn role(&self, name: &str, format: &TracepointFormat, raw: &[u8]) -> Result<Option<Role>, Error> {
        let is_met = |pattern: &EventPattern| -> Result<bool, Error> {
            Ok(pattern.name == name && pattern.matches(Some((format, raw)))?)
        };
        let (is_begin, is_end) = (is_met(&self.begin)?, is_met(&self.end)?);
        if !is_begin && !is_end {
            return Ok(None);
        }
        let key = self.key.as_deref().map(|key| fields::key(format, raw, key)).transpose()?.flatten();
        Ok(Some(Role { is_begin, key }))
    }
}

/// One occurrence of an event of the pair.
#[derive(Clone, Debug, PartialEq)]
pub struct EventOccurrence {
    /// What it does: it begins an interval, ends it, or begins a phase.
    pub kind: MarkKind,
    /// When.
    pub time: Tsc,
    /// Who was on the CPU.
    pub thread: Option<ThreadId>,
    /// Where.
    pub cpu: Option<Cpu>,
    /// The value of the key's field.
    pub key: Option<Box<str>>,
    /// The other numeric fields.
    pub counters: Vec<Counter>,
    /// The record.
    pub offset: FileOffset,
}

/// Intervals from the records of `capture`.
///
/// # Errors
/// [`Error::ClockNotJoined`] without a conversion from TSC; [`Error::NoSuchEvent`] where an event does not occur, or
/// lacks the key's field; [`Error::EventCondition`] where a condition cannot be asked of it: the reason lists what there is.
pub fn from_events(
    capture: &PerfData,
    pair: &EventPair,
    conversion: Option<TimeConversion>,
) -> Result<IntervalSet, Error> {
    let conversion = conversion.ok_or_else(Error::no_conversion)?;
    let mut findings = Findings::new();
    let mut reading = Reading::new(pair);
    let mut occurrences = Vec::new();
    for record in capture.records() {
        let Record::Sample(sample) = &record.record else { continue };
        let kinds = reading.kinds(sample)?;
        if kinds.is_empty() {
            continue;
        }
        let Some(time) = record.time else {
            findings.add(Severity::Warning, "samples without time", Origin::Record(record.offset), || {
                "the sample has no time: it is left out".to_owned()
            });
            continue;
        };
        let (key, counters) = reading.read(sample)?;
        let time = conversion.to_tsc(time);
        // Most samples do one thing, and nothing is copied for them.
        let values = std::iter::repeat_n((key, counters), kinds.len());
        occurrences.extend(kinds.into_iter().zip(values).map(|(kind, (key, counters))| EventOccurrence {
            kind,
            time,
            thread: record.thread,
            cpu: record.cpu,
            key,
            counters,
            offset: record.offset,
        }));
    }
    reading.all_seen(capture)?;
    Ok(pair_events(pair, occurrences, findings))
}

/// What is known of the events while reading.
struct Reading<'a> {
    pair: &'a EventPair,
    fields: HashMap<u64, Fields>,
    /// The begin and the end event, then those of phases: whether they occur, and whether they do as the conditions ask.
    events: Vec<(MarkKind, &'a EventPattern, Seen)>,
}

/// What is known of an event while reading, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    #[default]
    Never,
    /// With other fields than the conditions ask for.
    Otherwise,
    AsAsked,
}

impl<'a> Reading<'a> {
    fn new(pair: &'a EventPair) -> Reading<'a> {
        let ends = [(MarkKind::Begin, &pair.begin), (MarkKind::End, &pair.end)];
        let phases = pair.phases.iter().map(|(kind, pattern)| (MarkKind::Phase(*kind), pattern));
        let events = ends.into_iter().chain(phases);
        Reading {
            pair,
            fields: HashMap::new(),
            events: events.map(|(kind, pattern)| (kind, pattern, Seen::default())).collect(),
        }
    }

    /// What the sample does: it begins or ends an interval, and may begin a phase as well.
    fn kinds(&mut self, sample: &Sample<'_>) -> Result<Vec<MarkKind>, Error> {
        let Some(name) = sample.event_name() else { return Ok(Vec::new()) };
        let payload = sample.format().zip(sample.raw());
        let mut kinds = Vec::new();
        for (kind, pattern, seen) in self.events.iter_mut().filter(|(_, pattern, _)| pattern.name == name) {
            let is_met = pattern.matches(payload)?;
            *seen = (*seen).max(if is_met { Seen::AsAsked } else { Seen::Otherwise });
            // What begins does not end as well: the next one of a chain does.
            if is_met && !(*kind == MarkKind::End && kinds.contains(&MarkKind::Begin)) {
                kinds.push(kind.clone());
            }
        }
        Ok(kinds)
    }

    fn read(&mut self, sample: &Sample<'_>) -> Result<(Option<Box<str>>, Vec<Counter>), Error> {
        let (Some(format), Some(raw)) = (sample.format(), sample.raw()) else {
            return match &self.pair.key {
                None => Ok((None, Vec::new())),
                Some(key) => Err(Error::NoSuchEvent {
                    event: sample.event_name().unwrap_or_default().to_owned(),
                    why: format!(
                        "its samples carry no fields (record it with -R), so --key {key} cannot be read"
                    ),
                }),
            };
        };
        if !self.fields.contains_key(&format.id()) {
            let fields = Fields::of(format, self.pair.key.as_deref())?;
            self.fields.insert(format.id(), fields);
        }
        let fields = &self.fields[&format.id()];
        Ok((fields.key(format, raw), fields.counters(format, raw)))
    }

    fn all_seen(&self, capture: &PerfData) -> Result<(), Error> {
        let names: Vec<&str> = capture.attrs().iter().filter_map(|attr| attr.name.as_deref()).collect();
        for (kind, event, seen) in &self.events {
            // Tasks that are never woken, or never wait, are no mistake.
            let may_be_missing = matches!(kind, MarkKind::Phase(_)) && names.contains(&event.name.as_str());
            if *seen == Seen::AsAsked || may_be_missing {
                continue;
            }
            let why = if *seen == Seen::Otherwise {
                format!(
                    "the event occurred, but never with such fields{}",
                    Values::of(capture, event).words()
                )
            } else if names.contains(&event.name.as_str()) {
                "the event was recorded, but never occurred".to_owned()
            } else {
                format!("the capture recorded {}", names[..names.len().min(60)].join(", "))
            };
            return Err(Error::NoSuchEvent { event: event.to_string(), why });
        }
        Ok(())
    }
}

/// Pairs occurrences, given in order of time.
pub fn pair_events(
    pair: &EventPair,
    occurrences: impl IntoIterator<Item = EventOccurrence>,
    findings: Findings,
) -> IntervalSet {
    if pair.begin == pair.end {
        return consecutive(&pair.begin.name, occurrences, findings);
    }
    let label: Arc<str> = pair.begin.name.as_str().into();
    let mark = |occurrence: EventOccurrence| Mark {
        label: Arc::clone(&label),
        key: occurrence.key,
        at: occurrence.time,
        thread: occurrence.thread,
        cpu: occurrence.cpu,
        id: None,
        counters: match occurrence.kind {
            MarkKind::Begin => occurrence.counters,
            MarkKind::End => of_end(occurrence.counters),
            _ => Vec::new(),
        },
        kind: occurrence.kind,
        origin: Origin::Record(occurrence.offset),
    };
    pairing::pair(occurrences.into_iter().map(mark).collect(), findings)
}

/// The end's counters, distinguished from those of the begin.
fn of_end(mut counters: Vec<Counter>) -> Vec<Counter> {
    for counter in &mut counters {
        counter.name.insert_str(0, "end.");
    }
    counters
}

/// What an occurrence has in common with the next one of its chain.
#[derive(PartialEq, Eq, Hash)]
enum Lane {
    Keyed(Box<str>),
    Idle(Option<Cpu>),
    Thread(Option<ThreadId>),
}

/// The time from each occurrence to the next one with its key, or on its thread. Counters are those of the begin.
fn consecutive(
    label: &str,
    occurrences: impl IntoIterator<Item = EventOccurrence>,
    findings: Findings,
) -> IntervalSet {
    let label = Label::from(label);
    let mut last: HashMap<Lane, EventOccurrence> = HashMap::new();
    let mut intervals = Vec::new();
    for occurrence in occurrences.into_iter().filter(|occurrence| occurrence.kind == MarkKind::Begin) {
        let lane = match &occurrence.key {
            Some(key) => Lane::Keyed(key.clone()),
            None if occurrence.thread.is_none_or(ThreadId::is_idle) => Lane::Idle(occurrence.cpu),
            None => Lane::Thread(occurrence.thread),
        };
        let (stop, stop_thread, record) = (occurrence.time, occurrence.thread, occurrence.offset);
        let Some(begin) = last.insert(lane, occurrence) else { continue };
        let range = TscRange::new(begin.time, stop);
        let mut interval = Interval::new(IntervalId(0), label.clone(), range, begin.thread);
        interval.stop_thread = stop_thread;
        let key = begin.key.map(String::from);
        let (counters, record) = (begin.counters, Some(record));
        intervals.push(interval.with(Details { key, counters, record, ..Details::default() }));
    }
    intervals.sort_by_key(|interval| interval.range.start);
    for (number, interval) in (0..).zip(&mut intervals) {
        interval.id = IntervalId(number);
    }
    findings.into_set(intervals)
}

#[cfg(test)]
mod tests;
