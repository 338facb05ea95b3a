//! Perfetto's native trace format: `protos/perfetto/trace/perfetto_trace.proto`, the part with tracks and slices.
//!
//! Each outlier has a track of its own, and below it one per thread, one per CPU, one for its call stacks and one per
//! counter: nothing of two overlapping outliers can mix. Flows lead from one thread's track to another's: with a request, and back
//! with the answer; each has an identity of its own, in the whole trace.

use std::collections::{BTreeMap, HashMap};

use model::Number;

use super::protobuf::Message;
use super::tracks::{all_segments, by_thread, handovers, name};
use crate::calls::CallTree;
use crate::escape::for_terminal;
use crate::headline::sentence;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::report::Report;

/// Of `Trace`, `TracePacket`, `TrackDescriptor`, `TrackEvent`, `DebugAnnotation`.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_EVENT: u32 = 11;
    pub(super) const PACKET_FLAGS: u32 = 13;
    pub(super) const PACKET_TRACK: u32 = 60;
    pub(super) const TRACK_UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const TRACK_PARENT: u32 = 5;
    pub(super) const TRACK_COUNTER: u32 = 8;
    pub(super) const TRACK_ORDERING: u32 = 11;
    pub(super) const TRACK_RANK: u32 = 12;
    pub(super) const EVENT_ANNOTATION: u32 = 4;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_CATEGORY: u32 = 22;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_COUNT: u32 = 30;
    pub(super) const EVENT_DOUBLE: u32 = 44;
    pub(super) const EVENT_FLOW: u32 = 47;
    pub(super) const EVENT_FLOW_END: u32 = 48;
    pub(super) const ANNOTATION_UINT: u32 = 3;
    pub(super) const ANNOTATION_TEXT: u32 = 6;
    pub(super) const ANNOTATION_NAME: u32 = 10;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: this sequence depends on nothing before it.
const FRESH: u64 = 1;
/// `ChildTracksOrdering.EXPLICIT`: by rank.
const BY_RANK: u64 = 3;

/// The trace of all outliers.
pub fn export_perfetto(report: &Report) -> Vec<u8> {
    let mut trace = Trace::default();
    for (rank, outlier) in report.outliers.iter().enumerate() {
        trace.outlier(outlier, rank as u64);
    }
    trace.bytes
}

#[derive(Default)]
struct Trace {
    bytes: Vec<u8>,
    tracks: u64,
    flows: u64,
}

/// The flows that leave or enter a segment, by its address: the field that says which, and the flow.
type Flows = HashMap<*const SegmentReport, Vec<(u32, u64)>>;

impl Trace {
    fn outlier(&mut self, outlier: &OutlierReport, rank: u64) {
        let start = outlier.start_ns.unwrap_or(0);
        let top = self.track(None, &name(outlier), rank, None);
        let about =
            vec![annotation("verdict", &sentence(outlier)), annotation("stock perf", &outlier.perf_script)];
        self.slice(top, &name(outlier), "interval", (start, outlier.duration_ns), &about);
        let mut rank = 0..;
        let mut track =
            |trace: &mut Trace, name: &str| trace.track(Some(top), name, rank.next().unwrap_or(0), None);
        if !outlier.stages.is_empty() {
            let stages = track(self, "stages");
            for stage in &outlier.stages {
                let span = (start.saturating_add(stage.offset_ns), stage.duration_ns);
                self.slice(stages, &stage.name, "stage", span, &[]);
            }
        }
        let flows = self.flows(outlier);
        for ((level, tid), segments) in by_thread(outlier) {
            let thread = match (level, tid) {
                (0, tid) => outlier.thread_words(tid),
                // Time below a wait that is no thread's is that of the interrupt that ended it.
                (_, None) => "during a wait: interrupt".to_owned(),
                (_, tid) => format!("during a wait: {}", outlier.thread_words(tid)),
            };
            let thread = track(self, &thread);
            self.segments(thread, start, &segments, &flows);
        }
        if !outlier.calls.stretches.is_empty() {
            let stacks = track(self, "functions");
            self.stacks(stacks, start, &outlier.calls);
        }
        for (cpu, segments) in by_cpu(outlier) {
            let track = track(self, &format!("CPU {cpu}"));
            self.segments(track, start, &segments, &Flows::new());
        }
        for counter in &outlier.counters {
            let track = self.track(Some(top), &counter.name, 1000, Some(()));
            for at in [start, start.saturating_add(outlier.duration_ns)] {
                self.event(at, &counted(event(COUNTER, track), counter.value));
            }
        }
    }

    fn flows(&mut self, outlier: &OutlierReport) -> Flows {
        let mut flows = Flows::new();
        for (from, to) in handovers(outlier) {
            self.flows += 1;
            flows.entry(std::ptr::from_ref(from)).or_default().push((field::EVENT_FLOW, self.flows));
            flows.entry(std::ptr::from_ref(to)).or_default().push((field::EVENT_FLOW_END, self.flows));
        }
        flows
    }

    fn segments(&mut self, track: u64, start: u64, segments: &[&SegmentReport], flows: &Flows) {
        for &segment in segments {
            let mut about = vec![annotation("certainty", &segment.certainty.to_string())];
            if !segment.detail.is_empty() {
                about.push(annotation("particulars", &segment.detail));
            }
            about.extend(segment.story.part.map(|part| annotation("part", part.name())));
            about.extend(segment.cpu.map(|cpu| number("cpu", u64::from(cpu))));
            about.extend(segment.evidence.iter().take(4).map(|found| annotation("evidence", &found.words())));
            let span = (start.saturating_add(segment.offset_ns), segment.duration_ns);
            let begin = opening(track, &segment.cause, "cause", &about);
            let leading = flows.get(&std::ptr::from_ref(segment)).into_iter().flatten();
            self.span(track, &leading.fold(begin, |event, &(field, flow)| event.fixed(field, flow)), span);
        }
    }

    /// Nested slices: from one stretch to the next only what changes ends and begins.
    fn stacks(&mut self, track: u64, start: u64, calls: &CallTree) {
        let (mut open, mut until) = (Vec::new(), start);
        for stretch in &calls.stretches {
            let at = start.saturating_add(stretch.offset_ns);
            let chain = calls.chain(stretch.node);
            let same =
                if at == until { open.iter().zip(&chain).take_while(|(a, b)| a == b).count() } else { 0 };
            self.end(track, until, open.len() - same);
            for &node in &chain[same..] {
                let begin = event(SLICE_BEGIN, track).text(field::EVENT_CATEGORY, "function");
                self.event(at, &begin.text(field::EVENT_NAME, &for_terminal(&calls.nodes[node].name)));
            }
            (open, until) = (chain, at.saturating_add(stretch.duration_ns));
        }
        self.end(track, until, open.len());
    }

    /// Ends the innermost `count` slices.
    fn end(&mut self, track: u64, at: u64, count: usize) {
        for _ in 0..count {
            self.event(at, &event(SLICE_END, track));
        }
    }

    fn slice(&mut self, track: u64, name: &str, category: &str, span: (u64, u64), about: &[Message]) {
        self.span(track, &opening(track, name, category, about), span);
    }

    /// A slice that `begin` opens.
    fn span(&mut self, track: u64, begin: &Message, (start, duration): (u64, u64)) {
        self.event(start, begin);
        self.event(start.saturating_add(duration), &event(SLICE_END, track));
    }

    /// A new track below `parent`; with `counter` one of numbers.
    fn track(&mut self, parent: Option<u64>, name: &str, rank: u64, counter: Option<()>) -> u64 {
        self.tracks += 1;
        let uuid = self.tracks;
        let mut track = Message::default()
            .uint(field::TRACK_UUID, uuid)
            .text(field::TRACK_NAME, &for_terminal(name))
            .uint(field::TRACK_ORDERING, BY_RANK)
            .uint(field::TRACK_RANK, rank);
        if let Some(parent) = parent {
            track = track.uint(field::TRACK_PARENT, parent);
        }
        if counter.is_some() {
            track = track.message(field::TRACK_COUNTER, &Message::default());
        }
        let flags = if uuid == 1 { FRESH } else { 0 };
        self.packet(Message::default().uint(field::PACKET_FLAGS, flags).message(field::PACKET_TRACK, &track));
        uuid
    }

    fn event(&mut self, at: u64, event: &Message) {
        self.packet(Message::default().uint(field::PACKET_TIMESTAMP, at).message(field::PACKET_EVENT, event));
    }

    fn packet(&mut self, packet: Message) {
        let packet = packet.uint(field::PACKET_SEQUENCE, 1);
        self.bytes.extend(Message::default().message(field::TRACE_PACKET, &packet).into_bytes());
    }
}

/// What ran on each CPU, in order of time. Off-CPU segments name the CPU that the thread left, and are not on it.
fn by_cpu(outlier: &OutlierReport) -> BTreeMap<u32, Vec<&SegmentReport>> {
    let mut cpus: BTreeMap<u32, Vec<&SegmentReport>> = BTreeMap::new();
    for (_, segment) in all_segments(outlier) {
        if let Some(cpu) = segment.cpu.filter(|_| !segment.cause.starts_with("offcpu.")) {
            cpus.entry(cpu).or_default().push(segment);
        }
    }
    for segments in cpus.values_mut() {
        segments.sort_by_key(|segment| segment.offset_ns);
    }
    cpus
}

fn event(kind: u64, track: u64) -> Message {
    Message::default().uint(field::EVENT_TYPE, kind).uint(field::EVENT_TRACK, track)
}

/// The event that begins a slice.
fn opening(track: u64, name: &str, category: &str, about: &[Message]) -> Message {
    let begin = event(SLICE_BEGIN, track)
        .text(field::EVENT_CATEGORY, category)
        .text(field::EVENT_NAME, &for_terminal(name));
    about.iter().fold(begin, |event, about| event.message(field::EVENT_ANNOTATION, about))
}

/// A counter's event with its value: exact where it is a whole number of `counter_value`, an int64.
fn counted(event: Message, value: Number) -> Message {
    match value.as_whole().and_then(|whole| i64::try_from(whole).ok()) {
        Some(whole) => event.uint(field::EVENT_COUNT, whole.cast_unsigned()),
        None => event.double(field::EVENT_DOUBLE, value.as_f64()),
    }
}

fn annotation(name: &str, text: &str) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).text(field::ANNOTATION_TEXT, &for_terminal(text))
}

fn number(name: &str, value: u64) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).uint(field::ANNOTATION_UINT, value)
}
