//! Writes a smaller perf.data: the same header and features, some of the records byte for byte, some of the PT bytes.
//!
//! Input: a capture, and a [`SlicePlan`]. Output: the bytes of a file that perf and this crate read as they read the
//! original. Records keep their bytes and their order; PT bytes keep their positions in the AUX stream. What the slice's
//! maker wants to tell its reader travels in a feature section that perf skips ([`SliceNote`]).

mod choice;
mod container;
mod note;
mod rename;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use model::{FileOffset, PerfTime, Tid};

use crate::PerfData;
use crate::header::Header;
use crate::record::Header as RecordHeader;

pub use note::SliceNote;
pub use rename::Renames;

/// What a slice keeps.
#[derive(Clone, Debug, Default)]
pub struct SlicePlan {
    /// The PT bytes.
    pub aux: Vec<AuxPart>,
    /// The times of which every record is kept; `None` keeps all records, for captures without a common clock.
    pub times: Option<Vec<CpuTimes>>,
    /// Single records, wherever they stand.
    pub records: BTreeSet<FileOffset>,
    /// Threads whose last switch before each time, and first one behind it, are kept, besides those that ran then.
    pub threads: BTreeSet<Tid>,
    /// Names to replace; `None` keeps them.
    pub renames: Option<Renames>,
    /// What to tell the slice's reader.
    pub note: Vec<u8>,
    /// Whether the slice becomes the file `data` of a perf.data directory.
    pub in_directory: bool,
}

/// A stretch of time, on all CPUs or on one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The CPU; `None` for all.
    pub cpu: Option<model::Cpu>,
    /// From the first time on, before the last one.
    pub range: Range<PerfTime>,
}

/// Some of the PT bytes of an AUX buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuxPart {
    /// Index into [`PerfData::aux_buffers`].
    pub buffer: usize,
    /// Bytes of that buffer.
    pub range: Range<u64>,
}

impl PerfData {
    /// From now on [`Self::take_reads`] knows which times records are read of ([`Self::records_in`]).
    pub fn note_reads(&self) {
        self.reads.start();
    }

    /// The times of which records were read since [`Self::note_reads`], in order; ends the noting.
    pub fn take_reads(&self) -> Vec<Range<PerfTime>> {
        self.reads.take()
    }

    /// The bytes of a perf.data that holds what `plan` says.
    ///
    /// Always kept are the records that name threads, change address spaces or the kernel's code, or describe the
    /// recording; around each time the switches that tell who was on a CPU before and behind it. Left out are perf's
    /// round marks (a reader sorts all) and what COMPRESSED records are, whose contents stand in their place.
    pub fn slice(&self, plan: &SlicePlan) -> Vec<u8> {
        let records = choice::records(self, plan);
        container::write(self, plan, &records)
    }

    /// Where the record at `offset` stood in the recording that this slice was cut from; `offset` itself in a capture
    /// that is no slice, and for what is no record of the recording.
    pub fn origin(&self, offset: FileOffset) -> FileOffset {
        let Some(note) = self.slice_note.as_ref().filter(|note| !note.origins.is_empty()) else {
            return offset;
        };
        let origins = self.origins.get_or_init(|| {
            // The note names each record that stands in the file, what stands there twice, too.
            let once = self.index.iter().map(|entry| entry.offset);
            let mut records: Vec<FileOffset> = once.chain(self.repeats.iter().copied()).collect();
            records.sort_unstable();
            let buffers: BTreeSet<FileOffset> =
                self.aux_buffers.iter().map(|buffer| buffer.record_offset).collect();
            records.retain(|record| !buffers.contains(record));
            records.into_iter().zip(note.origins.iter().copied()).collect()
        });
        origins.get(&offset).copied().unwrap_or(offset)
    }

    /// What the maker of this slice tells; `None` in a capture that is no slice.
    pub fn slice_note(&self) -> Option<&SliceNote> {
        self.slice_note.as_ref()
    }
}

/// What the writer reads of a capture.
impl PerfData {
    /// The bytes of the file `data`.
    fn main_bytes(&self) -> &[u8] {
        self.pieces.bytes(0)
    }

    /// Where everything lies in the file `data`; `None` where that can no longer be told.
    fn header(&self, diagnostics: &mut Vec<model::Diagnostic>) -> Option<Header> {
        Header::parse(&self.directory.main, self.main_bytes(), diagnostics).ok()
    }

    /// Bytes of a kernel record's body in front of its trailer.
    fn own_length(&self, body: &[u8]) -> usize {
        self.layout.split_trailer(body).0.len()
    }

    /// The record that begins at `offset`, header and all; empty where none can.
    fn record_bytes(&self, offset: FileOffset) -> &[u8] {
        let bytes = self.pieces.record(offset);
        let size = RecordHeader::read(bytes).map_or(0, |header| usize::from(header.size));
        bytes.get(..size).unwrap_or(&[])
    }
}
