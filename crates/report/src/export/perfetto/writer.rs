//! Packets of a Perfetto trace: tracks, slices, counters, records of the kernel's tracepoints.
//!
//! Field numbers: `protos/perfetto/trace/perfetto_trace.proto`.

use model::Number;

use crate::escape::for_terminal;
use crate::export::protobuf::Message;

/// Of `Trace`, `TracePacket`, `TrackDescriptor`, `TrackEvent`, `DebugAnnotation`.
pub(super) mod field {
    pub(in crate::export::perfetto) const PACKET: u32 = 1;
    pub(in crate::export::perfetto) const PACKET_FTRACE: u32 = 1;
    pub(in crate::export::perfetto) const PACKET_TIMESTAMP: u32 = 8;
    pub(in crate::export::perfetto) const PACKET_SEQUENCE: u32 = 10;
    pub(in crate::export::perfetto) const PACKET_EVENT: u32 = 11;
    pub(in crate::export::perfetto) const PACKET_FLAGS: u32 = 13;
    pub(in crate::export::perfetto) const PACKET_SYSTEM: u32 = 45;
    pub(in crate::export::perfetto) const PACKET_TRACK: u32 = 60;
    pub(in crate::export::perfetto) const TRACK_UUID: u32 = 1;
    pub(in crate::export::perfetto) const TRACK_NAME: u32 = 2;
    pub(in crate::export::perfetto) const TRACK_PROCESS: u32 = 3;
    pub(in crate::export::perfetto) const TRACK_THREAD: u32 = 4;
    pub(in crate::export::perfetto) const TRACK_PARENT: u32 = 5;
    pub(in crate::export::perfetto) const TRACK_COUNTER: u32 = 8;
    pub(in crate::export::perfetto) const EVENT_ANNOTATION: u32 = 4;
    pub(in crate::export::perfetto) const EVENT_TYPE: u32 = 9;
    pub(in crate::export::perfetto) const EVENT_TRACK: u32 = 11;
    pub(in crate::export::perfetto) const EVENT_CATEGORY: u32 = 22;
    pub(in crate::export::perfetto) const EVENT_NAME: u32 = 23;
    pub(in crate::export::perfetto) const EVENT_COUNT: u32 = 30;
    pub(in crate::export::perfetto) const EVENT_DOUBLE: u32 = 44;
    pub(in crate::export::perfetto) const EVENT_FLOW: u32 = 47;
    pub(in crate::export::perfetto) const EVENT_FLOW_END: u32 = 48;
    pub(in crate::export::perfetto) const ANNOTATION_UINT: u32 = 3;
    pub(in crate::export::perfetto) const ANNOTATION_TEXT: u32 = 6;
    pub(in crate::export::perfetto) const ANNOTATION_NAME: u32 = 10;
    /// `ProcessTree` and its `Thread`.
    pub(in crate::export::perfetto) const PACKET_TREE: u32 = 2;
    pub(in crate::export::perfetto) const TREE_THREADS: u32 = 2;
    pub(in crate::export::perfetto) const TREE_TID: u32 = 1;
    pub(in crate::export::perfetto) const TREE_NAME: u32 = 2;
    pub(in crate::export::perfetto) const TREE_TGID: u32 = 3;
    /// `ProcessDescriptor` and `ThreadDescriptor`.
    pub(in crate::export::perfetto) const OWNER_PID: u32 = 1;
    pub(in crate::export::perfetto) const THREAD_TID: u32 = 2;
    pub(in crate::export::perfetto) const THREAD_NAME: u32 = 5;
    pub(in crate::export::perfetto) const PROCESS_NAME: u32 = 6;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: this sequence depends on nothing before it.
const FRESH: u64 = 1;

/// A trace in the making.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    tracks: u64,
}

impl Writer {
    /// A new track below `parent`, described further by `more`.
    pub(super) fn track(
        &mut self,
        parent: Option<u64>,
        name: &str,
        more: impl FnOnce(Message) -> Message,
    ) -> u64 {
        self.tracks += 1;
        let uuid = self.tracks;
        let mut track = Message::default().uint(field::TRACK_UUID, uuid);
        if !name.is_empty() {
            track = track.text(field::TRACK_NAME, &for_terminal(name));
        }
        if let Some(parent) = parent {
            track = track.uint(field::TRACK_PARENT, parent);
        }
        let flags = if uuid == 1 { FRESH } else { 0 };
        let packet = Message::default().uint(field::PACKET_FLAGS, flags);
        self.packet(packet.message(field::PACKET_TRACK, &more(track)));
        uuid
    }

    /// A slice that `begin` opens.
    pub(super) fn span(&mut self, track: u64, begin: &Message, (start, duration): (u64, u64)) {
        self.event(start, begin);
        self.end(track, start.saturating_add(duration), 1);
    }

    /// Ends the innermost `count` slices.
    pub(super) fn end(&mut self, track: u64, at: u64, count: usize) {
        for _ in 0..count {
            self.event(at, &event(SLICE_END, track));
        }
    }

    /// A counter's value: exact where it is a whole number of `counter_value`, an int64.
    pub(super) fn count(&mut self, track: u64, at: u64, value: Number) {
        let counter = event(COUNTER, track);
        let counter = match value.as_whole().and_then(|whole| i64::try_from(whole).ok()) {
            Some(whole) => counter.uint(field::EVENT_COUNT, whole.cast_unsigned()),
            None => counter.double(field::EVENT_DOUBLE, value.as_f64()),
        };
        self.event(at, &counter);
    }

    pub(super) fn event(&mut self, at: u64, event: &Message) {
        self.packet(Message::default().uint(field::PACKET_TIMESTAMP, at).message(field::PACKET_EVENT, event));
    }

    pub(super) fn packet(&mut self, packet: Message) {
        let packet = packet.uint(field::PACKET_SEQUENCE, 1);
        self.bytes.extend(Message::default().message(field::PACKET, &packet).into_bytes());
    }
}

fn event(kind: u64, track: u64) -> Message {
    Message::default().uint(field::EVENT_TYPE, kind).uint(field::EVENT_TRACK, track)
}

/// The event that begins a slice.
pub(super) fn opening(track: u64, name: &str, category: &str, about: &[Message]) -> Message {
    let begin = event(SLICE_BEGIN, track)
        .text(field::EVENT_CATEGORY, category)
        .text(field::EVENT_NAME, &for_terminal(name));
    about.iter().fold(begin, |event, about| event.message(field::EVENT_ANNOTATION, about))
}

pub(super) fn annotation(name: &str, text: &str) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).text(field::ANNOTATION_TEXT, &for_terminal(text))
}

pub(super) fn number(name: &str, value: u64) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).uint(field::ANNOTATION_UINT, value)
}
