//! Perfetto traces: the slices of track events, as the Perfetto SDK, Chromium and Dart write them.
//!
//! Input: a stream of the field `packet` of the message `Trace`. Output: an interval for each slice, in the clock of its first
//! event. Slices are paired by time on each track when all packets are read, for several writers may share a track.
//! Sources: Perfetto's `trace_packet.proto`, `track_event.proto`, `clock_snapshot.proto` and "Synchronization of multiple clock
//! domains" in its documentation.

mod clocks;
mod messages;
mod packets;
mod sequence;
mod tracks;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::rc::Rc;

use model::Severity;
use prost::Message as _;

use self::clocks::{Kernels, Snapshots};
use self::messages::{TRACE_PACKET, TracePacket};
use self::packets::{Found, Packets};
use self::sequence::Sequence;
use self::tracks::{Mark, Tracks, What};
use super::keeping::{Attributes, Keeping};
use crate::file::draft::Draft;
use crate::findings::Origin;

/// Types of track events.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// Flags of a packet: its writer's state starts anew with it; it needs that state.
const CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;
/// The most bytes that the compressed packets of one packet may be.
const LARGEST_INFLATED: u64 = 64 << 20;

/// Whether a file that begins with these bytes is a trace: its first packet consists of fields, and another packet follows. A text
/// that begins with an empty line is none.
pub(super) fn begin_with(bytes: &[u8]) -> bool {
    packets::first(bytes).is_some_and(|packet| !packet.is_empty() && packets::are_fields(packet))
}

/// Reads all slices.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read<R: BufRead>(reader: R, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let mut trace = Trace {
        keeping: Keeping::new(draft, Rc::default()),
        sequences: HashMap::new(),
        snapshots: Snapshots::default(),
        tracks: Tracks::default(),
    };
    let mut packets = Packets::new(reader);
    loop {
        match packets.next()? {
            Found::End => break,
            Found::Packet { at, bytes } => trace.packet(bytes, Origin::Byte(at), true),
            Found::Wrong { at, what } => {
                trace.complain(Severity::Error, "broken packets", Origin::Byte(at), what);
            }
        }
    }
    let Trace { mut keeping, snapshots, tracks, .. } = trace;
    let Some(clock) = snapshots.clock() else {
        return Ok(Err("the Perfetto trace holds no slices of track events".to_owned()));
    };
    tracks.finish(&mut keeping);
    keeping.draft.name_clock(clock);
    Ok(Ok(()))
}

struct Trace<'d> {
    keeping: Keeping<'d>,
    sequences: HashMap<u32, Sequence>,
    snapshots: Snapshots,
    tracks: Tracks,
}

impl Trace<'_> {
    fn complain(&mut self, severity: Severity, kind: &'static str, origin: Origin, what: impl Into<String>) {
        self.keeping.draft.findings.add(severity, kind, origin, || what.into());
    }

    fn packet(&mut self, bytes: &[u8], origin: Origin, may_be_compressed: bool) {
        let packet = match TracePacket::decode(bytes) {
            Ok(packet) => packet,
            Err(error) => {
                let what = format!("not as Perfetto's packets are written: {error}: it is left out");
                return self.complain(Severity::Error, "broken packets", origin, what);
            }
        };
        match &packet.compressed_packets {
            Some(compressed) if may_be_compressed => return self.inflate(compressed, origin),
            Some(_) => {
                let what = "compressed packets within compressed ones: they are left out";
                return self.complain(Severity::Error, "broken packets", origin, what);
            }
            None => {}
        }
        let number = packet.sequence.unwrap_or_default();
        let mut sequence = self.sequences.remove(&number).unwrap_or_default();
        self.state(&packet, &mut sequence, origin);
        // The sum of an incremental clock needs each packet.
        let clock = packet.clock.or(sequence.default_clock());
        let timed = self.snapshots.kernels(packet.timestamp, clock, &mut sequence.clocks);
        if let Some(event) = packet.event.as_deref().filter(|event| is_slice(event)) {
            let needs_state = packet.flags.unwrap_or_default() & NEEDS_STATE != 0;
            self.event(event, timed, needs_state, &mut sequence, origin);
        }
        self.sequences.insert(number, sequence);
    }

    /// Packets within a packet: `deflate` of what a trace consists of.
    fn inflate(&mut self, compressed: &[u8], origin: Origin) {
        let inflated = flate2::bufread::ZlibDecoder::new(compressed);
        let mut packets = Packets::new(io::BufReader::new(io::Read::take(inflated, LARGEST_INFLATED)));
        loop {
            match packets.next() {
                Ok(Found::End) => return,
                Ok(Found::Packet { bytes, .. }) => self.packet(bytes, origin, false),
                Ok(Found::Wrong { what, .. }) => {
                    let what = format!("within compressed packets: {what}");
                    return self.complain(Severity::Error, "broken packets", origin, what);
                }
                Err(error) => {
                    let what = format!(
                        "compressed packets that cannot be read: {error}: the rest of them is left out"
                    );
                    return self.complain(Severity::Error, "broken packets", origin, what);
                }
            }
        }
    }

    /// What a packet says of its writer, of clocks and tracks.
    fn state(&mut self, packet: &TracePacket, sequence: &mut Sequence, origin: Origin) {
        let is_first = packet.is_first.unwrap_or_default();
        if packet.dropped.unwrap_or_default() != 0 && !is_first && sequence.has_begun() {
            let what =
                "packets before this one were dropped: slices of their writer that were open are left out";
            self.complain(Severity::Warning, "dropped packets", origin, what);
            self.tracks.lose(sequence.used_tracks());
            sequence.lose();
        }
        if packet.flags.unwrap_or_default() & CLEARED != 0 || packet.is_cleared.unwrap_or_default() {
            sequence.clear();
        }
        if let Some(defaults) = &packet.defaults {
            sequence.set_defaults(defaults);
        }
        if let Some(interned) = &packet.interned {
            sequence.intern(interned);
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            self.snapshots.take(snapshot, &mut sequence.clocks);
        }
        if let Some(descriptor) = &packet.track {
            self.tracks.describe(descriptor);
        }
    }

    fn event(
        &mut self,
        event: &messages::TrackEvent,
        timed: Result<Kernels, String>,
        needs_state: bool,
        sequence: &mut Sequence,
        origin: Origin,
    ) {
        let is_begin = event.kind == Some(SLICE_BEGIN);
        let id = if is_begin { Some(self.keeping.number()) } else { None };
        if needs_state && !sequence.is_whole() {
            let what = "an event needs what dropped packets held: it is left out";
            return self.complain(Severity::Warning, "events after dropped packets", origin, what);
        }
        let name = sequence.name(event).unwrap_or_default();
        let at = match timed.and_then(|timed| self.snapshots.converted(timed)) {
            Ok(at) => at,
            Err(what) => return self.keeping.refuse(origin, &name, ("wrong times", what)),
        };
        let mut attributes = Attributes::default();
        for annotation in &event.annotations {
            sequence.annotate(annotation, &mut attributes);
        }
        let track = event.track.or(sequence.default_track()).unwrap_or_default();
        sequence.uses(track);
        let what = match id {
            Some(id) => What::Begin { id, name, flow: event.flows.first().copied() },
            None => What::End,
        };
        let writer = sequence.default_track();
        if !self.tracks.keep(Mark { track, writer, at, what, attributes: attributes.boxed(), origin }) {
            let what = "100 million are kept: the rest is left out";
            self.complain(Severity::Error, "events beyond the limit", origin, what);
        }
    }
}

fn is_slice(event: &messages::TrackEvent) -> bool {
    matches!(event.kind, Some(SLICE_BEGIN | SLICE_END))
}

/// The tag of the one field that a trace consists of.
const PACKET_TAG: u8 = (TRACE_PACKET << 3) | 2;
