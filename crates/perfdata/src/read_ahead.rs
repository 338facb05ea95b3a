//! Brings the bytes of records ahead of the walk over them, and never those of AUX payloads.
//!
//! Input: the file's own list of AUXTRACE records. Between two of them lie a payload, whose length only the first
//! one's header gives, and then records: a stretch, which is copied where it is short (see [`Stretches`]). Where one is not in
//! memory, headers further on are requested, then, when they have come, the records after their payloads: a file that is
//! not cached costs the device's throughput and not a wait per AUXTRACE record.

use std::ops::Range;

use memmap2::Advice;

use crate::auxtrace_index::{AUXTRACE_SIZE, AuxtraceIndex};
use crate::bytes::u64_at;
use crate::file::Pieces;
use crate::record::HEADER_SIZE;
use crate::stretches::Stretches;

/// How many bytes of records are requested at once.
const CHUNK: usize = 1 << 20;
/// How many AUXTRACE headers are requested ahead of the walk: enough to keep a fast device busy.
const HEADERS: usize = 512;
/// For how many of them the records after their payloads are requested.
const STRETCHES: usize = 128;
/// After a stretch that was not in memory, this many are requested without a check.
const ASKED_AFTER_MISS: u32 = 1024;
/// Fewer bytes than this come with the AUXTRACE header after them, or nearly so.
const SHORT: usize = 512;

/// The pages requested so far.
pub(crate) struct ReadAhead<'a> {
    pieces: &'a Pieces,
    piece: usize,
    auxtrace: &'a AuxtraceIndex,
    end: usize,
    /// Nothing to do before the walk is here.
    asked: usize,
    /// For how many more stretches pages are requested without a check.
    asking: u32,
    /// How many headers, and the records after how many payloads.
    headers: usize,
    stretches: usize,
    copies: Stretches,
}

impl<'a> ReadAhead<'a> {
    /// For a walk over `records` of a piece.
    pub(crate) fn new(
        pieces: &'a Pieces,
        piece: usize,
        auxtrace: &'a AuxtraceIndex,
        records: &Range<usize>,
    ) -> ReadAhead<'a> {
        let (asked, end) = (records.start, records.end);
        let copies = Stretches::default();
        ReadAhead { pieces, piece, auxtrace, end, asked, asking: 0, headers: 0, stretches: 0, copies }
    }

    /// The walk is at `at`.
    #[inline]
    pub(crate) fn reach(&mut self, at: usize) {
        if at >= self.asked {
            self.ask(at);
        }
    }

    fn ask(&mut self, at: usize) {
        let Some(list) = self.auxtrace.records() else {
            // AUX payloads can lie anywhere.
            self.asked = usize::MAX;
            return;
        };
        let here = list.partition_point(|&record| record < at);
        let next = list.get(here).map_or(self.end, |&record| record.saturating_add(AUXTRACE_SIZE));
        self.asked = at.saturating_add(CHUNK).min(next);
        if self.asking > 0 {
            self.asking -= 1;
            self.ask_from(list, here, at);
        }
        self.bring(at..self.asked, list, here);
    }

    /// Copies the records in `stretch`, or makes sure that its first and its last one come. `here` is the number of the
    /// AUXTRACE record that ends it.
    fn bring(&mut self, stretch: Range<usize>, list: &[usize], here: usize) {
        let (pieces, piece, at) = (self.pieces, self.piece, stretch.start);
        let ends_here = list.get(here).copied();
        if ends_here.is_some() && self.copies.would_take(stretch.len()) {
            if !self.copies.copy(at, stretch.len(), |bytes| pieces.read_cached(piece, at, bytes)) {
                self.missed(list, here, at);
                self.copies.copy(at, stretch.len(), |bytes| pieces.read(piece, at, bytes));
            }
            return;
        }
        let is_cached = |at| pieces.read_cached(piece, at, &mut [0]);
        if !is_cached(at) || !ends_here.is_none_or(is_cached) {
            self.missed(list, here, at);
        }
    }

    fn missed(&mut self, list: &[usize], here: usize, at: usize) {
        if self.asking == 0 {
            self.asking = ASKED_AFTER_MISS;
            self.ask_from(list, here, at);
        }
    }

    fn ask_from(&mut self, list: &[usize], here: usize, at: usize) {
        (self.headers, self.stretches) = (self.headers.max(here), self.stretches.max(here));
        self.ask_headers(list, here.saturating_add(HEADERS));
        self.ask_stretches(list, here.saturating_add(STRETCHES));
        if self.asked - at > SHORT {
            self.advise(at..self.asked);
        }
    }

    /// The record at `at` and some after it, where they were copied.
    #[inline]
    pub(crate) fn record(&self, at: usize) -> Option<&[u8]> {
        self.copies.record(at, &mut self.copies.newest())
    }

    /// The copies made.
    pub(crate) fn into_copies(self) -> Stretches {
        self.copies
    }

    fn ask_headers(&mut self, list: &[usize], up_to: usize) {
        for &record in list.get(self.headers..up_to.min(list.len())).unwrap_or_default() {
            self.advise(record..record.saturating_add(AUXTRACE_SIZE));
        }
        self.headers = self.headers.max(up_to);
    }

    fn ask_stretches(&mut self, list: &[usize], up_to: usize) {
        for index in self.stretches..up_to.min(list.len()) {
            let start = self.behind_payload(list[index]);
            let end = list.get(index + 1).copied().unwrap_or(self.end);
            if let Some(start) = start.filter(|start| start.saturating_add(SHORT) < end) {
                self.advise(start..end.min(start.saturating_add(CHUNK)));
            }
        }
        self.stretches = self.stretches.max(up_to);
    }

    /// Where the payload of the AUXTRACE record at `record` ends, by its own word.
    fn behind_payload(&self, record: usize) -> Option<usize> {
        let header = self.pieces.bytes(self.piece).get(record..)?;
        let size = usize::try_from(u64_at(header, HEADER_SIZE)?).ok()?;
        record.checked_add(AUXTRACE_SIZE)?.checked_add(size)
    }

    fn advise(&self, range: Range<usize>) {
        self.pieces.advise(self.piece, Advice::WillNeed, range);
    }
}
