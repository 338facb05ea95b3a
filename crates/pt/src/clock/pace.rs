//! A clock that only CYC and MTC packets move on, as far as all its readings stay before an end.
//!
//! ```text
//! base          + CYC + CYC + CYC      every reading lies before base + one MTC period: none is worked out
//! base'  (MTC)  + CYC ...              the next period, if it ends before the end, too
//! ```
//!
//! What a reading is, [`TscEstimate`] says; a pace holds what changes, so that a loop keeps it at hand.

use super::TscEstimate;

/// No count of cycles is larger where a pace begins, so that sums of CYC packets do not overflow.
const MOST_CYCLES: u64 = 1 << 56;

/// See above. Readings never run backwards within one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    base: u64,
    cycles: u64,
    /// Up to so many cycles after the base readings lie before the end.
    most_cycles: u64,
    end: u64,
    /// MTC periods since the anchor, and the last MTC, in a word of its own so that copies stay whole.
    periods: u64,
    last: u64,
}

impl Pace {
    /// The clock after so many core cycles more, if its reading lies before the end.
    #[inline]
    pub(crate) fn after(&self, cycles: u64) -> Option<Mark> {
        let cycles = self.cycles + cycles;
        (cycles <= self.most_cycles).then_some(Mark { base: self.base, cycles })
    }

    /// The clock stands at `mark`, that comes from [`Pace::after`].
    #[inline]
    pub(crate) fn pass(&mut self, mark: Mark) {
        self.cycles = mark.cycles;
    }
}

/// What a reading is worked out from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The last reading that did not come from CYC, and the cycles since.
    base: u64,
    cycles: u64,
}

impl TscEstimate {
    /// The clock as it stands, if it holds before `end`.
    pub(crate) fn pace(&self, end: u64) -> Option<Pace> {
        let base = self.base.filter(|_| self.cycles < MOST_CYCLES)?;
        let most_cycles = match (self.mtc, self.ratio) {
            (Some(_), _) if base.checked_add(self.mtc_ticks)? >= end => return None,
            (None, Some(ratio)) if self.nominal > 0 => {
                // cycles * nominal / ratio < end - base
                ratio
                    .multiply(end.checked_sub(base)?)?
                    .checked_div(self.nominal)?
                    .checked_sub(1)?
                    .min(MOST_CYCLES)
            }
            _ if base >= end => return None,
            _ => u64::MAX,
        };
        let (periods, last) = self.mtc.map_or((0, 0), |anchor| (anchor.periods, u64::from(anchor.last)));
        let pace = Pace { base, cycles: self.cycles, most_cycles, end, periods, last };
        pace.after(0).map(|_| pace)
    }

    /// The MTC after the last one came, and holds `count`; false, and nothing happened, where it is another one, or the
    /// period that begins may not end before the end of `pace`.
    #[inline]
    pub(crate) fn tick_at_pace(&self, pace: &mut Pace, count: u8) -> bool {
        let Some(anchor) = &self.mtc else { return false };
        let periods = pace.periods + 1;
        let base = anchor.tsc.wrapping_add(self.crystal_ticks(periods << self.mtc_shift));
        let is_next = u64::from(count) == (pace.last + 1) & 0xff;
        // A base inside of the period that ends: its readings may lie after the new one.
        let is_whole = pace.base.checked_add(self.mtc_ticks).is_some_and(|least| least <= base);
        let ends_before = base.checked_add(self.mtc_ticks).is_some_and(|last| last < pace.end);
        if !(is_next && is_whole && ends_before) {
            return false;
        }
        *pace = Pace { base, cycles: 0, most_cycles: u64::MAX, periods, last: u64::from(count), ..*pace };
        true
    }

    /// The reading at `mark`.
    pub(crate) fn reading_at(&self, mark: Mark) -> u64 {
        mark.base.wrapping_add(self.ticks_of(mark.cycles))
    }

    /// Stands where `pace` stands.
    #[allow(clippy::cast_possible_truncation, reason = "it came from a byte")]
    pub(crate) fn stand_at(&mut self, pace: &Pace) {
        (self.base, self.cycles) = (Some(pace.base), pace.cycles);
        if let Some(anchor) = &mut self.mtc {
            (anchor.periods, anchor.last) = (pace.periods, pace.last as u8);
        }
    }
}
