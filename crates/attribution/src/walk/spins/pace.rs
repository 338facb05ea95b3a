//! How fast the blocks of a loop run, between times that are known.

use model::{Ticks, Tsc};

/// See the module. Blocks are counted from the one after that which showed the loop.
pub(super) struct Pace {
    ran: u64,
    /// The first time after the first iteration, and how many blocks ran before it.
    pub(super) first: Option<(Tsc, u64)>,
    /// The last such time at which an iteration began.
    last: Option<(Tsc, u64)>,
}

impl Pace {
    /// Of a loop with this first time, if it came before what showed the loop.
    pub(super) fn new(first: Option<Tsc>) -> Pace {
        Pace { ran: 0, first: first.map(|at| (at, 0)), last: None }
    }

    /// A block runs at `at`, in the loop or after it; the first iteration was complete at `since`.
    pub(super) fn block(&mut self, at: Tsc, since: Tsc) {
        if at > since {
            self.first = self.first.or(Some((at, self.ran)));
        }
        self.ran += 1;
    }

    /// The same, and an iteration begins with it.
    pub(super) fn round(&mut self, at: Tsc, since: Tsc) {
        if self.last.is_none_or(|(last, _)| last < at) {
            self.last = Some((at, self.ran));
        }
        self.block(at, since);
    }

    /// The time of so many `blocks` on average, if some ran between two times.
    pub(super) fn of(&self, blocks: u64) -> Option<Ticks> {
        let ((from, before), (to, until)) =
            self.first.zip(self.last).filter(|(first, last)| first.0 < last.0)?;
        let ran = u128::from(until.saturating_sub(before));
        let took = (u128::from(to.since(from).0) * u128::from(blocks)).checked_div(ran)?;
        Some(Ticks(u64::try_from(took).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All blocks may lie at the time of one packet.
    #[test]
    fn one_time_is_no_pace() {
        let mut pace = Pace::new(Some(Tsc(400)));
        for _ in 0..2 {
            pace.block(Tsc(400), Tsc(100));
        }
        pace.round(Tsc(400), Tsc(100));
        assert_eq!(pace.of(2), None);
        pace.round(Tsc(430), Tsc(100));
        assert_eq!(pace.of(2), Some(Ticks(20)));
    }
}
