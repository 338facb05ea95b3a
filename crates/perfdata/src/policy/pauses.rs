//! When other events had paused the trace: AUX pause and resume (Linux 6.13, perf's `aux-action=`).
//!
//! The attributes say which events pause and which resume, and whether the trace begins paused; the samples of these events say
//! when. The kernel stops the trace just before it writes the pausing sample, and starts it just after the resuming one
//! (`__perf_event_overflow` in `kernel/events/core.c`). What is paused is the trace of the CPU that met the event; with a trace
//! of single threads, that of the thread.
//!
//! Invariant: nothing is known from a LOST record on until the next pause or resume.

use std::collections::BTreeMap;
use std::ops::Range;

use model::{Cpu, FileOffset, PerfTime, Tid};

use crate::attr::aux_action;
use crate::ordered_records::OrderedRecords;
use crate::record::{Record, Sample};

/// Whose trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceOf {
    /// That of a CPU.
    Cpu(Cpu),
    /// That of a thread, where single threads are traced.
    Thread(Tid),
}

/// Part of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause<'a> {
    /// When.
    pub range: Range<PerfTime>,
    /// What stopped the trace; `None`: it began so.
    pub by: Option<&'a Turn>,
}

/// A sample that pauses or resumes a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When.
    pub since: PerfTime,
    /// Whether it pauses.
    pub pauses: bool,
    /// The event, as perf was given it.
    pub event: String,
    /// The sample.
    pub record: FileOffset,
}

/// The pauses of a recording.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    starts_paused: bool,
    /// In order of time.
    turns: BTreeMap<TraceOf, Vec<Turn>>,
    /// The LOST records in order of time: a lost one may have paused or resumed any trace.
    losses: Vec<PerfTime>,
}

impl Pauses {
    /// By the attributes and records of a capture; its records are looked at only where an event pauses or resumes.
    pub(crate) fn of(records: &OrderedRecords) -> Pauses {
        let any = |bits| records.attrs.iter().any(|attr| attr.acts_on_trace(bits));
        let mut pauses = Pauses { starts_paused: any(aux_action::START_PAUSED), ..Pauses::default() };
        if !any(aux_action::PAUSE | aux_action::RESUME) {
            return pauses;
        }
        let acting = records
            .all()
            .without_switches()
            .of_events(|attr| attr.acts_on_trace(aux_action::PAUSE | aux_action::RESUME));
        for timed in acting {
            let Some(since) = timed.time else { continue };
            match &timed.record {
                Record::Lost { .. } | Record::LostSamples { .. } => pauses.losses.push(since),
                Record::Sample(sample) => {
                    let Some(turn) = turn(sample, since, timed.offset) else { continue };
                    let traces =
                        [timed.cpu.map(TraceOf::Cpu), timed.thread.map(|thread| TraceOf::Thread(thread.tid))];
                    for trace in traces.into_iter().flatten() {
                        pauses.add(trace, turn.clone());
                    }
                }
                _ => {}
            }
        }
        pauses
    }

    /// Of these, in order of time: for what comes from no file.
    pub fn from_turns(starts_paused: bool, turns: impl IntoIterator<Item = (TraceOf, Turn)>) -> Pauses {
        let mut pauses = Pauses { starts_paused, ..Pauses::default() };
        turns.into_iter().for_each(|(trace, turn)| pauses.add(trace, turn));
        pauses
    }

    /// In order of time.
    fn add(&mut self, trace: TraceOf, turn: Turn) {
        self.turns.entry(trace).or_default().push(turn);
    }

    /// When the trace was paused within `range`, in order of time.
    pub fn within(&self, trace: TraceOf, range: Range<PerfTime>) -> Vec<Pause<'_>> {
        let turns = self.turns.get(&trace).map_or(&[][..], Vec::as_slice);
        let mut pauses = Vec::new();
        let mut add = |from: PerfTime, to: PerfTime, by| {
            let lost = self.losses.get(self.losses.partition_point(|&lost| lost <= from));
            let to = lost.map_or(to, |&lost| to.min(lost)).min(range.end);
            let from = from.max(range.start);
            if from < to {
                pauses.push(Pause { range: from..to, by });
            }
        };
        if self.starts_paused {
            add(PerfTime(0), turns.first().map_or(range.end, |first| first.since), None);
        }
        let next = turns.partition_point(|turn| turn.since <= range.start).saturating_sub(1);
        let of_range = turns[next..].iter().take_while(|turn| turn.since < range.end);
        let ends = turns[next..].iter().skip(1).map(|turn| turn.since).chain([range.end]);
        for (turn, end) in of_range.zip(ends) {
            if turn.pauses {
                add(turn.since, end, Some(turn));
            }
        }
        pauses
    }

    /// The records that determine whether a trace is paused at `time`: the last one of each.
    pub(crate) fn records_before(&self, time: PerfTime) -> impl Iterator<Item = FileOffset> {
        let last = move |turns: &Vec<Turn>| {
            let later = turns.partition_point(|turn| turn.since <= time);
            later.checked_sub(1).map(|index| turns[index].record)
        };
        self.turns.values().filter_map(last)
    }
}

/// What a sample does to the trace.
fn turn(sample: &Sample<'_>, since: PerfTime, record: FileOffset) -> Option<Turn> {
    let attr = sample.attr()?;
    let event = attr.name.clone().unwrap_or_else(|| "an event".to_owned());
    let acts = attr.acts_on_trace(aux_action::PAUSE | aux_action::RESUME);
    acts.then(|| Turn { since, pauses: attr.acts_on_trace(aux_action::PAUSE), event, record })
}

#[cfg(test)]
mod tests;
