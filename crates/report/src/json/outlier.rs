//! The JSON of one outlier.

use model::{Certainty, SampledFunction};
use schemars::JsonSchema;
use serde::Serialize;

use super::numa::NumaTwin;
use super::pebs::PebsTwin;
use super::words::{CauseWord, CertaintyWord, CheckWord, EvidenceWord, LayerWord, PartWord, UnitWord};
use crate::calls::CallReport;
use crate::causes::CauseTotal;
use crate::escape::bounded_for_json;
use crate::headline::sentence;
use crate::number::JsonNumber;
use crate::outlier::{
    AttributeValue, Check, ChildSpans, EvidenceReport, OutlierReport, SegmentReport, StageReport, ThreadName,
};
use crate::recording::Recording;
use crate::serving::ServingRow;

/// Deeper `during` is left out, so that no report can exhaust the stack.
const DURING_DEPTH: usize = 16;
/// 64 bits in decimal.
const TIME: &str = "^[0-9]{1,20}$";

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "outlier")]
pub(super) struct OutlierTwin {
    id: u64,
    label: String,
    key: Option<String>,
    headline: String,
    #[schemars(regex(pattern = TIME))]
    start_tsc: String,
    #[schemars(regex(pattern = TIME))]
    stop_tsc: String,
    #[schemars(regex(pattern = TIME))]
    start_ns: Option<String>,
    duration_ns: u64,
    time_unit: UnitWord,
    start_thread: Option<ThreadTwin>,
    stop_thread: Option<ThreadTwin>,
    baselines: Vec<u64>,
    baseline_rule: String,
    baseline_mean_ns: Option<u64>,
    checks: Vec<CheckTwin>,
    counters: Vec<CounterTwin>,
    stages: Vec<StageTwin>,
    attributes: Vec<AttributeTwin>,
    children: Vec<ChildTwin>,
    causes: Vec<CauseTwin>,
    segments: Vec<SegmentTwin>,
    calls: Vec<CallTwin>,
    recording: Option<RecordingTwin>,
    numa: Option<NumaTwin>,
    pebs: Option<PebsTwin>,
    perf_script: Option<String>,
    server_requests: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "thread")]
struct ThreadTwin {
    pid: i32,
    tid: i32,
    comm: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "check")]
struct CheckTwin {
    name: String,
    state: CheckWord,
    detail: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "counter")]
struct CounterTwin {
    name: String,
    #[schemars(with = "Option<f64>")]
    value: Option<JsonNumber>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "stage")]
struct StageTwin {
    name: String,
    offset_ns: u64,
    duration_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attribute")]
struct AttributeTwin {
    name: String,
    value: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "child")]
struct ChildTwin {
    label: String,
    spans: u64,
    duration_ns: u64,
    typical_ns: u64,
    excess_ns: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "cause")]
struct CauseTwin {
    cause: CauseWord,
    duration_ns: u64,
    typical_ns: u64,
    excess_ns: i64,
    count: u64,
    certainty: CertaintyWord,
    detail: String,
    recording_ns: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "segment")]
struct SegmentTwin {
    offset_ns: u64,
    duration_ns: u64,
    cpu: Option<u32>,
    tid: Option<i32>,
    cause: CauseWord,
    certainty: CertaintyWord,
    detail: String,
    edge_uncertainty_ns: u64,
    part: Option<PartWord>,
    sampled: Vec<SampledTwin>,
    during: Vec<SegmentTwin>,
    serving: Vec<ServingTwin>,
    evidence: Vec<EvidenceTwin>,
}

/// A sample infers that the function ran; the word is always `inferred`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sampled_function")]
struct SampledTwin {
    function: String,
    samples: u64,
    certainty: CertaintyWord,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "serving")]
struct ServingTwin {
    part: Option<PartWord>,
    kind: String,
    unusual: String,
    duration_ns: u64,
    typical_ns: u64,
    excess_ns: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "call")]
pub(crate) struct CallTwin {
    function: String,
    caller: Option<usize>,
    layer: LayerWord,
    self_ns: u64,
    typical_self_ns: u64,
    calls: u64,
    recording: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "recording")]
struct RecordingTwin {
    duration_ns: u64,
    typical_ns: u64,
    events: Vec<RecordedEventTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "recorded_event")]
struct RecordedEventTwin {
    event: String,
    duration_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "evidence")]
struct EvidenceTwin {
    kind: EvidenceWord,
    file_offset: Option<u64>,
    cpu: Option<u32>,
    aux_offset: Option<u64>,
    text: String,
}

impl OutlierTwin {
    pub(super) fn new(outlier: &OutlierReport) -> OutlierTwin {
        let recording = Recording::of(&outlier.calls);
        let command = |line: &str| (!line.is_empty()).then(|| bounded_for_json(line));
        OutlierTwin {
            id: outlier.id,
            label: bounded_for_json(&outlier.label),
            key: outlier.key.as_deref().map(bounded_for_json),
            headline: bounded_for_json(&sentence(outlier)),
            start_tsc: outlier.start_tsc.to_string(),
            stop_tsc: outlier.stop_tsc.to_string(),
            start_ns: outlier.start_ns.map(|time| time.to_string()),
            duration_ns: outlier.duration_ns,
            time_unit: outlier.time_unit.into(),
            start_thread: outlier.start_thread.as_ref().map(ThreadTwin::new),
            stop_thread: outlier.stop_thread.as_ref().map(ThreadTwin::new),
            baselines: outlier.baselines.clone(),
            baseline_rule: bounded_for_json(&outlier.baseline_rule),
            baseline_mean_ns: outlier.baseline_mean_ns,
            checks: outlier.checks.iter().map(CheckTwin::new).collect(),
            counters: outlier
                .counters
                .iter()
                .map(|counter| CounterTwin {
                    name: bounded_for_json(&counter.name),
                    value: Some(counter.value).filter(|value| value.is_finite()).map(JsonNumber::from),
                })
                .collect(),
            stages: outlier.stages.iter().map(StageTwin::new).collect(),
            attributes: outlier.attributes.iter().map(AttributeTwin::new).collect(),
            children: outlier.children.iter().map(ChildTwin::new).collect(),
            causes: outlier.causes.iter().map(|cause| CauseTwin::new(cause, recording.as_ref())).collect(),
            segments: segment_twins(&outlier.segments, DURING_DEPTH),
            calls: outlier.calls.nodes.iter().map(CallTwin::new).collect(),
            recording: recording.as_ref().map(RecordingTwin::new),
            numa: outlier.numa.as_ref().map(NumaTwin::new),
            pebs: outlier.pebs.as_ref().map(PebsTwin::new),
            perf_script: command(&outlier.perf_script),
            server_requests: command(&outlier.server_requests),
        }
    }
}

fn segment_twins(segments: &[SegmentReport], depth: usize) -> Vec<SegmentTwin> {
    segments.iter().map(|segment| SegmentTwin::new(segment, depth)).collect()
}

impl SegmentTwin {
    fn new(segment: &SegmentReport, depth: usize) -> SegmentTwin {
        SegmentTwin {
            offset_ns: segment.offset_ns,
            duration_ns: segment.duration_ns,
            cpu: segment.cpu,
            tid: segment.tid,
            cause: CauseWord::new(&segment.cause),
            certainty: segment.certainty.into(),
            detail: bounded_for_json(&segment.detail),
            edge_uncertainty_ns: segment.edge_uncertainty_ns,
            part: segment.story.part.and_then(PartWord::new),
            sampled: segment.story.sampled.iter().map(SampledTwin::new).collect(),
            during: match depth {
                0 => Vec::new(),
                _ => segment_twins(&segment.during, depth - 1),
            },
            serving: segment.serving.iter().map(ServingTwin::new).collect(),
            evidence: segment.evidence.iter().map(EvidenceTwin::new).collect(),
        }
    }
}

impl SampledTwin {
    fn new(sampled: &SampledFunction) -> SampledTwin {
        SampledTwin {
            function: bounded_for_json(&sampled.function),
            samples: sampled.samples,
            certainty: Certainty::Inferred.into(),
        }
    }
}

impl ServingTwin {
    fn new(row: &ServingRow) -> ServingTwin {
        ServingTwin {
            part: row.part.and_then(PartWord::new),
            kind: bounded_for_json(&row.kind),
            unusual: bounded_for_json(&row.unusual),
            duration_ns: row.duration_ns,
            typical_ns: row.typical_ns,
            excess_ns: row.excess_ns(),
        }
    }
}

impl ThreadTwin {
    fn new(thread: &ThreadName) -> ThreadTwin {
        ThreadTwin { pid: thread.pid, tid: thread.tid, comm: bounded_for_json(&thread.comm) }
    }
}

impl CheckTwin {
    fn new(check: &Check) -> CheckTwin {
        CheckTwin {
            name: bounded_for_json(&check.name),
            state: check.state.into(),
            detail: bounded_for_json(&check.detail),
        }
    }
}

impl StageTwin {
    fn new(stage: &StageReport) -> StageTwin {
        StageTwin {
            name: bounded_for_json(&stage.name),
            offset_ns: stage.offset_ns,
            duration_ns: stage.duration_ns,
        }
    }
}

impl AttributeTwin {
    fn new(one: &AttributeValue) -> AttributeTwin {
        AttributeTwin { name: bounded_for_json(&one.name), value: bounded_for_json(&one.value) }
    }
}

impl ChildTwin {
    fn new(child: &ChildSpans) -> ChildTwin {
        ChildTwin {
            label: bounded_for_json(&child.label),
            spans: child.spans,
            duration_ns: child.duration_ns,
            typical_ns: child.typical_ns,
            excess_ns: child.excess_ns(),
        }
    }
}

impl CauseTwin {
    fn new(cause: &CauseTotal, recording: Option<&Recording>) -> CauseTwin {
        CauseTwin {
            cause: CauseWord::new(&cause.cause),
            duration_ns: cause.duration_ns,
            typical_ns: cause.typical_ns,
            excess_ns: cause.excess_ns,
            count: cause.count,
            certainty: cause.certainty.into(),
            detail: bounded_for_json(&cause.detail),
            recording_ns: recording.and_then(|recording| recording.causes.get(&cause.cause).copied()),
        }
    }
}

impl RecordingTwin {
    fn new(recording: &Recording) -> RecordingTwin {
        let event = |(event, own): &(String, u64)| RecordedEventTwin {
            event: bounded_for_json(event),
            duration_ns: *own,
        };
        RecordingTwin {
            duration_ns: recording.own_ns,
            typical_ns: recording.typical_ns,
            events: recording.events.iter().map(event).collect(),
        }
    }
}

impl EvidenceTwin {
    fn new(evidence: &EvidenceReport) -> EvidenceTwin {
        EvidenceTwin {
            kind: evidence.kind.into(),
            file_offset: evidence.file_offset,
            cpu: evidence.cpu,
            aux_offset: evidence.aux_offset,
            text: bounded_for_json(&evidence.text),
        }
    }
}

impl CallTwin {
    pub(crate) fn new(node: &CallReport) -> CallTwin {
        CallTwin {
            function: bounded_for_json(&node.name),
            caller: node.parent,
            layer: node.layer.into(),
            self_ns: node.self_ns,
            typical_self_ns: node.typical_self_ns,
            calls: node.calls,
            recording: (!node.recording.is_empty()).then(|| bounded_for_json(&node.recording)),
        }
    }
}
