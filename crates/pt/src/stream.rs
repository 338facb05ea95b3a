//! The PT bytes of one CPU or thread, as they lie in the file: pieces in order, without repeats.
//!
//! Input: AUXTRACE payloads as located by the container. Invariant: pieces are ordered, not empty and do not
//! overlap; `joined` says whether a piece follows the one before it without a missing byte. No byte is read here
//! except in snapshot mode, where only the bytes show what repeats.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use model::{Cpu, Diagnostic, FileOffset, Tid, Tsc};

use crate::packets::PSB;

/// Values of a TSC packet: seven bytes.
const TSC_BITS: u32 = 56;
/// A PSB+ is shorter than this.
const PSB_PLUS_BYTES: usize = 512;

/// One AUXTRACE payload.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The PT bytes.
    pub bytes: &'a [u8],
    /// Position of the first one in the AUX stream, as the record says.
    pub aux_offset: u64,
    /// Position of the first one in the file.
    pub file_offset: FileOffset,
}

/// A piece at its place in the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) bytes: &'a [u8],
    /// Position in the stream. Equal to the AUX offset, except in snapshot mode.
    pub(crate) start: u64,
    pub(crate) file_offset: FileOffset,
    /// Follows the piece before it without a missing byte.
    pub(crate) joined: bool,
}

impl Placed<'_> {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn cut_front(&mut self, count: usize) {
        self.bytes = &self.bytes[count..];
        self.start += count as u64;
        self.file_offset.0 += count as u64;
    }
}

/// The PT bytes of one CPU (or of one thread, in a per-thread recording).
#[derive(Clone, Debug)]
pub struct PtStream<'a> {
    cpu: Option<Cpu>,
    thread: Option<Tid>,
    reference: Tsc,
    pub(crate) pieces: Vec<Placed<'a>>,
}

impl<'a> PtStream<'a> {
    /// Orders `pieces` by AUX offset and cuts what repeats. With `snapshot`, pieces are snapshots in the order they
    /// were taken: their AUX offsets wrap with the ring, so what the ring held twice is found by its bytes, and
    /// positions in the stream count on from piece to piece.
    pub fn new(
        cpu: Option<Cpu>,
        thread: Option<Tid>,
        pieces: impl IntoIterator<Item = Piece<'a>>,
        snapshot: bool,
    ) -> (PtStream<'a>, Vec<Diagnostic>) {
        let mut diagnostics = Vec::new();
        let pieces: Vec<Piece<'a>> = pieces.into_iter().filter(|piece| !piece.bytes.is_empty()).collect();
        let pieces =
            if snapshot { place_snapshots(&pieces) } else { place_by_offset(pieces, cpu, &mut diagnostics) };
        for pair in pieces.windows(2).filter(|pair| !pair[1].joined) {
            let what = if snapshot {
                "trace between two snapshots is missing".to_owned()
            } else {
                format!(
                    "{} bytes of trace are missing here: they were never written",
                    pair[1].start - pair[0].end()
                )
            };
            diagnostics.push(Diagnostic::warning(what).on_cpu(cpu).at_aux(pair[0].end()));
        }
        (PtStream { cpu, thread, reference: Tsc(0), pieces }, diagnostics)
    }

    /// The same stream, with a reading near it (`AUXTRACE.reference`): TSC packets hold the low 56 bits only, the
    /// rest is chosen so that times lie next to `reference`.
    #[must_use]
    pub fn with_reference(mut self, reference: Tsc) -> PtStream<'a> {
        self.reference = reference;
        self
    }

    /// The CPU that wrote it, unless it is a thread's.
    pub fn cpu(&self) -> Option<Cpu> {
        self.cpu
    }

    /// The thread it belongs to, unless it is a CPU's.
    pub fn thread(&self) -> Option<Tid> {
        self.thread
    }

    /// Bytes in all pieces.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes.len() as u64).sum()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Position after the last byte.
    pub fn end(&self) -> u64 {
        self.pieces.last().map_or(0, Placed::end)
    }

    /// Position of the first byte.
    pub fn start(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.start)
    }

    /// Where the byte at a stream position lies in the file; `None` in a hole or outside.
    pub fn file_offset(&self, position: u64) -> Option<FileOffset> {
        let piece = self.pieces.get(self.piece_at(position)?)?;
        Some(FileOffset(piece.file_offset.0 + (position - piece.start)))
    }

    /// Where the bytes of a range of stream positions lie in the file, holes left out.
    pub fn file_ranges(&self, range: Range<u64>) -> impl Iterator<Item = Range<FileOffset>> + '_ {
        let first = self.pieces.partition_point(|piece| piece.end() <= range.start);
        self.pieces[first..].iter().take_while(move |piece| piece.start < range.end).map(move |piece| {
            let skipped = range.start.saturating_sub(piece.start);
            let end = piece.end().min(range.end) - piece.start;
            FileOffset(piece.file_offset.0 + skipped)..FileOffset(piece.file_offset.0 + end)
        })
    }

    /// The full reading for the low 56 bits of one: the one nearest to the reference.
    pub(crate) fn full_tsc(&self, low: u64) -> Tsc {
        let span = 1u64 << TSC_BITS;
        let base = self.reference.0 & !(span - 1) | low & (span - 1);
        let half = span / 2;
        if base > self.reference.0 && base - self.reference.0 > half {
            Tsc(base.checked_sub(span).unwrap_or(base))
        } else if self.reference.0 > base && self.reference.0 - base > half {
            Tsc(base.checked_add(span).unwrap_or(base))
        } else {
            Tsc(base)
        }
    }

    /// Index of the piece that holds `position`.
    pub(crate) fn piece_at(&self, position: u64) -> Option<usize> {
        let index = self.pieces.partition_point(|piece| piece.end() <= position);
        (self.pieces.get(index)?.start <= position).then_some(index)
    }

    /// Whether the piece after piece `index` goes on without a missing byte.
    pub(crate) fn goes_on(&self, index: usize) -> bool {
        self.pieces.get(index + 1).is_some_and(|next| next.joined)
    }

    /// Position of the first PSB at or after `position`, those that straddle pieces included.
    pub(crate) fn psb_from(&self, position: u64) -> Option<u64> {
        let first = self.pieces.partition_point(|piece| piece.end() <= position);
        for (index, piece) in self.pieces.iter().enumerate().skip(first) {
            let skip = usize::try_from(position.saturating_sub(piece.start)).ok()?;
            let rest = piece.bytes.get(skip..)?;
            if let Some(found) = memmem::find(rest, &PSB) {
                return Some(piece.start + (skip + found) as u64);
            }
            let tail = rest.len().min(PSB.len() - 1);
            let from = piece.end() - tail as u64;
            if self.goes_on(index)
                && let Some(found) = memmem::find(&self.bytes(from, tail + PSB.len() - 1), &PSB)
            {
                return Some(from + found as u64);
            }
        }
        None
    }

    /// Bytes from `position` on: borrowed up to the piece's end where that is `least` or more, else copied over the
    /// following contiguous pieces until there are `least`, if there are.
    pub(crate) fn bytes(&self, position: u64, least: usize) -> Cow<'a, [u8]> {
        let Some(index) = self.piece_at(position) else { return Cow::Borrowed(&[]) };
        let skip = usize::try_from(position - self.pieces[index].start).unwrap_or(usize::MAX);
        let head = self.pieces[index].bytes.get(skip..).unwrap_or_default();
        if head.len() >= least || !self.goes_on(index) {
            return Cow::Borrowed(head);
        }
        let mut copy = head.to_vec();
        for piece in self.pieces[index + 1..].iter().take_while(|piece| piece.joined) {
            let wanted = least - copy.len();
            copy.extend_from_slice(&piece.bytes[..wanted.min(piece.bytes.len())]);
            if copy.len() >= least {
                break;
            }
        }
        Cow::Owned(copy)
    }

    /// The bytes of the PSB+ at `position`, and some after it.
    pub(crate) fn psb_plus(&self, position: u64) -> Cow<'a, [u8]> {
        match self.bytes(position, PSB_PLUS_BYTES) {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..bytes.len().min(PSB_PLUS_BYTES)]),
            owned @ Cow::Owned(_) => owned,
        }
    }
}

fn place_by_offset<'a>(
    mut pieces: Vec<Piece<'a>>,
    cpu: Option<Cpu>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Placed<'a>> {
    pieces.sort_by_key(|piece| (piece.aux_offset, piece.file_offset));
    let mut placed: Vec<Placed<'a>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let complain = |what: &str| Diagnostic::warning(what).on_cpu(cpu).at_offset(piece.file_offset);
        if piece.aux_offset.checked_add(piece.bytes.len() as u64).is_none() {
            let what = "an AUXTRACE record ends after the last possible AUX offset; its trace is left out";
            diagnostics.push(complain(what).at_aux(piece.aux_offset));
            continue;
        }
        let mut next = Placed {
            bytes: piece.bytes,
            start: piece.aux_offset,
            file_offset: piece.file_offset,
            joined: false,
        };
        if let Some(before) = placed.last() {
            let repeated = before.end().saturating_sub(next.start);
            if repeated > 0 {
                let what = "AUXTRACE records overlap; the bytes of the first are taken";
                diagnostics.push(complain(what).at_aux(next.start));
            }
            let repeated = usize::try_from(repeated).unwrap_or(usize::MAX).min(next.bytes.len());
            next.cut_front(repeated);
            if next.bytes.is_empty() {
                continue;
            }
            next.joined = before.end() == next.start;
        }
        placed.push(next);
    }
    placed
}

/// Snapshots in the order they were taken: each begins with what the ring still held of the one before.
fn place_snapshots<'a>(pieces: &[Piece<'a>]) -> Vec<Placed<'a>> {
    let mut placed: Vec<Placed<'a>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let start = placed.last().map_or(piece.aux_offset.min(u64::MAX / 2), Placed::end);
        let mut next = Placed { bytes: piece.bytes, start, file_offset: piece.file_offset, joined: false };
        if let Some(repeated) = placed.last().and_then(|before| repeated_bytes(before.bytes, piece.bytes)) {
            next.cut_front(repeated);
            next.start = start;
            next.joined = true;
        }
        if !next.bytes.is_empty() {
            placed.push(next);
        }
    }
    placed
}

/// How many bytes at the front of `after` were in `before` already: those up to the end of `before`'s last sync
/// period, found again in `after`.
fn repeated_bytes(before: &[u8], after: &[u8]) -> Option<usize> {
    let last = memmem::rfind(before, &PSB)?;
    let tail = &before[last..];
    // A bare PSB gives no time: it needs its TSC to be unique.
    (tail.len() > 2 * PSB.len()).then(|| memmem::find(after, tail).map(|found| found + tail.len())).flatten()
}

#[cfg(test)]
mod tests;
