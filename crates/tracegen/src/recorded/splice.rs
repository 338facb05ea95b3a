//! Puts PT streams into the guest's own perf.data, as if its perf had recorded them.
//!
//! Input: the guest's perf.data (switches, tracepoints, mappings) and finished streams. Output: one perf.data with both.
//! Traps that stock perf sets: an `ITRACE_START` names the thread that is on the CPU then; AUX and `ITRACE_START` stand at their time
//! among the other records, within their round; the new attribute comes last, and `EVENT_DESC`, `PMU_MAPPINGS` and `ID_INDEX` know it;
//! AUXTRACE records end with a whole packet, so that they are cut at PSBs.
//! Source: tools/perf/util/intel-pt.c, tools/perf/arch/x86/util/intel-pt.c, `linux/perf_event.h`.

use super::clock::PerfTime;
use super::owners::Ownership;
use super::power::PowerRecords;
use super::schedule::Schedule;
use super::tracer::{Finished, Owner, Scope};
use crate::capture::Capture;
use crate::container::{
    Container, Event, INTEL_PT, IntelPt, Origin, Record, carries, feature, flag, read, text,
};
use crate::encoder::Settings;
use crate::error::Error;

/// An AUX record announces at least so many bytes.
const AUX_BYTES: usize = 128 << 10;

/// `ITRACE_START` comes so many ticks before the first packet, the last AUX record so many after the last one.
const MARGIN: u64 = 2000;

/// perf's own records that stand before all others.
const TIME_CONV: u32 = 79;
const ID_INDEX: u32 = 69;

/// What is put together.
pub(super) struct Splice<'a> {
    pub(super) guest: &'a Capture,
    pub(super) schedule: &'a Schedule,
    pub(super) streams: &'a [Finished],
    pub(super) scope: Scope,
    pub(super) settings: Settings,
    pub(super) time: PerfTime,
    pub(super) power: &'a PowerRecords,
}

/// A stretch of a stream that one AUX and one AUXTRACE record hold.
struct Chunk {
    begin: usize,
    end: usize,
    /// Guest TSC at which its last packet is there.
    until: u64,
}

impl Splice<'_> {
    /// The file's bytes.
    ///
    /// # Errors
    /// [`Error::Capture`] where the guest's file is not what this perf writes.
    pub(super) fn perf_data(&self) -> Result<Vec<u8>, Error> {
        let owners = Ownership::new(self.guest, self.scope, self.streams);
        let mut out = Container::default();
        out.taken = owners.attributes()?;
        out.events = vec![self.event(&owners)];
        let trace = self.timed_records(&owners).into_iter().map(|(time, record)| (time, record.bytes()));
        let mut timed: Vec<(u64, Vec<u8>)> = trace.collect();
        if self.scope != Scope::Threads {
            timed.extend(self.power.requests.iter().cloned());
        }
        timed.sort_by_key(|&(time, _)| time);
        let mut timed = timed.into_iter().peekable();
        let mut has_head = false;
        for record in &self.guest.records {
            if !has_head && !matches!(record.kind, TIME_CONV | ID_INDEX) {
                self.put_head(&mut out, &owners);
                has_head = true;
            }
            let Some(bytes) = owners.record(record)? else { continue };
            let mut bytes = bytes.into_owned();
            self.power.restate(record, &mut bytes);
            let time = self.guest.stamp(record).time.map(|at| self.guest.u64(record.place.start + at));
            let time = time.transpose()?.unwrap_or(0);
            while let Some((_, new)) = timed.next_if(|&(at, _)| at < time) {
                out.push_bytes(&new);
            }
            out.push_bytes(&bytes);
        }
        timed.for_each(|(_, record)| out.push_bytes(&record));
        self.put_streams(&mut out);
        out.push(&Record::finished_round());
        self.put_features(&mut out);
        Ok(out.finish())
    }

    fn event(&self, owners: &Ownership<'_>) -> Event {
        let is_user = self.scope == Scope::User;
        let inherit = if self.scope == Scope::Threads { 0 } else { flag::INHERIT };
        let exclude = if is_user { flag::EXCLUDE_KERNEL } else { 0 };
        Event {
            name: if is_user { "intel_pt//u" } else { "intel_pt//" },
            kind: INTEL_PT,
            config: self.settings.config(),
            config1: 0,
            sample_period: 1,
            read_format: read::ID,
            sample_type: carries::ORIGIN,
            aux_sample_size: 0,
            aux_action: 0,
            flags: flag::DISABLED | inherit | exclude | flag::SAMPLE_ID_ALL | flag::EXCLUDE_GUEST,
            ids: (0..self.streams.len()).map(|stream| owners.trace_id(stream)).collect(),
        }
    }

    /// Index of the PT event's ids, and what a decoder must know of the machine.
    fn put_head(&self, out: &mut Container, owners: &Ownership<'_>) {
        out.push(&Record::id_index(&owners.index()));
        let PerfTime { shift, mult, zero } = self.time;
        let (pmu, settings, is_per_cpu) = (INTEL_PT, self.settings, self.scope != Scope::Threads);
        out.push(&Record::intel_pt(IntelPt {
            pmu,
            shift,
            mult,
            zero,
            settings,
            is_per_cpu,
            is_snapshot: false,
        }));
    }

    /// `ITRACE_START` and AUX records with their perf time.
    fn timed_records(&self, owners: &Ownership<'_>) -> Vec<(u64, Record)> {
        let mut timed = Vec::new();
        for (number, stream) in self.streams.iter().enumerate() {
            let start = self.time.nanoseconds(stream.first.saturating_sub(MARGIN));
            let (cpu, thread) = match stream.owner {
                Owner::Cpu(cpu) => (cpu, self.schedule.current(cpu, start)),
                Owner::Thread(thread) => (0, thread),
            };
            let origin =
                |time| Origin { pid: thread.pid, tid: thread.tid, time, cpu, id: owners.trace_id(number) };
            timed.push((start, Record::itrace_start(origin(start))));
            for chunk in chunks(stream) {
                let time = self.time.nanoseconds(chunk.until);
                let (offset, size) = (chunk.begin as u64, (chunk.end - chunk.begin) as u64);
                timed.push((time, Record::aux(offset, size, 0, origin(time))));
            }
        }
        timed
    }

    fn put_streams(&self, out: &mut Container) {
        for (number, stream) in self.streams.iter().enumerate() {
            let (tid, cpu) = match stream.owner {
                Owner::Cpu(cpu) => (u32::MAX, cpu),
                Owner::Thread(thread) => (thread.tid, u32::MAX),
            };
            for chunk in chunks(stream) {
                let (offset, bytes) = (chunk.begin as u64, &stream.bytes[chunk.begin..chunk.end]);
                let place = (number as u32, tid, cpu);
                out.push_aux(&Record::auxtrace(bytes.len() as u64, offset, chunk.until, place), bytes);
            }
        }
    }

    /// The guest's features, with the PT event and its PMU in those that list such.
    fn put_features(&self, out: &mut Container) {
        for (number, place) in &self.guest.features {
            let mut bytes = self.guest.bytes[place.clone()].to_vec();
            match *number {
                feature::AUXTRACE => continue,
                feature::EVENT_DESCRIPTION => {
                    add_one(&mut bytes);
                    out.events.iter().for_each(|event| bytes.extend(event.description()));
                }
                feature::PMU_MAPPINGS => {
                    add_one(&mut bytes);
                    bytes.extend(INTEL_PT.to_le_bytes());
                    bytes.extend(text("intel_pt"));
                }
                _ => {}
            }
            out.features.push((*number, bytes));
        }
    }
}

/// Counts one more in a section that begins with a 32-bit count.
fn add_one(section: &mut [u8]) {
    if let Some(count) = section.first_chunk_mut::<4>() {
        *count = (u32::from_le_bytes(*count) + 1).to_le_bytes();
    }
}

/// Cuts a stream at PSBs: perf wants whole packets.
fn chunks(stream: &Finished) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut begin = 0;
    for &(offset, tsc) in stream.sync_points.iter().filter(|(offset, _)| *offset > 0) {
        if offset - begin >= AUX_BYTES {
            chunks.push(Chunk { begin, end: offset, until: tsc + 1 });
            begin = offset;
        }
    }
    chunks.push(Chunk { begin, end: stream.bytes.len(), until: stream.last + MARGIN });
    chunks
}
