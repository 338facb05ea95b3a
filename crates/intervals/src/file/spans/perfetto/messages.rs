//! The messages of a trace, with those of their fields that are read; the others are skipped.

use prost::Message;

/// The number of the field `packet` in `Trace`.
pub(super) const TRACE_PACKET: u8 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    /// `trusted_packet_sequence_id`: who wrote it.
    #[prost(uint32, optional, tag = "10")]
    pub(super) sequence: Option<u32>,
    #[prost(message, optional, boxed, tag = "11")]
    pub(super) event: Option<Box<TrackEvent>>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) flags: Option<u32>,
    /// `incremental_state_cleared`, which older writers set instead of the flag.
    #[prost(bool, optional, tag = "41")]
    pub(super) is_cleared: Option<bool>,
    /// `previous_packet_dropped`: why, 0 for "no".
    #[prost(uint32, optional, tag = "42")]
    pub(super) dropped: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "50")]
    pub(super) compressed_packets: Option<Vec<u8>>,
    /// `timestamp_clock_id`.
    #[prost(uint32, optional, tag = "58")]
    pub(super) clock: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub(super) defaults: Option<Defaults>,
    #[prost(message, optional, tag = "60")]
    pub(super) track: Option<TrackDescriptor>,
    /// `first_packet_on_sequence`.
    #[prost(bool, optional, tag = "87")]
    pub(super) is_first: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<ClockReading>,
    /// `primary_trace_clock`: of times without a clock.
    #[prost(uint32, optional, tag = "2")]
    pub(super) primary: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockReading {
    #[prost(uint32, optional, tag = "1")]
    pub(super) id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub(super) is_incremental: Option<bool>,
    #[prost(uint64, optional, tag = "4")]
    pub(super) unit_ns: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) annotations: Vec<Annotation>,
    #[prost(int32, optional, tag = "9")]
    pub(super) kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track: Option<u64>,
    #[prost(bytes = "vec", optional, tag = "23")]
    pub(super) name: Option<Vec<u8>>,
    #[prost(fixed64, repeated, tag = "47")]
    pub(super) flows: Vec<u64>,
}

/// `DebugAnnotation`; dictionaries and arrays are skipped.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Annotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(bytes = "vec", optional, tag = "10")]
    pub(super) name: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "2")]
    pub(super) flag: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) unsigned: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    pub(super) signed: Option<i64>,
    #[prost(double, optional, tag = "5")]
    pub(super) double: Option<f64>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub(super) text: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "17")]
    pub(super) text_iid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Interned>,
    #[prost(message, repeated, tag = "3")]
    pub(super) annotation_names: Vec<Interned>,
    #[prost(message, repeated, tag = "29")]
    pub(super) texts: Vec<Interned>,
}

/// `EventName`, `DebugAnnotationName` and `InternedString` agree in these.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Interned {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) name: Option<Vec<u8>>,
}

/// `TracePacketDefaults`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Defaults {
    #[prost(message, optional, tag = "11")]
    pub(super) event: Option<EventDefaults>,
    #[prost(uint32, optional, tag = "58")]
    pub(super) clock: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EventDefaults {
    #[prost(uint64, optional, tag = "11")]
    pub(super) track: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(super) thread: Option<ThreadDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub(super) tid: Option<i64>,
}
