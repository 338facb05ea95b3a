//! An interval together with its segments, and the check that not a tick is missing or counted twice.

use crate::interval::Interval;
use crate::segment::Segment;
use crate::time::{Ticks, Tsc};

/// An interval fully cut into segments. Exists only where the segments lie in order and without a hole from the
/// interval's start to its stop, so their ticks add up to its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    interval: Interval,
    segments: Vec<Segment>,
}

/// Segments that are no partition of their interval: always a bug of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// Two adjacent segments do not touch, or the first or last segment misses the interval's edge.
    #[error(
        "interval {id}: a segment begins at tick {found}, expected {expected}: time would be lost or counted twice"
    )]
    Hole {
        /// The interval's id.
        id: u64,
        /// Where the segment had to begin (or the last one to end).
        expected: u64,
        /// Where it did.
        found: u64,
    },
    /// A segment without a tick, or one that runs backwards.
    #[error("interval {id}: the segment at tick {at} is empty or runs backwards")]
    EmptySegment {
        /// The interval's id.
        id: u64,
        /// Where it begins.
        at: u64,
    },
}

impl Attribution {
    /// Joins an interval and its segments.
    ///
    /// # Errors
    /// [`PartitionError::Hole`] where segments do not follow each other edge to edge over the whole interval;
    /// [`PartitionError::EmptySegment`] where one has no tick.
    pub fn new(interval: Interval, segments: Vec<Segment>) -> Result<Attribution, PartitionError> {
        let id = interval.id.0;
        let mut edge = interval.range.start;
        for segment in &segments {
            expect_edge(id, edge, segment.range.start)?;
            if segment.range.is_empty() {
                return Err(PartitionError::EmptySegment { id, at: edge.0 });
            }
            edge = segment.range.stop;
        }
        expect_edge(id, interval.range.stop, edge)?;
        Ok(Attribution { interval, segments })
    }

    /// The interval.
    pub fn interval(&self) -> &Interval {
        &self.interval
    }

    /// Its segments, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The sum of the segments, which is the interval's duration.
    pub fn ticks(&self) -> Ticks {
        self.segments.iter().map(|segment| segment.range.ticks()).sum()
    }
}

fn expect_edge(id: u64, expected: Tsc, found: Tsc) -> Result<(), PartitionError> {
    if expected == found {
        Ok(())
    } else {
        Err(PartitionError::Hole { id, expected: expected.0, found: found.0 })
    }
}

#[cfg(test)]
mod tests;
