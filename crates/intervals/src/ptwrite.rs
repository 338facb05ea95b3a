//! PTWRITE payloads become intervals: bit fields say what a payload means.
//!
//! Input: [`PtwriteSpec`] and payloads with their times and threads. Output: intervals. Two forms: a mark at the stop
//! whose `ticks` lead back to the start, or a pair of marks with different tags.

mod spec;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;

use model::{Counter, Cpu, Details, Interval, IntervalId, Pid, Severity, ThreadId, Ticks, Tsc, TscRange};

use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
use crate::pairing::{self, Mark, MarkKind};
pub use spec::{BitField, PtwriteForm, PtwriteSpec};
pub use stream::{FlowPtwrites, occurrences};

/// One PTWRITE in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtwriteOccurrence {
    /// When it executed.
    pub time: Tsc,
    /// Where.
    pub cpu: Option<Cpu>,
    /// Who executed it.
    pub thread: Option<ThreadId>,
    /// Its operand.
    pub payload: u64,
    /// The instruction, or the begin of the function that stands in for it, where the trace gives it.
    pub ip: Option<u64>,
    /// Position of the packet in the AUX stream.
    pub aux_offset: u64,
}

impl PtwriteOccurrence {
    fn origin(&self) -> Origin {
        Origin::Aux { cpu: self.cpu, offset: self.aux_offset }
    }
}

/// Intervals from PTWRITE payloads, given in any order.
///
/// An id field that is too narrow repeats: the n-th repetition of an id gets n · 2^width added, so ids stay unique.
/// With a mark at the stop alone the start thread is not known. `text_of` gives the label's text for a payload's field
/// ([`PtwriteSpec::label`]).
pub fn from_ptwrites(
    spec: &PtwriteSpec,
    occurrences: impl IntoIterator<Item = PtwriteOccurrence>,
    text_of: &dyn Fn(&PtwriteOccurrence, BitField) -> Option<Arc<str>>,
) -> IntervalSet {
    let mut occurrences: Vec<PtwriteOccurrence> = occurrences.into_iter().collect();
    occurrences.sort_by_key(|occurrence| occurrence.time);
    let mut findings = Findings::new();
    if occurrences.is_empty() {
        findings.add(Severity::Warning, "captures without PTWRITE", Origin::Unknown, || {
            "the trace holds no PTWRITE, and no emulated one: record with intel_pt/ptw=1/ on a CPU that has it, or check that the program executes ptwrite".to_owned()
        });
    }
    occurrences.retain(|occurrence| {
        if occurrence.time == Tsc(0) {
            findings.add(Severity::Warning, "PTWRITEs without time", occurrence.origin(), || {
                format!(
                    "payload {:#x} lies before the first timing packet: it is left out",
                    occurrence.payload
                )
            });
        }
        occurrence.time != Tsc(0)
    });
    match &spec.form {
        PtwriteForm::Stop { ticks } => {
            from_stops(spec, *ticks, &occurrences, &mut Labels::new(spec, text_of), findings)
        }
        PtwriteForm::Pair { tag, begin, end } => {
            let tags = Tags { field: *tag, begin: *begin, end: *end };
            from_pairs(spec, &tags, &occurrences, &mut Labels::new(spec, text_of), findings)
        }
    }
}

/// What separates begins from ends.
struct Tags {
    field: BitField,
    begin: u64,
    end: u64,
}

/// The labels of marks. A text is looked for once for each process, field and instruction.
struct Labels<'l> {
    field: Option<BitField>,
    text_of: &'l dyn Fn(&PtwriteOccurrence, BitField) -> Option<Arc<str>>,
    known: HashMap<(Option<Pid>, Option<u64>, u64), Arc<str>>,
}

impl<'l> Labels<'l> {
    fn new(
        spec: &PtwriteSpec,
        text_of: &'l dyn Fn(&PtwriteOccurrence, BitField) -> Option<Arc<str>>,
    ) -> Labels<'l> {
        Labels { field: spec.label, text_of, known: HashMap::new() }
    }

    fn of(&mut self, occurrence: &PtwriteOccurrence) -> Arc<str> {
        let value = self.field.map_or(0, |field| field.of(occurrence.payload));
        let pid = occurrence.thread.map(|thread| thread.pid);
        let label = self.known.entry((pid, occurrence.ip, value)).or_insert_with(|| match self.field {
            None => "ptwrite".into(),
            Some(field) => {
                (self.text_of)(occurrence, field).unwrap_or_else(|| format!("ptwrite {value:#x}").into())
            }
        });
        Arc::clone(label)
    }
}

fn from_stops(
    spec: &PtwriteSpec,
    ticks: BitField,
    occurrences: &[PtwriteOccurrence],
    labels: &mut Labels<'_>,
    mut findings: Findings,
) -> IntervalSet {
    let mut ids = Ids::default();
    let mut intervals = Vec::with_capacity(occurrences.len());
    for (number, occurrence) in (0..).zip(occurrences) {
        let length = Ticks(ticks.of(occurrence.payload));
        let id = match spec.id {
            None => Some(number),
            Some(field) => ids.unique(field, occurrence, &mut findings),
        };
        let Some(id) = id else { continue };
        if length.0 > occurrence.time.0 {
            findings.add(Severity::Error, "payloads before the counter's zero", occurrence.origin(), || {
                format!(
                    "payload {:#x} leads {} ticks back, before the counter's zero: it is left out",
                    occurrence.payload, length.0
                )
            });
            continue;
        }
        if length.0 == ticks.highest() {
            findings.add(Severity::Warning, "saturated durations", occurrence.origin(), || {
                format!(
                    "interval {id}: all bits of ticks are set, so it may have lasted longer than {} ticks",
                    length.0
                )
            });
        }
        let range = TscRange { start: occurrence.time.before(length), stop: occurrence.time };
        let mut interval = Interval::new(IntervalId(id), labels.of(occurrence), range, None);
        interval.stop_thread = occurrence.thread;
        let counters = counters(spec, occurrence.payload, "");
        intervals.push(interval.with(Details { counters, ..Details::default() }));
    }
    findings.into_set(intervals)
}

fn from_pairs(
    spec: &PtwriteSpec,
    tags: &Tags,
    occurrences: &[PtwriteOccurrence],
    labels: &mut Labels<'_>,
    mut findings: Findings,
) -> IntervalSet {
    let mut ids = Ids::default();
    let mut marks = Vec::with_capacity(occurrences.len());
    for occurrence in occurrences {
        let tag = tags.field.of(occurrence.payload);
        let is_begin = tag == tags.begin;
        if !is_begin && tag != tags.end {
            findings.add(Severity::Note, "PTWRITEs with other tags", occurrence.origin(), || {
                format!("payload {:#x} has tag {tag:#x}, which is neither begin nor end", occurrence.payload)
            });
            continue;
        }
        let id = match spec.id.filter(|_| is_begin && spec.label.is_none()) {
            None => None,
            Some(field) => match ids.unique(field, occurrence, &mut findings) {
                None => continue,
                found => found,
            },
        };
        marks.push(Mark {
            kind: if is_begin { MarkKind::Begin } else { MarkKind::End },
            label: labels.of(occurrence),
            key: key_of(spec, occurrence.payload),
            at: occurrence.time,
            thread: occurrence.thread,
            cpu: occurrence.cpu,
            id,
            counters: counters(spec, occurrence.payload, if is_begin { "begin." } else { "" }),
            origin: occurrence.origin(),
        });
    }
    let mut set = pairing::pair(marks, findings);
    if spec.label.is_none() {
        // The key is the id once more.
        for interval in &mut set.intervals {
            interval.key = None;
        }
    }
    set
}

/// What pairs a mark with its other one; `None` for marks that nest.
fn key_of(spec: &PtwriteSpec, payload: u64) -> Option<Box<str>> {
    let field = spec.id?;
    let value = field.of(payload);
    (spec.label.is_none() || value != field.highest()).then(|| value.to_string().into())
}

fn counters(spec: &PtwriteSpec, payload: u64, prefix: &str) -> Vec<Counter> {
    spec.counters
        .iter()
        .map(|(name, field)| Counter { name: format!("{prefix}{name}"), value: field.of(payload).into() })
        .collect()
}

/// Makes ids of a field that may wrap unique.
#[derive(Default)]
struct Ids {
    seen: HashMap<u64, u64>,
}

impl Ids {
    fn unique(
        &mut self,
        field: BitField,
        occurrence: &PtwriteOccurrence,
        findings: &mut Findings,
    ) -> Option<u64> {
        let id = field.of(occurrence.payload);
        let times = self.seen.entry(id).or_insert(0);
        let earlier = *times;
        *times += 1;
        if earlier == 0 {
            return Some(id);
        }
        let unique = u64::try_from((u128::from(earlier) << field.width()) + u128::from(id)).ok();
        findings.add(Severity::Note, "repeated ids", occurrence.origin(), || match unique {
            Some(unique) => format!(
                "id {id} occurs again; this one is called {unique} ({id} + {earlier} * 2^{})",
                field.width()
            ),
            None => format!("id {id} occurs again, and no free number is left for it: it is left out"),
        });
        unique
    }
}

#[cfg(test)]
mod tests;
