//! Sync points: where decoding may start, and how to find the one before a time in few reads.

use model::{Tsc, TscRange};

use crate::packets::{PSB, Packet, Packets};
use crate::stream::PtStream;

/// A PSB and the time its PSB+ gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// Position of the PSB in the stream.
    pub offset: u64,
    /// The TSC packet in its PSB+.
    pub tsc: Option<Tsc>,
}

/// All sync points of a stream, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PsbIndex {
    points: Vec<SyncPoint>,
}

impl PsbIndex {
    /// The points.
    pub fn points(&self) -> &[SyncPoint] {
        &self.points
    }

    /// The last point with a time at or before `at`; the first point where there is none.
    pub fn before(&self, at: Tsc) -> Option<SyncPoint> {
        let timed = self.points.iter().rev().find(|point| point.tsc.is_some_and(|tsc| tsc <= at));
        timed.or(self.points.first()).copied()
    }
}

/// Below this many bytes, walking from PSB to PSB beats another jump.
const WALK_BYTES: u64 = 32 << 10;
/// Sync points without a time that a search looks at before it gives up.
const TIMELESS_POINTS: usize = 64;
/// Jumps of a search; interpolation needs a handful, halving 40 for a terabyte.
const JUMPS: usize = 64;

impl PtStream<'_> {
    /// The first sync point.
    pub fn first_sync(&self) -> Option<SyncPoint> {
        self.sync_from(self.start())
    }

    /// The last sync point with a time, or the last of all where none has one.
    pub fn last_sync(&self) -> Option<SyncPoint> {
        self.sync_point_before(Tsc(u64::MAX))
    }

    /// From the first time in the stream to the last sync point's; `None` without times.
    pub fn time_span(&self) -> Option<TscRange> {
        let first = self.timed_from(self.start(), u64::MAX)?;
        let last = self.last_sync()?;
        Some(TscRange::new(first.tsc?, last.tsc?))
    }

    /// The sync point at or after `position`.
    pub fn sync_from(&self, position: u64) -> Option<SyncPoint> {
        let offset = self.psb_from(position)?;
        Some(SyncPoint { offset, tsc: self.sync_time(offset) })
    }

    /// The last sync point whose time is at or before `at`: decoding from it misses nothing from `at` on. The first
    /// one of the stream where all are later or none has a time. Reads a few pages only.
    pub fn sync_point_before(&self, at: Tsc) -> Option<SyncPoint> {
        let first = self.first_sync()?;
        let Some(mut low) = self.timed_from(first.offset, u64::MAX) else { return Some(first) };
        if low.tsc? > at {
            return Some(first);
        }
        let mut high = (self.end(), None::<Tsc>);
        for jump in 0..JUMPS {
            if high.0.saturating_sub(low.offset) <= WALK_BYTES {
                break;
            }
            let guess = guess(low, high, at, jump);
            match self.timed_from(guess, high.0) {
                Some(found) if found.tsc? <= at => low = found,
                Some(found) => high = (guess, found.tsc),
                None => high = (guess, high.1),
            }
        }
        while let Some(next) = self.timed_from(low.offset + PSB.len() as u64, high.0) {
            if next.tsc? > at {
                break;
            }
            low = next;
        }
        Some(low)
    }

    /// All sync points, by one scan over all bytes.
    pub fn index(&self) -> PsbIndex {
        let mut points = Vec::new();
        let mut position = self.start();
        while let Some(point) = self.sync_from(position) {
            points.push(point);
            position = point.offset + PSB.len() as u64;
        }
        PsbIndex { points }
    }

    /// The first sync point with a time at or after `position` and before `end`.
    fn timed_from(&self, position: u64, end: u64) -> Option<SyncPoint> {
        let mut position = position;
        for _ in 0..TIMELESS_POINTS {
            let point = self.sync_from(position).filter(|point| point.offset < end)?;
            if point.tsc.is_some() {
                return Some(point);
            }
            position = point.offset + PSB.len() as u64;
        }
        None
    }

    /// The TSC in the PSB+ at `offset`.
    fn sync_time(&self, offset: u64) -> Option<Tsc> {
        let bytes = self.psb_plus(offset);
        let mut packets = Packets::at(&bytes, PSB.len());
        while let Some(packet) = packets.next_exact() {
            match packet.packet {
                Packet::Tsc(low) => return Some(self.full_tsc(low)),
                Packet::PsbEnd | Packet::Psb | Packet::Ovf => return None,
                _ => {}
            }
        }
        None
    }
}

/// Where to look next: by interpolation, and every third time by halving, so that uneven traces end too. Never
/// outside (low, high).
fn guess(low: SyncPoint, high: (u64, Option<Tsc>), at: Tsc, jump: usize) -> u64 {
    let bytes = high.0 - low.offset;
    let fraction = match (low.tsc, high.1) {
        (Some(from), Some(to)) if jump % 3 != 2 && to > from => {
            let part = u128::from(bytes) * u128::from(at.since(from).0) / u128::from(to.since(from).0);
            // A little early: the point before is wanted.
            u64::try_from(part).unwrap_or(bytes).saturating_sub(WALK_BYTES / 4)
        }
        _ => bytes / 2,
    };
    low.offset + fraction.clamp(PSB.len() as u64, bytes - 1)
}

#[cfg(test)]
mod tests;
