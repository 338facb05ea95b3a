//! The PT bytes of one CPU or thread, ready to be copied with other times.
//!
//! Input: the AUXTRACE records of a capture. Output: per stream its bytes from the first PSB on, with every PSB at a multiple of 8
//! (PAD before it where needed) and the places of all TSC packets.

use std::collections::BTreeMap;

use crate::capture::{Capture, Record, Stamp, kind};
use crate::error::Error;
use crate::packet::{Packet, Walk, Walked};

/// Without CPU: the buffer belongs to a thread.
const ANY: u32 = u32::MAX;

/// One repetition of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) index: u32,
    pub(super) tid: u32,
    pub(super) cpu: u32,
    /// AUXTRACE `reference` of the first buffer: a TSC, where the recorder knew one.
    pub(super) reference: u64,
    pub(super) bytes: Vec<u8>,
    /// Offset in `bytes` of each PSB: here an AUXTRACE record may begin.
    pub(super) sync_points: Vec<usize>,
    /// Offset in `bytes` of each TSC packet.
    pub(super) tsc_packets: Vec<usize>,
    pub(super) first_tsc: u64,
    pub(super) last_tsc: u64,
    /// AUX offset in the input → offset in `bytes`, where the difference changes; ascending.
    places: Vec<(u64, u64)>,
    tracing: bool,
}

impl Stream {
    /// All streams of a capture, in the order of their index.
    pub(super) fn of(capture: &Capture) -> Result<Vec<Stream>, Error> {
        let mut buffers: BTreeMap<_, Vec<(u64, &Record)>> = BTreeMap::new();
        for record in &capture.records {
            let at = record.place.start;
            match record.kind {
                kind::AUXTRACE => {
                    let key = (capture.u32(at + 32)?, capture.u32(at + 36)?, capture.u32(at + 40)?);
                    buffers.entry(key).or_default().push((capture.u64(at + 16)?, record));
                }
                kind::COMPRESSED => {
                    return Err(capture.wrong(at, "compressed records cannot be shifted: record without -z"));
                }
                _ => {}
            }
        }
        let mut streams = Vec::new();
        for ((index, tid, cpu), mut buffers) in buffers {
            buffers.sort_by_key(|&(offset, _)| offset);
            let reference = capture.u64(buffers[0].1.place.start + 24)?;
            let mut stream = Stream::empty(index, tid, cpu, reference);
            stream.append_buffers(capture, &buffers)?;
            if !stream.bytes.is_empty() {
                streams.push(stream);
            }
        }
        if streams.is_empty() {
            return Err(capture.wrong(0, "no Intel PT bytes with a PSB: nothing to repeat"));
        }
        Ok(streams)
    }

    fn empty(index: u32, tid: u32, cpu: u32, reference: u64) -> Stream {
        Stream {
            index,
            tid,
            cpu,
            reference,
            bytes: Vec::new(),
            sync_points: Vec::new(),
            tsc_packets: Vec::new(),
            first_tsc: u64::MAX,
            last_tsc: 0,
            places: Vec::new(),
            tracing: false,
        }
    }

    /// Joins buffers that continue each other (a packet may lie across) and takes them in.
    fn append_buffers(&mut self, capture: &Capture, buffers: &[(u64, &Record)]) -> Result<(), Error> {
        let mut joined: Vec<u8> = Vec::new();
        let mut origin = 0;
        for &(offset, record) in buffers {
            let size = usize::try_from(capture.u64(record.place.start + 8)?).unwrap_or(0);
            let bytes = &capture.bytes[record.place.end..record.place.end + size];
            let end = origin + joined.len() as u64;
            if joined.is_empty() || offset > end {
                self.append(origin, &joined);
                (origin, joined) = (offset, bytes.to_vec());
            } else {
                let seen = usize::try_from(end - offset).unwrap_or(usize::MAX);
                joined.extend(bytes.get(seen..).unwrap_or_default());
            }
        }
        self.append(origin, &joined);
        self.close();
        Ok(())
    }

    /// Takes the bytes that begin at AUX offset `origin`, from their first PSB on.
    fn append(&mut self, origin: u64, bytes: &[u8]) {
        let mut in_psb_plus = false;
        let mut synced = false;
        for (offset, length, kind) in Walk::new(bytes) {
            synced |= kind == Walked::Psb;
            if !synced {
                continue;
            }
            match kind {
                Walked::Psb => {
                    self.align();
                    self.places.push((origin + offset as u64, self.bytes.len() as u64));
                    self.sync_points.push(self.bytes.len());
                    (in_psb_plus, self.tracing) = (true, false);
                }
                Walked::PsbEnd => in_psb_plus = false,
                Walked::Fup => self.tracing |= in_psb_plus,
                Walked::TipPge => self.tracing = true,
                Walked::TipPgd => self.tracing = false,
                Walked::Tsc => self.note_tsc(&bytes[offset..offset + length]),
                Walked::Other | Walked::Foreign => {}
            }
            self.bytes.extend_from_slice(&bytes[offset..offset + length]);
        }
    }

    fn note_tsc(&mut self, packet: &[u8]) {
        let mut tsc = [0; 8];
        tsc[..7].copy_from_slice(&packet[1..8]);
        let tsc = u64::from_le_bytes(tsc);
        self.first_tsc = self.first_tsc.min(tsc);
        self.last_tsc = self.last_tsc.max(tsc);
        self.tsc_packets.push(self.bytes.len());
    }

    /// Ends a repetition: if the trace was cut while running, an OVF says that what follows does not continue it.
    fn close(&mut self) {
        if self.tracing {
            Packet::Ovf.put(&mut self.bytes);
        }
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// Where the byte at AUX offset `offset` of the input lies in `bytes`.
    pub(super) fn translate(&self, offset: u64) -> u64 {
        let next = self.places.partition_point(|&(old, _)| old <= offset);
        let Some(&(old, new)) = next.checked_sub(1).and_then(|at| self.places.get(at)) else { return 0 };
        let limit = self.places.get(next).map_or(self.bytes.len() as u64, |&(_, new)| new);
        (new + (offset - old)).min(limit)
    }

    /// Does an AUX record with this stamp belong to this stream?
    pub(super) fn owns(&self, record: &[u8], stamp: Stamp) -> bool {
        let field = |at: Option<usize>| {
            let bytes = at.and_then(|at| record.get(at..at + 4)).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_le_bytes)
        };
        if self.cpu == ANY { field(stamp.tid) == Some(self.tid) } else { field(stamp.cpu) == Some(self.cpu) }
    }
}
