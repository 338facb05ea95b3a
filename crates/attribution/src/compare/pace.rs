//! How fast a core ran, on average over the time in which that is known.
//!
//! In one unit throughout: the core:bus ratio of CBR packets, or the kHz that a governor requested. The two are never
//! compared with each other: a ratio is whole units of a bus clock that is only approximately 100 MHz.

use super::share::share;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    /// Ticks in which it is known.
    pub(super) ticks: u64,
    /// Σ ticks x pace over those: in proportion to the core's cycles.
    pub(super) cycles: u128,
}

impl Pace {
    /// `rate` for `ticks`; a rate of 0 is none.
    pub(super) fn add(&mut self, ticks: u64, rate: u32) {
        if rate != 0 {
            self.ticks += ticks;
            self.cycles += u128::from(ticks) * u128::from(rate);
        }
    }

    pub(super) fn add_all(&mut self, other: &Pace) {
        self.ticks += other.ticks;
        self.cycles += other.cycles;
    }

    /// The average in thousandths, where it is known at all.
    fn milli(&self) -> Option<u64> {
        let average = (self.cycles * 1000).checked_div(u128::from(self.ticks))?;
        u64::try_from(average).ok().filter(|&average| average > 0)
    }

    /// The ticks lost by a rate below `usual`, of those in which the rate is known: for the others the loss is
    /// unknown.
    pub(super) fn lost_against(&self, usual: &Pace) -> u64 {
        self.below(usual).map_or(0, |(own, usual)| self.ticks - share(self.ticks, own, usual))
    }

    /// Both averages in thousandths, this one first, where it is the lower one.
    pub(super) fn below(&self, usual: &Pace) -> Option<(u64, u64)> {
        let (own, usual) = (self.milli()?, usual.milli()?);
        (own < usual).then_some((own, usual))
    }
}

/// How fast the core was in each of several intervals in which that is known.
#[derive(Default)]
pub(super) struct Paces {
    ratio: Vec<Pace>,
    asked: Vec<Pace>,
}

impl Paces {
    /// What one of the intervals had.
    pub(super) fn see(&mut self, ratio: Pace, asked: Pace) {
        let is_known = |pace: &Pace| pace.milli().is_some();
        self.ratio.extend(Some(ratio).filter(is_known));
        self.asked.extend(Some(asked).filter(is_known));
    }

    /// The ratio and the requested frequency that as many are below as above, of two the higher one; `else_ratio` and `else_asked` where fewer
    /// than `enough` intervals have it. One on a slow core does not change what is usual, as it would change a mean.
    pub(super) fn medians(self, enough: usize, (else_ratio, else_asked): (Pace, Pace)) -> (Pace, Pace) {
        let median = |mut paces: Vec<Pace>, otherwise: Pace| {
            paces.sort_unstable_by_key(Pace::milli);
            paces.get(paces.len() / 2).copied().filter(|_| paces.len() >= enough).unwrap_or(otherwise)
        };
        (median(self.ratio, else_ratio), median(self.asked, else_asked))
    }
}
