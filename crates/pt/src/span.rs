//! Which bytes of a stream a window needs: what a slice must keep so that the window decodes to the same flow.
//!
//! From the sync point at or before the window's start to the second one after its end: the decoder goes on until a
//! time packet says that the end has passed, and the sync point after it is what it looks at to know how far it may go.

use std::ops::Range;

use model::{Tsc, TscRange};

use crate::packets::PSB;
use crate::stream::PtStream;

/// Sync points after a window that are kept.
const BEHIND: usize = 2;

/// A part of a stream, and what it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpan {
    /// Positions in the stream.
    pub positions: Range<u64>,
    /// The times of the sync points at its ends; zero and [`u64::MAX`] where there is none.
    pub time: TscRange,
}

impl PtStream<'_> {
    /// What decoding `range` needs; `None` of a stream without a sync point.
    pub fn span_of(&self, range: TscRange) -> Option<StreamSpan> {
        let first = self.sync_point_before(range.start)?;
        let is_first = self.first_sync().is_some_and(|of_stream| of_stream.offset == first.offset);
        // What lies before the first sync point is a gap: it is reported only where it exists.
        let (start, from) = match first.tsc.filter(|_| !is_first) {
            Some(tsc) => (first.offset, tsc),
            None => (self.start(), Tsc(0)),
        };
        let (end, to) = self.end_of(first.offset, range.stop);
        Some(StreamSpan { positions: start..end, time: TscRange { start: from, stop: to.max(from) } })
    }

    /// Position and time of the second sync point with a time after `at`.
    fn end_of(&self, first: u64, at: Tsc) -> (u64, Tsc) {
        let last = self.sync_point_before(at).map_or(first, |point| point.offset.max(first));
        let mut position = last;
        let mut behind = 0;
        while let Some(point) = self.sync_from(position + PSB.len() as u64) {
            position = point.offset;
            behind += usize::from(point.tsc.is_some_and(|tsc| tsc > at));
            if let Some(tsc) = point.tsc.filter(|_| behind == BEHIND) {
                return (position, tsc);
            }
        }
        (self.end(), Tsc(u64::MAX))
    }
}
