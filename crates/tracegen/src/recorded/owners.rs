//! Whose the guest's records become: those of CPUs, as they are, or those of one process's threads.
//!
//! Input: the guest's perf.data, recorded with `-a`. Output: its attributes and records as `perf record` with the scope's options would
//! have written them: per thread without what other processes did, SWITCH for `SWITCH_CPU_WIDE`, ids per thread.
//! Source: `linux/perf_event.h`; tools/perf/util/event.h for `ID_INDEX`.

use std::borrow::Cow;

use super::schedule::Thread;
use super::tracer::{Finished, Owner, Scope};
use crate::capture::{Capture, Record, kind};
use crate::container::{ATTRIBUTE, Taken};
use crate::error::Error;

const ID_INDEX: u32 = 69;

/// Offset of the flags in an attribute, and the flag `inherit`, which buffers of threads cannot have.
const FLAGS: usize = 40;
const INHERIT: u8 = 1 << 1;

/// An event without a CPU, or without a thread.
const NONE: u64 = u64::MAX;

/// How the guest's records are taken over.
pub(super) struct Ownership<'a> {
    guest: &'a Capture,
    owners: Vec<Owner>,
    /// The owners that are threads; none if the scope is per CPU.
    threads: Vec<Thread>,
    /// Id of the first stream's PT event.
    first_trace_id: u64,
}

impl<'a> Ownership<'a> {
    /// The guest's records for `streams` of `scope`.
    pub(super) fn new(guest: &'a Capture, scope: Scope, streams: &[Finished]) -> Ownership<'a> {
        let owners: Vec<Owner> = streams.iter().map(|stream| stream.owner).collect();
        let thread = |owner: &Owner| match owner {
            Owner::Thread(thread) if scope == Scope::Threads => Some(*thread),
            _ => None,
        };
        let threads: Vec<Thread> = owners.iter().filter_map(thread).collect();
        let ids = guest.attributes.iter().flat_map(|attribute| &attribute.ids);
        let first_trace_id =
            ids.max().map_or(1, |id| id + 1).max((guest.attributes.len() * threads.len()) as u64 + 1);
        Ownership { guest, owners, threads, first_trace_id }
    }

    /// Id of the PT event of stream number `stream`.
    pub(super) fn trace_id(&self, stream: usize) -> u64 {
        self.first_trace_id + stream as u64
    }

    fn event_id(&self, event: usize, thread: usize) -> u64 {
        (1 + event * self.threads.len() + thread) as u64
    }

    /// The guest's attributes with their ids.
    ///
    /// # Errors
    /// [`Error::Capture`] where their size is not that of perf 6.1.
    pub(super) fn attributes(&self) -> Result<Vec<Taken>, Error> {
        let guest = self.guest;
        let (size, start) = (guest.u64(16)?, guest.u64(24)? as usize);
        if size != ATTRIBUTE + 16 {
            return Err(guest.wrong(16, "attributes of another size than perf 6.1 writes"));
        }
        let mut attributes = Vec::new();
        for (number, attribute) in guest.attributes.iter().enumerate() {
            let at = start + number * size as usize;
            let mut bytes = guest.bytes[at..at + ATTRIBUTE as usize].to_vec();
            let mut ids = attribute.ids.clone();
            if !self.threads.is_empty() {
                bytes[FLAGS] &= !INHERIT;
                ids = (0..self.threads.len()).map(|thread| self.event_id(number, thread)).collect();
            }
            attributes.push((bytes, ids));
        }
        Ok(attributes)
    }

    /// Entries of an `ID_INDEX` for the PT event, and for the guest's where those got new ids: id, index of the buffer, CPU, thread.
    pub(super) fn index(&self) -> Vec<[u64; 4]> {
        let thread = |number: usize| [number as u64, NONE, u64::from(self.threads[number].tid)];
        let mut entries = Vec::new();
        for event in 0..self.guest.attributes.len() {
            for number in 0..self.threads.len() {
                let [index, cpu, tid] = thread(number);
                entries.push([self.event_id(event, number), index, cpu, tid]);
            }
        }
        for (stream, owner) in self.owners.iter().enumerate() {
            let [index, cpu, tid] = match owner {
                Owner::Cpu(cpu) => [stream as u64, u64::from(*cpu), NONE],
                Owner::Thread(_) => thread(stream),
            };
            entries.push([self.trace_id(stream), index, cpu, tid]);
        }
        entries
    }

    /// The record as it is taken over; `None` if it is not.
    ///
    /// # Errors
    /// [`Error::Capture`] where the record is too short for what it must hold.
    pub(super) fn record(&self, record: &Record) -> Result<Option<Cow<'a, [u8]>>, Error> {
        let bytes = &self.guest.bytes[record.place.clone()];
        if self.threads.is_empty() || (record.kind >= kind::FIRST_OF_PERF && record.kind != ID_INDEX) {
            return Ok(Some(Cow::Borrowed(bytes)));
        }
        let stamp = self.guest.stamp(record);
        let (Some(tid_at), Some(time_at)) = (stamp.tid, stamp.time) else { return Ok(None) };
        let start = record.place.start;
        let tid = self.guest.u32(start + tid_at)?;
        let thread = if self.guest.u64(start + time_at)? == 0 {
            // perf made it up before the start: names and mappings of all processes.
            Some(0)
        } else {
            self.threads.iter().position(|thread| thread.tid == tid)
        };
        let Some(thread) = thread else { return Ok(None) };
        self.of_thread(record, thread).map(|bytes| Some(Cow::Owned(bytes)))
    }

    /// The record as an event of `thread` writes it.
    fn of_thread(&self, record: &Record, thread: usize) -> Result<Vec<u8>, Error> {
        let place = record.place.clone();
        let mut bytes = self.guest.bytes[place.clone()].to_vec();
        let id_at = if record.kind == kind::SAMPLE { 8 } else { bytes.len().saturating_sub(8) };
        let id = self.guest.u64(place.start + id_at)?;
        let event = self.guest.attributes.iter().position(|attribute| attribute.ids.contains(&id));
        if let Some(event) = event {
            bytes[id_at..id_at + 8].copy_from_slice(&self.event_id(event, thread).to_le_bytes());
        }
        if record.kind == kind::SWITCH_CPU_WIDE && bytes.len() >= 16 {
            // Without the other thread's ids.
            bytes.drain(8..16);
            bytes[..4].copy_from_slice(&kind::SWITCH.to_le_bytes());
            let size = bytes.len() as u16;
            bytes[6..8].copy_from_slice(&size.to_le_bytes());
        }
        Ok(bytes)
    }
}
