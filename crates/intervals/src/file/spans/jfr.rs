//! Recordings of the JDK's flight recorder and of async-profiler: events of the program's own classes that have a duration and a thread,
//! async-profiler's spans, and traced calls of methods.
//!
//! Input: a stream of chunks, each with its metadata and constant pools. Output: an interval for each such event. Times are ticks
//! since an unknown moment; the header of each chunk has one reading of them beside `CLOCK_REALTIME`. Where async-profiler counts
//! nanoseconds they are those of `CLOCK_MONOTONIC`. JFR has no specification; sources: `ChunkHeader`, `MetadataReader`, `ConstantMap` and
//! `EventWriter` of the JDK (package `jdk.jfr.internal`), and its `jfrTime.cpp`; `flightRecorder.cpp`, `jfrMetadata.cpp` and `tsc.h` of
//! async-profiler 4.5.

mod bytes;
mod chunk;
mod metadata;
mod methods;
mod pools;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::rc::Rc;

use model::{Pid, Severity, ThreadId, Tid};

use self::chunk::{Chunk, Event};
use super::keeping::{Keeping, Span};
use super::stream::Stream;
use crate::clock::Clock;
use crate::file::draft::Draft;
use crate::file::tree::Link;
use crate::findings::Origin;

const MAGIC: &[u8; 4] = b"FLR\0";
const HEADER_BYTES: usize = 68;
/// The most bytes of a chunk: the JDK begins another one after 12 MB, unless an option says otherwise.
const LARGEST_CHUNK: u64 = 512 << 20;
const NANOSECONDS: u64 = 1_000_000_000;
const OTHER_CLOCK: &str = "the times of this chunk are of another clock than those before, so it is left out: read the recordings one by one";
const NO_TID: &str = "the event has no thread of the operating system";

/// Whether a file that begins with these bytes is a recording.
pub(super) fn begin_with(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// What a chunk's header says.
#[derive(Clone, Copy, Debug)]
struct Header {
    bytes: u64,
    /// Where its metadata begin.
    metadata: u64,
    start_ns: u64,
    start_ticks: u64,
    ticks_per_second: u64,
    /// Whole numbers are varints.
    is_compressed: bool,
}

/// Reads all events into `draft`.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read<R: BufRead>(reader: R, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let mut keeping = Keeping::new(draft, Rc::default());
    let mut recording = Recording::default();
    let mut stream = Stream::new(reader);
    let mut chunk = Vec::new();
    loop {
        let at = stream.at();
        let origin = Origin::Byte(at);
        chunk.clear();
        stream.block(HEADER_BYTES as u64, &mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        let header = match Header::parse(&chunk) {
            Ok(header) => header,
            Err(what) if at > 0 => {
                complain(&mut keeping, origin, format!("{what}: the file is read up to it"));
                break;
            }
            Err(what) => return Ok(Err(what)),
        };
        if !stream.block(header.bytes - HEADER_BYTES as u64, &mut chunk)? {
            let what = "the file ends here, within a chunk: it was cut off, or the JVM still writes it; the chunks before are used";
            complain(&mut keeping, origin, what.to_owned());
            break;
        }
        recording.chunk(&header, &chunk, at, &mut keeping);
    }
    recording.finish(&mut keeping);
    Ok(Ok(()))
}

fn complain(keeping: &mut Keeping<'_>, origin: Origin, what: String) {
    keeping.draft.findings.add(Severity::Error, "broken chunks", origin, || what);
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Header, String> {
        if bytes.len() < HEADER_BYTES {
            return Err("the file ends within the header of a chunk".to_owned());
        }
        if !begin_with(bytes) {
            return Err("no chunk of a flight recording begins here".to_owned());
        }
        let word = |at: usize| bytes[at..at + 8].iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        let major = u16::from_be_bytes([bytes[4], bytes[5]]);
        let header = Header {
            bytes: word(8),
            metadata: word(24),
            start_ns: word(32),
            start_ticks: word(48),
            ticks_per_second: word(56),
            is_compressed: bytes[67] & 1 != 0,
        };
        if major != 2 {
            return Err(format!(
                "the flight recording is of version {major}; version 2, of JDK 11 and newer, is read"
            ));
        }
        if header.bytes < HEADER_BYTES as u64 || header.bytes > LARGEST_CHUNK || header.ticks_per_second == 0
        {
            let Header { bytes, ticks_per_second, .. } = header;
            return Err(format!(
                "a chunk of {bytes} bytes with {ticks_per_second} ticks a second: it was not finished, or is damaged"
            ));
        }
        Ok(header)
    }
}

/// What all chunks have said.
#[derive(Default)]
struct Recording {
    pid: Option<i32>,
    /// Rows whose process is not known yet, with their threads.
    waiting: Vec<(usize, i32)>,
    lanes: BTreeMap<i32, u32>,
}

impl Recording {
    fn chunk(&mut self, header: &Header, bytes: &[u8], at: u64, keeping: &mut Keeping<'_>) {
        let mut chunk = Chunk::new(header, bytes);
        if let Err(what) = chunk.read() {
            complain(
                keeping,
                Origin::Byte(at + chunk.at() as u64),
                format!("{what}: the chunk is read up to it"),
            );
        }
        let clock = match (header.ticks_per_second == NANOSECONDS, chunk.is_of_profiler()) {
            (true, true) => Clock::Monotonic,
            (true, false) => Clock::Realtime,
            (false, _) => Clock::Tsc,
        };
        keeping.draft.name_clock(clock);
        if keeping.draft.clock != clock {
            let what = format!("{OTHER_CLOCK} ({clock}, and {} before)", keeping.draft.clock);
            return complain(keeping, Origin::Byte(at), what);
        }
        if clock == Clock::Tsc {
            keeping.draft.add_epoch(header.start_ticks, header.start_ns);
        }
        self.pid = chunk.pid().or(self.pid);
        for event in chunk.events() {
            self.keep(&chunk, event, at, (clock == Clock::Realtime).then_some(header), keeping);
        }
    }

    fn keep(
        &mut self,
        chunk: &Chunk<'_>,
        event: &Event,
        at: u64,
        realtime: Option<&Header>,
        keeping: &mut Keeping<'_>,
    ) {
        let origin = Origin::Byte(at + event.at as u64);
        let id = keeping.number();
        let name = chunk.name(event);
        let time = |ticks: u64| match realtime {
            // The distance may be negative: an event may begin before its chunk.
            Some(header) => ticks.wrapping_sub(header.start_ticks).wrapping_add(header.start_ns),
            None => ticks,
        };
        let tid = chunk.tid(event);
        let lane = tid.map(|tid| {
            let next = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
            *self.lanes.entry(tid).or_insert(next)
        });
        let span = Span {
            name: name.to_string(),
            key: None,
            start: time(event.start),
            stop: time(event.start.saturating_add(event.duration)),
            start_thread: None,
            stop_thread: None,
            attributes: chunk.attributes(event),
            link: Link::Lane(lane.unwrap_or(u32::MAX)),
            origin,
        };
        match (keeping.keep(id, span), tid) {
            (Some(row), Some(tid)) => self.waiting.push((row, tid)),
            (Some(_), None) => keeping.no_thread(origin, &name, NO_TID),
            (None, _) => {}
        }
    }

    fn finish(self, keeping: &mut Keeping<'_>) {
        for (row, tid) in self.waiting {
            let row = &mut keeping.draft.rows[row];
            let thread = ThreadId { pid: self.pid.map_or(Pid::UNKNOWN, Pid), tid: Tid(tid) };
            row.start_thread = Some(thread);
            row.stop_thread = Some(thread);
        }
    }
}
