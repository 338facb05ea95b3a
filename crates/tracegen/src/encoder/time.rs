//! Time packets: TSC and TMA, MTC, CYC, CBR.
//!
//! Invariant: MTC counters follow each other without a hole, or a TSC stands between; CYC counts core cycles since the last one.
//! What stands before a CYC happened before its time, what stands after it then or later, and the packet after it then; of a TNT,
//! its first branch. So no branch is held back across another packet that gives a time (SDM vol. 3, "Cycle Packet Semantics").

use super::Encoder;
use crate::packet::Packet;

/// After so many MTCs without one, a TSC says more: their 8 bits would wrap.
const MTC_HOLE: u64 = 128;

/// Where the trace stands in time, in TSC ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TraceTime {
    pub(super) now: u64,
    /// When the first of the branches that are held back retired.
    pub(super) first_branch: u64,
    /// Time of the last CYC or TSC.
    cycles_from: u64,
    /// Crystal ticks of the last MTC, in MTC periods.
    last_mtc: u64,
}

impl TraceTime {
    /// Moves on without packets.
    pub(super) fn jump(&mut self, tsc: u64) {
        self.now = self.now.max(tsc);
    }
}

impl Encoder {
    /// The core:bus ratio changes.
    pub fn change_ratio(&mut self, tsc: u64, ratio: u8) {
        self.halt(tsc, tsc, ratio);
    }

    /// The core's clock is stopped between two times, and goes on with another core:bus ratio: TSC, TMA, CBR.
    pub fn halt(&mut self, from: u64, to: u64, ratio: u8) {
        self.advance(from);
        self.flush_tnt();
        self.put_cycles();
        self.clock.jump(to);
        self.run_at(ratio);
        self.resynchronise_time();
    }

    /// The ratio that is in force when tracing starts, which its PSB+ shows.
    pub(crate) fn run_at(&mut self, ratio: u8) {
        self.ratio = ratio;
    }

    /// The clock went on while the core slept: TSC, TMA, CBR.
    pub fn wake(&mut self, tsc: u64) {
        self.flush_tnt();
        self.clock.jump(tsc);
        self.resynchronise_time();
    }

    /// Moves time on to `tsc`; writes the MTCs that fall due.
    pub(super) fn advance(&mut self, tsc: u64) {
        if let (Some(period), true) = (self.settings.mtc_period, tsc > self.clock.now) {
            let due = self.crystal(tsc) >> period;
            if due.saturating_sub(self.clock.last_mtc) > MTC_HOLE {
                self.flush_tnt();
                self.clock.now = tsc;
                self.put_tsc();
            }
            while self.clock.last_mtc < due {
                self.flush_tnt();
                self.clock.last_mtc += 1;
                let edge = self.tsc_of(self.clock.last_mtc << period);
                self.clock.jump(edge);
                self.put_cycles();
                Packet::Mtc(self.clock.last_mtc as u8).put(&mut self.bytes);
            }
        }
        self.clock.jump(tsc);
    }

    /// TSC, TMA and CBR, as in PSB+ and after sleep.
    pub(super) fn resynchronise_time(&mut self) {
        self.put_tsc();
        if self.settings.ratios {
            Packet::Cbr(self.ratio).put(&mut self.bytes);
        }
    }

    /// The core cycles since the last CYC, if there are any.
    pub(super) fn put_cycles(&mut self) {
        self.put_cycles_to(self.clock.now);
    }

    /// The core cycles from the last CYC to the TSC `to`, if there are any.
    pub(super) fn put_cycles_to(&mut self, to: u64) {
        let ticks = to.saturating_sub(self.clock.cycles_from);
        let cycles = ticks * u64::from(self.ratio) / u64::from(self.settings.tsc_ratio.max(1));
        if self.settings.cycles && cycles != 0 {
            self.clock.cycles_from = to;
            Packet::Cyc(cycles).put(&mut self.bytes);
        }
    }

    fn put_tsc(&mut self) {
        let now = self.clock.now;
        Packet::Tsc(now).put(&mut self.bytes);
        self.clock.cycles_from = now;
        if let Some(period) = self.settings.mtc_period {
            let crystal = self.crystal(now);
            let fast_counter = (now - self.tsc_of(crystal)).min(0x1ff) as u16;
            Packet::Tma { ctc: crystal as u16, fast_counter }.put(&mut self.bytes);
            self.clock.last_mtc = crystal >> period;
        }
    }

    /// Crystal ticks at `tsc`, rounded down.
    fn crystal(&self, tsc: u64) -> u64 {
        let product = u128::from(tsc) * u128::from(self.settings.tsc_denominator);
        (product / u128::from(self.settings.tsc_numerator.max(1))) as u64
    }

    /// The first TSC at which the crystal shows `crystal`.
    fn tsc_of(&self, crystal: u64) -> u64 {
        let product = u128::from(crystal) * u128::from(self.settings.tsc_numerator);
        product.div_ceil(u128::from(self.settings.tsc_denominator.max(1))) as u64
    }
}
