//! The records of a capture in the order of time, and all that parsing one of them needs.
//!
//! Whatever is worked out from records (schedules, names, losses) takes these, not the [`PerfData`](crate::PerfData) that
//! keeps the results.

use std::ops::Range;

use model::{FileOffset, PerfTime};

use crate::attr::Attr;
use crate::file::Pieces;
use crate::record::parse::parse;
use crate::record::{Header, Layout, Schema, TimedRecord};
use crate::tracepoint::Formats;

/// Where a record stands in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Its time; for a record without one, the time of the record before it in the file, or 0.
    pub(crate) time: u64,
    pub(crate) offset: FileOffset,
}

/// Stable, so that records of the same time keep the order of the file.
pub(crate) fn sorted(mut index: Vec<IndexEntry>) -> Vec<IndexEntry> {
    if !index.is_sorted_by_key(|entry| entry.time) {
        index.sort_by_key(|entry| entry.time);
    }
    index
}

/// The records, by an index of where each begins.
#[derive(Debug)]
pub(crate) struct OrderedRecords {
    pub(crate) pieces: Pieces,
    pub(crate) attrs: Vec<Attr>,
    pub(crate) formats: Formats,
    pub(crate) layout: Layout,
    /// In the order of time; records of the same time in the order of the file. Without the repeats.
    pub(crate) index: Vec<IndexEntry>,
    /// The part of `index` that names threads or changes address spaces.
    pub(crate) map_index: Vec<IndexEntry>,
    /// Where the second copies of records stand, in the order of the file.
    pub(crate) repeats: Vec<FileOffset>,
}

impl OrderedRecords {
    pub(crate) fn schema(&self) -> Schema<'_> {
        Schema { attrs: &self.attrs, layout: &self.layout, formats: &self.formats }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Records<'_> {
        Records { records: self, entries: self.index.iter() }
    }

    /// Those that name threads or change address spaces.
    pub(crate) fn of_maps(&self) -> Records<'_> {
        Records { records: self, entries: self.map_index.iter() }
    }

    /// Those of a range of times, found by bisection.
    pub(crate) fn within(&self, range: &Range<PerfTime>) -> Records<'_> {
        let start = self.index.partition_point(|entry| entry.time < range.start.0);
        let end = self.index.partition_point(|entry| entry.time < range.end.0);
        Records { records: self, entries: self.index.get(start..end).unwrap_or(&[]).iter() }
    }

    /// The one that begins at `offset`; `None` where none can.
    pub(crate) fn at(&self, offset: FileOffset) -> Option<TimedRecord<'_>> {
        parse(self.schema(), offset, self.pieces.record(offset))
    }

    /// The bytes of the one that begins at `offset`, header and all; none where none can.
    pub(crate) fn bytes(&self, offset: FileOffset) -> &[u8] {
        let bytes = self.pieces.record(offset);
        let size = Header::read(bytes).map_or(0, |header| usize::from(header.size));
        bytes.get(..size).unwrap_or(&[])
    }
}

/// Records in the order of time; see [`PerfData::records`](crate::PerfData::records).
#[derive(Clone, Debug)]
pub struct Records<'a> {
    records: &'a OrderedRecords,
    entries: std::slice::Iter<'a, IndexEntry>,
}

impl<'a> Iterator for Records<'a> {
    type Item = TimedRecord<'a>;

    fn next(&mut self) -> Option<TimedRecord<'a>> {
        self.entries.find_map(|entry| self.records.at(entry.offset))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}
