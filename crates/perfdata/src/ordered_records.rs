//! The records of a capture in the order of time, and all that parsing one of them needs.
//!
//! Whatever is worked out from records (schedules, names, losses) takes these, not the [`PerfData`](crate::PerfData) that
//! keeps the results.

use std::ops::Range;

use model::{Cpu, FileOffset, PerfTime, ThreadId};

use crate::attr::Attr;
use crate::bytes::Fields;
use crate::file::Pieces;
use crate::record::parse::{parse, parse_exchange, parse_sample};
use crate::record::{
    Exchange, Header, Identity, Label, Layout, Placed, Record, Schema, Threads, TimedRecord, What, kinds,
    raw_at,
};
use crate::stretches::LastFound;
use crate::tracepoint::Formats;

/// Where a record stands in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Its time; for a record without one, the time of the record before it in the file, or 0.
    pub(crate) time: u64,
    pub(crate) offset: FileOffset,
    pub(crate) label: Label,
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
    /// Those that labels have the numbers of.
    pub(crate) threads: Threads,
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
        Records {
            ordered: self,
            entries: entries.iter(),
            wanted: None,
            has_switches: true,
            last: LastFound::default(),
        }
    }

    /// The one of `entry`, for a reader that has read others before. What its label says is not read again.
    fn parse(&self, entry: &IndexEntry, last: &mut LastFound) -> Option<TimedRecord<'_>> {
        let bytes = self.pieces.record_near(entry.offset, last);
        let placed = entry.label.placed(&self.threads);
        match (entry.label.what(), placed) {
            (What::Sample(Some(event)), Some(Placed { cpu, thread })) => {
                let time = Some(PerfTime(entry.time));
                let identity = Identity { thread, time, cpu, id: None };
                parse_sample(self.schema(), entry.offset, bytes, event, identity)
            }
            _ => parse(self.schema(), entry.offset, bytes),
        }
    }

    /// The payload of the sample of `entry`, before which its record has `at` bytes; `None` where the record itself must be looked at.
    fn raw_sample(
        &self,
        entry: &IndexEntry,
        event: usize,
        at: usize,
        last: &mut LastFound,
    ) -> Option<RawSample<'_>> {
        let Placed { cpu, thread } = entry.label.placed(&self.threads)?;
        let bytes = self.pieces.record_near(entry.offset, last);
        let mut fields = Fields::new(bytes.get(..usize::from(Header::read(bytes)?.size))?.get(at..)?);
        let size = fields.u32()?;
        let raw = fields.bytes(size as usize)?;
        Some(RawSample { offset: entry.offset, time: PerfTime(entry.time), cpu, thread, event, raw })
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
    /// The samples of which events are among them, by the number of the attribute; `None`: all.
    wanted: Option<Vec<bool>>,
    has_switches: bool,
    last: LastFound,
}

impl<'a> Records<'a> {
    /// All but the samples, which most records are: these are not parsed.
    pub(crate) fn without_samples(self) -> Records<'a> {
        self.of_events(|_| false)
    }

    /// All but the samples of other events than these, which are not parsed.
    #[must_use]
    pub fn of_events(self, is_wanted: impl Fn(&Attr) -> bool) -> Records<'a> {
        let wanted = self.ordered.attrs.iter().map(is_wanted).collect();
        Records { wanted: Some(wanted), ..self }
    }

    /// All but SWITCH and `SWITCH_CPU_WIDE`, which most other records than samples are: these are not parsed.
    #[must_use]
    pub fn without_switches(self) -> Records<'a> {
        Records { has_switches: false, ..self }
    }

    /// Of samples of the events that are `raw`, by their numbers, nothing but the payload is read, where they record no more than that.
    pub fn with_raw(mut self, raw: impl Fn(usize) -> bool) -> impl Iterator<Item = Found<'a>> {
        let attrs = self.ordered.attrs.iter().enumerate();
        let raw_at = attrs.map(|(event, attr)| raw_at(attr).filter(|_| raw(event)));
        let raw_at: Vec<Option<usize>> = raw_at.collect();
        std::iter::from_fn(move || {
            loop {
                let entry = self.entries.next()?;
                if self.leaves_out(entry) {
                    continue;
                }
                let at = match entry.label.what() {
                    What::Sample(Some(event)) => raw_at.get(event).copied().flatten().map(|at| (event, at)),
                    _ => None,
                };
                if let Some((event, at)) = at
                    && let Some(sample) = self.ordered.raw_sample(entry, event, at, &mut self.last)
                {
                    return Some(Found::Raw(sample));
                }
                if let Some(record) = self.whole(entry) {
                    return Some(Found::Whole(record));
                }
            }
        })
    }

    fn is_wanted(&self, event: Option<usize>) -> bool {
        let Some(wanted) = self.wanted.as_deref() else { return true };
        event.is_some_and(|event| wanted.get(event) == Some(&true))
    }

    /// Whether it is not among them, as its label says.
    fn leaves_out(&self, entry: &IndexEntry) -> bool {
        match entry.label.what() {
            What::Sample(event) => !self.is_wanted(event),
            What::Kind(kinds::SWITCH | kinds::SWITCH_CPU_WIDE) => !self.has_switches,
            _ => false,
        }
    }

    /// All of one that its label does not leave out.
    fn whole(&mut self, entry: &IndexEntry) -> Option<TimedRecord<'a>> {
        let record = self.ordered.parse(entry, &mut self.last)?;
        match &record.record {
            // Its label does not say of which event it is.
            Record::Sample(sample) if entry.label.what() == What::Untold => {
                self.is_wanted(sample.event()).then_some(record)
            }
            _ => Some(record),
        }
    }

    /// The same in brief.
    pub(crate) fn briefs(mut self) -> impl Iterator<Item = Brief<'a>> {
        std::iter::from_fn(move || {
            let entry = self.entries.next()?;
            Some(Brief::of(self.ordered, entry, &mut self.last))
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = TimedRecord<'a>;

    fn next(&mut self) -> Option<TimedRecord<'a>> {
        loop {
            let entry = self.entries.next()?;
            if self.leaves_out(entry) {
                continue;
            }
            if let Some(record) = self.whole(entry) {
                return Some(record);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

/// A sample of which the payload alone was read.
#[derive(Clone, Copy, Debug)]
pub struct RawSample<'a> {
    /// Where its record stands.
    pub offset: FileOffset,
    /// When it was taken.
    pub time: PerfTime,
    /// On which CPU.
    pub cpu: Option<Cpu>,
    /// Of which thread.
    pub thread: Option<ThreadId>,
    /// The number of its event.
    pub event: usize,
    /// The payload of a tracepoint (or of another raw event).
    pub raw: &'a [u8],
}

/// A record, or of a sample its payload.
#[derive(Clone, Debug)]
pub enum Found<'a> {
    /// The payload.
    Raw(RawSample<'a>),
    /// All of the record.
    Whole(TimedRecord<'a>),
}

/// A record in brief: what is known of it without a look at its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brief<'a> {
    ordered: &'a OrderedRecords,
    entry: &'a IndexEntry,
    pub(crate) offset: FileOffset,
    /// `None` for what perf wrote itself.
    pub(crate) time: Option<PerfTime>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) thread: Option<ThreadId>,
    /// The number of its thread among all that records are of, where it has one.
    pub(crate) thread_number: Option<usize>,
    pub(crate) what: What,
}

impl<'a> Brief<'a> {
    fn of(ordered: &'a OrderedRecords, entry: &'a IndexEntry, last: &mut LastFound) -> Brief<'a> {
        let IndexEntry { time, offset, label } = *entry;
        let unplaced = Brief {
            ordered,
            entry,
            offset,
            time: None,
            cpu: None,
            thread: None,
            thread_number: None,
            what: label.what(),
        };
        if unplaced.what != What::Untold {
            let Some(Placed { cpu, thread }) = label.placed(&ordered.threads) else { return unplaced };
            let thread_number = label.thread_number();
            return Brief { time: Some(PerfTime(time)), cpu, thread, thread_number, ..unplaced };
        }
        let bytes = ordered.pieces.record_near(offset, last);
        let Some(record) = parse(ordered.schema(), offset, bytes) else { return unplaced };
        let what = match &record.record {
            Record::Sample(sample) => What::Sample(sample.event()),
            _ => What::Kind(Header::read(bytes).map_or(0, |header| header.kind)),
        };
        Brief { time: record.time, cpu: record.cpu, thread: record.thread, what, ..unplaced }
    }

    /// What it says where it is a SWITCH or `SWITCH_CPU_WIDE` record that is whole, for a reader that has read others before.
    pub(crate) fn exchange(&self, last: &mut LastFound) -> Option<Exchange> {
        let What::Kind(kind @ (kinds::SWITCH | kinds::SWITCH_CPU_WIDE)) = self.what else { return None };
        self.time?;
        let bytes = self.ordered.pieces.record_near(self.offset, last);
        parse_exchange(self.ordered.schema(), bytes, kind == kinds::SWITCH_CPU_WIDE)
    }

    /// All of it, for a reader that has read others before.
    pub(crate) fn record(&self, last: &mut LastFound) -> Option<TimedRecord<'a>> {
        self.ordered.parse(self.entry, last)
    }
}
