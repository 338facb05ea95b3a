//! The time of what is read, and how far the sync points after it allow it.
//!
//! ```text
//! PSB t=100 ......... TSC 990000 (damaged) ......... PSB t=200 ......... PSB t=300
//!     └ until the next PSB nothing is later than the two after it say: 300
//! ```
//!
//! The clock itself ([`TscEstimate`]) is the same for both engines. A TSC packet later than the bound is left out
//! and counted. Source: Intel SDM vol. 3, "Intel Processor Trace", "TSC Packet" and the timing packets after it.

use model::Tsc;

use crate::clock::{Mark, Pace, TscEstimate};
use crate::config::PtConfig;
use crate::packets::{PSB, Packet};
use crate::stream::PtStream;
use crate::sync::SyncPoint;

/// The clock of a walk.
#[derive(Clone)]
pub(super) struct Timing<'s> {
    stream: &'s PtStream<'s>,
    clock: TscEstimate,
    latest: Tsc,
    /// The sync point after the last PSB, and the one after it.
    next: Option<SyncPoint>,
    second: Option<SyncPoint>,
    /// TSC packets left out, and where the first one lies.
    pub(super) ignored: u64,
    pub(super) first_ignored: Option<u64>,
}

impl<'s> Timing<'s> {
    pub(super) fn new(stream: &'s PtStream<'s>, config: &PtConfig) -> Timing<'s> {
        Timing {
            stream,
            clock: TscEstimate::new(config),
            latest: Tsc(u64::MAX),
            next: None,
            second: None,
            ignored: 0,
            first_ignored: None,
        }
    }

    /// A PSB was read at `position`.
    pub(super) fn sync_point(&mut self, position: u64) {
        let after = |position: u64| self.stream.sync_from(position + PSB.len() as u64);
        self.next = match self.next {
            Some(next) if next.offset == position => self.second,
            _ => after(position),
        };
        self.second = self.next.and_then(|next| after(next.offset));
        let latest = self.next.and_then(|next| next.tsc).map(|tsc| {
            let second = self.second.and_then(|second| second.tsc);
            second.map_or(tsc, |second| second.max(tsc))
        });
        self.latest = latest.unwrap_or(Tsc(u64::MAX));
    }

    /// Takes in a packet that ends at `position`, if it says something of the time.
    #[inline]
    pub(super) fn apply(&mut self, packet: &Packet, position: u64) {
        if let Packet::Tsc(low) = *packet
            && self.stream.full_tsc(low) > self.latest
        {
            self.ignored += 1;
            self.first_ignored.get_or_insert(position);
            return;
        }
        self.clock.apply(packet);
    }

    /// A CYC of so many cycles.
    #[inline]
    pub(super) fn count(&mut self, cycles: u64) {
        self.clock.count(cycles);
    }

    /// An MTC that holds `count`.
    #[inline]
    pub(super) fn tick(&mut self, count: u8) {
        self.clock.tick(count);
    }

    /// The reading now, its low 56 bits, if any was given.
    #[inline]
    pub(super) fn reading(&self) -> Option<u64> {
        self.clock.now()
    }

    /// The same, so many cycles later.
    pub(super) fn reading_after(&self, cycles: u64) -> Option<u64> {
        self.clock.now_after(cycles)
    }

    /// The clock for a loop over CYC and MTC packets alone, whose readings all lie before `end`.
    #[inline]
    pub(super) fn pace(&self, end: u64) -> Option<Pace> {
        self.clock.pace(end)
    }

    /// See [`TscEstimate::tick_at_pace`].
    #[inline]
    pub(super) fn tick_at_pace(&self, pace: &mut Pace, count: u8) -> bool {
        self.clock.tick_at_pace(pace, count)
    }

    /// The reading at a mark of a pace.
    pub(super) fn reading_at(&self, mark: Mark) -> u64 {
        self.clock.reading_at(mark)
    }

    /// The loop ended with the clock at `pace`.
    pub(super) fn stand_at(&mut self, pace: &Pace) {
        self.clock.stand_at(pace);
    }

    /// The full reading for `low`, whatever the sync points allow.
    #[inline]
    pub(super) fn unbounded(&self, low: u64) -> Tsc {
        self.stream.full_tsc(low)
    }

    /// The last time that the sync points allow.
    #[inline]
    pub(super) fn latest(&self) -> Tsc {
        self.latest
    }

    /// The full reading for `low`, no later than the sync points allow.
    #[inline]
    pub(super) fn full(&self, low: u64) -> Tsc {
        self.stream.full_tsc(low).min(self.latest)
    }
}
