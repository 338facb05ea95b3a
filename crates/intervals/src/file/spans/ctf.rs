//! Traces in the Common Trace Format 1.8, as `LTTng` and babeltrace2 write them.
//!
//! Input: the metadata, then the packets of all streams one after the other; or a folder with a file for each. Output: an interval for each pair of
//! events whose names say that one begins what the other ends ([`marks`]). A packet that cannot be read has its place, and the next one is
//! found by the number that it begins with.
//! Source: "Common Trace Format v1.8.3" (diamon.org/ctf).

mod bits;
mod declarations;
mod folder;
mod marks;
mod metadata;
mod packets;
mod tokens;
mod types;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

use model::{Pid, Severity, ThreadId, Tid};

use self::bits::{Bits, Work};
use self::marks::{Marks, Named, named};
use self::metadata::{Metadata, Stream};
use self::packets::{LARGEST, METADATA, PACKET, Packets};
use self::types::{Field, MOST_VALUES, Type, last, unsigned};
use super::keeping::Keeping;
use crate::clock::Clock;
use crate::file::draft::Draft;
use crate::findings::Origin;

/// How metadata begins that is a text.
const TEXT: &[u8] = b"/* CTF 1.8 */";
/// What heads of packets may take.
const MOST_HEAD: u64 = 4096;
/// So many times the next packet is looked for where none begins; each time costs as much as a head.
const MOST_LOST: u32 = 10_000;

/// Whether a file that begins with these bytes is a trace, its metadata first.
pub(super) fn begin_with(bytes: &[u8]) -> bool {
    packets::begin_with(bytes, METADATA) || bytes.starts_with(TEXT)
}

/// Reads all pairs of events.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read<R: BufRead>(reader: R, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let mut packets = Packets::new(reader);
    let metadata = match declared(packets.metadata()?) {
        Ok(metadata) => metadata,
        Err(why) => return Ok(Err(why)),
    };
    let work = Work::new();
    let mut trace = Trace::new(&metadata, &work);
    draft.name_clock(trace.clock());
    let mut keeping = Keeping::new(draft, Rc::default());
    trace.stream(&mut packets, &mut keeping)?;
    trace.finish(&mut keeping);
    Ok(Ok(()))
}

/// The same of a folder, file by file: what is cut off in one takes nothing of the next one.
///
/// # Errors
/// Where a file cannot be read, or there is no trace, or more than one.
pub(in crate::file) fn read_folder(path: &Path, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let open = |file: &Path| Ok::<_, io::Error>(BufReader::with_capacity(1 << 18, File::open(file)?));
    let folder = folder::find(path)?;
    let mut packets = Packets::new(open(&folder.metadata)?);
    let metadata = match declared(packets.metadata()?) {
        Ok(metadata) => metadata,
        Err(why) => return Ok(Err(format!("{}: {why}", folder.metadata.display()))),
    };
    let work = Work::new();
    let mut trace = Trace::new(&metadata, &work);
    draft.name_clock(trace.clock());
    for file in folder.streams {
        let part = draft.findings.part(file.display().to_string());
        let mut packets = Packets::of_part(open(&file)?, part);
        trace.stream(&mut packets, &mut Keeping::new(draft, Rc::default()))?;
    }
    trace.finish(&mut Keeping::new(draft, Rc::default()));
    Ok(Ok(()))
}

/// What the metadata declare; why they cannot be used.
fn declared(text: Result<String, String>) -> Result<Metadata, String> {
    text.and_then(|text| Metadata::of(&text)).map_err(|why| {
        let what = "the metadata of the trace cannot be used";
        format!("{what}: {why}. TSDL of CTF 1.8 is read, as LTTng and babeltrace2 write it")
    })
}

fn say_discarded(count: u64, keeping: &mut Keeping<'_>) {
    if count > 0 {
        keeping.draft.findings.add(Severity::Warning, "discarded events", Origin::Unknown, || {
            format!("the tracer discarded {count} events: an interval without a key that spans such a loss may have another one's end. `lttng enable-channel --subbuf-size --num-subbuf` gives larger buffers")
        });
    }
}

/// So many streams and CPUs are counted by themselves in what they discarded.
const MOST_COUNTS: usize = 1 << 16;

/// A trace in reading.
struct Trace<'a> {
    metadata: &'a Metadata,
    /// What the events' names say.
    named: HashMap<(u64, u64), Option<Named>>,
    marks: Marks,
    /// The count of the last packet of each stream and CPU.
    discarded: HashMap<(u64, u64), u64>,
    work: &'a Work,
}

/// The head of a packet.
struct Head<'a> {
    number: u64,
    stream: &'a Stream,
    bits: Bits<'a>,
    fields: Vec<Field>,
}

impl<'a> Trace<'a> {
    fn new(metadata: &'a Metadata, work: &'a Work) -> Trace<'a> {
        let named = metadata.events.iter().map(|(key, event)| (*key, named(&event.name))).collect();
        Trace { metadata, named, marks: Marks::default(), discarded: HashMap::new(), work }
    }

    /// Reads all packets of a file.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn stream<R: BufRead>(&mut self, packets: &mut Packets<R>, keeping: &mut Keeping<'_>) -> io::Result<()> {
        let mut lost = 0;
        while !packets.ahead(1)?.is_empty() && lost < MOST_LOST && !self.work.is_used_up() {
            let at = packets.at();
            let (read, is_lost) = self.next_packet(packets)?;
            lost += u32::from(is_lost);
            self.work.allow(packets.at() - at);
            if let Err(what) = read {
                keeping.draft.findings.add(Severity::Error, "broken packets", packets.origin(at), || {
                    format!("a packet cannot be read, or not to its end: {what}; the others are used")
                });
            }
        }
        let why = match lost {
            MOST_LOST => format!("no packet began where one should, {MOST_LOST} times"),
            _ if self.work.is_used_up() => {
                "the metadata declare far more values than the trace has bytes".to_owned()
            }
            _ => return Ok(()),
        };
        keeping.draft.findings.add(Severity::Error, "lost packets", packets.origin(packets.at()), || {
            format!("{why}: what follows is not read. `babeltrace2` shows whether the trace is whole")
        });
        Ok(())
    }

    /// Keeps the intervals that all files make.
    fn finish(self, keeping: &mut Keeping<'_>) {
        let discarded = self.discarded.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        say_discarded(discarded, keeping);
        self.marks.pair(keeping);
    }

    fn clock(&self) -> Clock {
        if self.metadata.clock.name == "monotonic" { Clock::Monotonic } else { Clock::Realtime }
    }

    /// A time of the trace's clock in nanoseconds of [`Trace::clock`]; `None` where it has none.
    fn nanoseconds(&self, ticks: u64) -> Option<u64> {
        let clock = &self.metadata.clock;
        let (frequency, billion) = (i128::from(clock.frequency), 1_000_000_000);
        let offset = if self.clock() == Clock::Monotonic { [0, 0] } else { [clock.offset_s, clock.offset] };
        let ticks = i128::from(ticks) + offset[1];
        (offset[0] * billion + ticks * billion / frequency).try_into().ok()
    }

    /// Reads the next packet, or passes over what is none. Whether that was so.
    ///
    /// # Errors
    /// Where the file cannot be read.
    fn next_packet<R: BufRead>(
        &mut self,
        packets: &mut Packets<R>,
    ) -> io::Result<(Result<(), String>, bool)> {
        let at = packets.at();
        let size = match self.head(packets.ahead(MOST_HEAD)?) {
            Ok((_, size)) => size,
            Err(what) => {
                packets.skip(1);
                let is_found = packets.skip_to_packet()?;
                return Ok((Err(if is_found { what } else { format!("{what}; none follows") }), true));
            }
        };
        let origin = packets.origin(at);
        let packet = packets.ahead(size)?;
        let is_whole = packet.len() as u64 == size;
        let read = self.packet(packet, origin);
        packets.skip(usize::try_from(size).unwrap_or(usize::MAX));
        Ok((if is_whole { read } else { Err("the file ends within it: it was cut off".to_owned()) }, false))
    }

    /// Reads the head of a packet; with the bytes that the packet has.
    fn head<'b>(&self, bytes: &'b [u8]) -> Result<(Head<'b>, u64), String>
    where
        'a: 'b,
    {
        if !packets::begin_with(bytes, PACKET) {
            return Err("none begins here".to_owned());
        }
        let mut bits = Bits::new(bytes, self.metadata.is_big, self.work);
        let mut fields = Vec::new();
        let read = |of: &Option<Rc<Type>>, bits: &mut Bits<'b>, fields: &mut Vec<Field>| {
            of.as_ref().is_none_or(|of| of.read(&"".into(), bits, fields).is_some())
        };
        let short = || "its head ends too early".to_owned();
        if !read(&self.metadata.packet_header, &mut bits, &mut fields) {
            return Err(short());
        }
        let number = unsigned(&fields, "stream_id").unwrap_or_default();
        let stream = self.metadata.streams.get(&number);
        let stream = stream.ok_or_else(|| format!("the metadata has no stream {number}"))?;
        if !read(&stream.packet_context, &mut bits, &mut fields) {
            return Err(short());
        }
        let size = unsigned(&fields, "packet_size").ok_or("its head has no packet_size")? / 8;
        if size > LARGEST || size * 8 < bits.at() {
            return Err(format!("it would have {size} bytes"));
        }
        Ok((Head { number, stream, bits, fields }, size))
    }

    fn packet(&mut self, bytes: &[u8], place: Origin) -> Result<(), String> {
        let (Head { number, stream, mut bits, fields: head }, _) = self.head(bytes)?;
        if let Some(content) = unsigned(&head, "content_size") {
            bits.end_at(content);
        }
        // Each packet of a stream counts on from the one before, on each CPU by itself.
        let lane = (number, unsigned(&head, "cpu_id").unwrap_or_default());
        if self.discarded.len() < MOST_COUNTS || self.discarded.contains_key(&lane) {
            let count = self.discarded.entry(lane).or_default();
            *count = (*count).max(unsigned(&head, "events_discarded").unwrap_or_default());
        }
        let mut now = unsigned(&head, "timestamp_begin").unwrap_or_default();
        while !bits.is_over() {
            let begun = bits.at();
            let origin = after(place, begun / 8);
            self.event(number, stream, &mut bits, &mut now, origin)
                .map_err(|what| format!("{what} at its byte {}", begun / 8))?;
            if bits.at() == begun {
                break;
            }
        }
        Ok(())
    }

    fn event(
        &mut self,
        number: u64,
        stream: &Stream,
        bits: &mut Bits<'_>,
        now: &mut u64,
        origin: Origin,
    ) -> Result<(), String> {
        let mut head = Vec::new();
        let read = |of: &Option<Rc<Type>>, bits: &mut Bits<'_>, fields: &mut Vec<Field>| match of {
            Some(of) => of.read(&"".into(), bits, fields),
            None => Some(()),
        };
        read(&stream.event_header, bits, &mut head).ok_or_else(|| cut(&head))?;
        for field in &head {
            if let (Some(count), Some(value)) = (field.time_bits, field.value.whole()) {
                *now = advanced(*now, u64::try_from(value).unwrap_or_default(), count);
            }
        }
        let id = unsigned(&head, "id").unwrap_or_default();
        let Some(event) = self.metadata.events.get(&(number, id)) else {
            return Err(format!("the metadata has no event {id} of stream {number}"));
        };
        let mut context = Vec::new();
        read(&stream.event_context, bits, &mut context).ok_or_else(|| cut(&context))?;
        read(&event.context, bits, &mut context).ok_or_else(|| cut(&context))?;
        let mut fields = Vec::new();
        read(&event.fields, bits, &mut fields).ok_or_else(|| cut(&fields))?;
        if let Some(Some(named)) = self.named.get(&(number, id))
            && let Some(at) = self.nanoseconds(*now)
        {
            self.marks.add(at, named, thread(&context), &fields, origin);
        }
        Ok(())
    }
}

/// Why an event could not be read beyond these fields.
fn cut(fields: &[Field]) -> String {
    if fields.len() >= MOST_VALUES {
        format!("an event has more than {MOST_VALUES} values")
    } else {
        "an event ends too early, or lacks the field that a length or a variant names".to_owned()
    }
}

/// The place so many bytes further on.
fn after(origin: Origin, bytes: u64) -> Origin {
    match origin {
        Origin::Byte(byte) => Origin::Byte(byte + bytes),
        Origin::Part { part, byte } => Origin::Part { part, byte: byte + bytes },
        other => other,
    }
}

/// The thread of an event, by its context.
fn thread(context: &[Field]) -> Option<ThreadId> {
    let number = |names: [&str; 2]| {
        let value = names.into_iter().find_map(|name| last(context, name))?;
        i32::try_from(value.whole()?).ok()
    };
    let tid = number(["vtid", "tid"])?;
    Some(ThreadId { pid: number(["vpid", "pid"]).map_or(Pid::UNKNOWN, Pid), tid: Tid(tid) })
}

/// The time whose low bits are these, at or after `before`.
fn advanced(before: u64, low: u64, count: u32) -> u64 {
    if count >= 64 {
        return low;
    }
    let period = 1_u64 << count;
    let same = before & !(period - 1) | low & (period - 1);
    if same < before { same.saturating_add(period) } else { same }
}
