//! The records of a capture in the order of time, and all that parsing one of them needs.
//!
//! Whatever is worked out from records (schedules, names, losses) takes these, not the [`PerfData`](crate::PerfData) that
//! keeps the results.

use std::ops::Range;

use model::{FileOffset, PerfTime};

use crate::attr::Attr;
use crate::file::Pieces;
use crate::record::parse::parse;
use crate::record::{Header, Layout, Schema, TimedRecord, kinds};
use crate::stretches::LastFound;
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
        self.of(&self.index)
    }

    /// Those that name threads or change address spaces.
    pub(crate) fn of_maps(&self) -> Records<'_> {
        self.of(&self.map_index)
    }

    /// The places of those of a range of times, found by bisection.
    pub(crate) fn places(&self, range: &Range<PerfTime>) -> Range<usize> {
        let start = self.index.partition_point(|entry| entry.time < range.start.0);
        let end = self.index.partition_point(|entry| entry.time < range.end.0);
        start..end.max(start)
    }

    /// Those at these places in the order of time, as far as there are such.
    pub(crate) fn in_places(&self, places: Range<usize>) -> Records<'_> {
        let end = places.end.min(self.index.len());
        self.of(self.index.get(places.start..end).unwrap_or(&[]))
    }

    fn of<'a>(&'a self, entries: &'a [IndexEntry]) -> Records<'a> {
        Records { ordered: self, entries: entries.iter(), has_samples: true, last: LastFound::default() }
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
    ordered: &'a OrderedRecords,
    entries: std::slice::Iter<'a, IndexEntry>,
    has_samples: bool,
    last: LastFound,
}

impl<'a> Records<'a> {
    /// All but the samples, which most records are: these are not parsed.
    pub(crate) fn without_samples(self) -> Records<'a> {
        Records { has_samples: false, ..self }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = TimedRecord<'a>;

    fn next(&mut self) -> Option<TimedRecord<'a>> {
        let Records { ordered, entries, has_samples, last } = self;
        entries.find_map(|entry| {
            let bytes = ordered.pieces.record_near(entry.offset, last);
            let is_left_out =
                !*has_samples && Header::read(bytes).is_some_and(|header| header.kind == kinds::SAMPLE);
            if is_left_out { None } else { parse(ordered.schema(), entry.offset, bytes) }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}
