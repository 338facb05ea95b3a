//! Asks the kernel for the pages of records ahead of the walk over them, and never for AUX payloads.
//!
//! Input: the file's own list of AUXTRACE records. Between two of them lie a payload, whose length only the first
//! one's header tells, and then records. So headers are asked for first, then, when they have come, the records behind
//! the payloads: a file that is not cached costs the device's throughput and not a wait per AUXTRACE record. Nothing is
//! asked for until a page proves not to be cached.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use memmap2::Advice;

use crate::bytes::u64_at;
use crate::file::Pieces;
use crate::record::HEADER_SIZE;
use crate::walk::{AUXTRACE_SIZE, AuxtraceIndex};

/// How many bytes of records are asked for at once.
const CHUNK: usize = 1 << 20;
/// How many AUXTRACE headers are asked for ahead of the walk: enough to keep a fast device busy.
const HEADERS: usize = 512;
/// For how many of them the records behind their payloads are asked for.
const STRETCHES: usize = 128;
/// Touching a page takes longer only if it must be read first.
const TOUCH: Duration = Duration::from_micros(30);
/// Fewer bytes than this come with the AUXTRACE header behind them, or nearly so.
const SHORT: usize = 512;

/// The pages asked for so far.
pub(crate) struct ReadAhead<'a> {
    pieces: &'a Pieces,
    piece: usize,
    auxtrace: &'a AuxtraceIndex,
    end: usize,
    /// Nothing to do before the walk is here.
    asked: usize,
    /// Whether the file's pages were in memory so far.
    cached: bool,
    /// How many headers, and the records behind how many payloads.
    headers: usize,
    stretches: usize,
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
        ReadAhead { pieces, piece, auxtrace, end, asked, cached: true, headers: 0, stretches: 0 }
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
        self.cached &= self.is_quick(at) && list.get(here).is_none_or(|&record| self.is_quick(record));
        if self.cached {
            return;
        }
        (self.headers, self.stretches) = (self.headers.max(here), self.stretches.max(here));
        self.ask_headers(list, here.saturating_add(HEADERS));
        self.ask_stretches(list, here.saturating_add(STRETCHES));
        if self.asked - at > SHORT {
            self.advise(at..self.asked);
        }
    }

    /// Whether the page at `at` can be touched without waiting for the device.
    fn is_quick(&self, at: usize) -> bool {
        let start = Instant::now();
        black_box(self.pieces.bytes(self.piece).get(at).copied());
        start.elapsed() < TOUCH
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
