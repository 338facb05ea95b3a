//! The walk's clock: the current time of the flow, its uncertainty, and what has retired since.

use model::{Cpu, Ticks, Tsc};
use pt::TimeBounds;

/// The time and place of an event in the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The last known time before it.
    pub(super) at: Tsc,
    /// The uncertainty of that time.
    pub(super) uncertainty: Ticks,
    /// Where.
    pub(super) cpu: Option<Cpu>,
    /// The core:bus ratio, 0 where it is not known.
    pub(super) ratio: u32,
    /// Where in the AUX stream.
    pub(super) aux_offset: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The CPU that the thread is on, where known.
    pub(super) cpu: Option<Cpu>,
    /// Its core:bus ratio, 0 where it is not known.
    pub(super) ratio: u32,
    /// The time of the last item.
    pub(super) now: Tsc,
    /// The last known time before the last item, which may lie before the stay.
    pub(super) seen: Tsc,
    /// The first known time after the last item.
    pub(super) not_after: Tsc,
    /// The uncertainty of the last item's time.
    pub(super) edge: Ticks,
    /// Instructions retired since `now`.
    pub(super) retired: u64,
}

impl Clock {
    /// The thread comes onto `cpu` at `at`. The ratio may have changed unseen.
    pub(super) fn switch_in(&mut self, cpu: Option<Cpu>, at: Tsc) {
        *self = Clock { cpu, now: at, seen: at, not_after: self.not_after, ..Clock::default() };
    }

    /// When an item of `time` takes place: the clock never runs backwards.
    pub(super) fn time_of(&self, time: &TimeBounds) -> Tsc {
        time.likely.max(self.now)
    }

    /// Moves to an item of `time`.
    pub(super) fn advance(&mut self, time: &TimeBounds) {
        let at = self.time_of(time);
        if at > self.now {
            self.now = at;
            self.retired = 0;
        }
        self.seen = time.likely;
        self.not_after = time.not_after;
        self.edge = time.width();
    }

    /// Now, with the packet at `aux_offset`.
    pub(super) fn moment(&self, aux_offset: u64) -> Moment {
        Moment { at: self.now, uncertainty: self.edge, cpu: self.cpu, ratio: self.ratio, aux_offset }
    }
}
