//! From an attribution to the report's plain values.
//!
//! Every length is a difference of converted cumulative edges, so the segments' lengths add up to the interval's.
//! `during` is clipped to its wait and to a bounded depth.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use model::{Attribute, Attribution, Evidence, Interval, Segment, ThreadId, Tsc, TscRange};

use super::children;
use crate::calls::CallTree;
use crate::causes::cause_totals;
use crate::machine::Machine;
use crate::outlier::{
    AttributeValue, CounterValue, EvidenceReport, OutlierReport, SegmentReport, StageReport, ThreadName,
};
use crate::serving;
use crate::timebase::Timebase;

/// How deep `during` is followed: deeper than any critical path a person reads.
const DURING_DEPTH: usize = 8;

impl OutlierReport {
    /// Resolves `attribution`, compared with `baselines`.
    ///
    /// `comm` names a thread at a time; `None` where it is not recorded. `checks`, `calls`, `code`, `numa`,
    /// `baseline_rule`, `perf_script` and `server_requests` stay empty: they need the capture, which this crate does not know.
    pub fn new<B: Borrow<Attribution>>(
        attribution: &Attribution,
        baselines: &[B],
        timebase: Timebase,
        comm: impl Fn(ThreadId, Tsc) -> Option<String>,
    ) -> OutlierReport {
        let interval = attribution.interval();
        let (causes, baseline_mean_ns) = cause_totals(attribution, baselines, timebase);
        let name = |thread: Option<ThreadId>, at: Tsc| {
            thread.map(|id| ThreadName {
                pid: id.pid.0,
                tid: id.tid.0,
                comm: comm(id, at).unwrap_or_default(),
            })
        };
        let within = interval.range;
        let mut segments = resolve_segments(attribution.segments(), within, within, timebase, DURING_DEPTH);
        serving::compare(&mut segments, baselines, timebase);
        OutlierReport {
            id: interval.id.0,
            label: interval.label.to_string(),
            key: interval.key.clone(),
            start_tsc: interval.range.start.0,
            stop_tsc: interval.range.stop.0,
            start_ns: timebase.perf_time(interval.range.start).map(|time| time.0),
            duration_ns: timebase.duration(interval.range),
            start_thread: name(interval.start_thread, interval.range.start),
            stop_thread: name(interval.stop_thread, interval.range.stop),
            threads: thread_names(attribution, &comm),
            baselines: baselines.iter().map(|baseline| baseline.borrow().interval().id.0).collect(),
            baseline_rule: String::new(),
            baseline_mean_ns,
            checks: Vec::new(),
            counters: counters(interval),
            stages: stages(interval, timebase),
            attributes: attributes(interval),
            children: children::compare(interval, baselines, timebase),
            causes,
            segments,
            calls: CallTree::default(),
            code: Vec::new(),
            machine: Machine::default(),
            numa: None,
            pebs: None,
            time_unit: timebase.unit(),
            perf_script: String::new(),
            server_requests: String::new(),
        }
    }
}

/// The names of all threads that have time here, each as it was when it is first seen, by tid.
fn thread_names(
    attribution: &Attribution,
    comm: &impl Fn(ThreadId, Tsc) -> Option<String>,
) -> BTreeMap<i32, String> {
    let mut names: BTreeMap<i32, String> = BTreeMap::new();
    let mut levels = vec![attribution.segments()];
    while let Some(segments) = levels.pop() {
        for segment in segments {
            if let Some(thread) = segment.thread.filter(|thread| !names.contains_key(&thread.tid.0)) {
                let name = comm(thread, segment.range.start).filter(|name| !name.is_empty());
                names.extend(name.map(|name| (thread.tid.0, name)));
            }
            if !segment.during.is_empty() {
                levels.push(&segment.during);
            }
        }
    }
    names
}

fn counters(interval: &Interval) -> Vec<CounterValue> {
    interval
        .counters
        .iter()
        .map(|counter| CounterValue { name: counter.name.clone(), value: counter.value })
        .collect()
}

fn attributes(interval: &Interval) -> Vec<AttributeValue> {
    let plain =
        |Attribute { name, value }: &Attribute| AttributeValue { name: name.clone(), value: value.clone() };
    interval.attributes.iter().map(plain).collect()
}

/// The stages, clipped to the interval; each ends where the next begins.
fn stages(interval: &Interval, timebase: Timebase) -> Vec<StageReport> {
    let clip = |at: Tsc| at.clamp(interval.range.start, interval.range.stop.max(interval.range.start));
    let starts: Vec<Tsc> = interval.stages.iter().map(|stage| clip(stage.start)).collect();
    let stops = starts.iter().skip(1).copied().chain([interval.range.stop]);
    let spans = starts.iter().zip(stops);
    interval
        .stages
        .iter()
        .zip(spans)
        .map(|(stage, (&start, stop))| StageReport {
            name: stage.name.clone(),
            offset_ns: timebase.duration(TscRange::new(interval.range.start, start)),
            duration_ns: timebase.duration(TscRange::new(start, stop)),
        })
        .collect()
}

/// Those of `pieces` that lie within `within`, cut at its edges, with offsets from the start of `interval`.
fn resolve_segments(
    pieces: &[Segment],
    within: TscRange,
    interval: TscRange,
    timebase: Timebase,
    depth: usize,
) -> Vec<SegmentReport> {
    pieces
        .iter()
        .filter_map(|segment| Some((segment, segment.range.intersection(within)?)))
        .map(|(segment, range)| SegmentReport {
            ticks: range.ticks().0,
            offset_ns: timebase.duration(TscRange::new(interval.start, range.start)),
            duration_ns: timebase.duration(range),
            cpu: segment.cpu.map(|cpu| cpu.0),
            tid: segment.thread.map(|thread| thread.tid.0),
            cause: segment.cause.to_string(),
            certainty: segment.certainty,
            detail: segment.detail.clone(),
            story: segment.story.clone(),
            edge_uncertainty_ns: timebase
                .duration(TscRange::new(range.start, range.start + segment.edge_uncertainty)),
            during: match depth {
                0 => Vec::new(),
                _ => uncompared(resolve_segments(&segment.during, range, interval, timebase, depth - 1)),
            },
            serving: Vec::new(),
            evidence: segment.evidence.iter().map(evidence).collect(),
        })
        .collect()
}

/// What happened during a wait is compared with nothing.
fn uncompared(mut during: Vec<SegmentReport>) -> Vec<SegmentReport> {
    during.iter_mut().for_each(SegmentReport::doubt_expected);
    during
}

fn evidence(evidence: &Evidence) -> EvidenceReport {
    EvidenceReport {
        kind: evidence.kind,
        file_offset: evidence.file_offset.map(|offset| offset.0),
        cpu: evidence.cpu.map(|cpu| cpu.0),
        aux_offset: evidence.aux_offset,
        text: evidence.text.clone(),
    }
}

#[cfg(test)]
mod tests;
