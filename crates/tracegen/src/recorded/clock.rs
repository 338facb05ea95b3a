//! The clocks of a recording: the host's TSC in the log, the guest's TSC in PT and marks, perf time in the sideband.
//!
//! Guest TSC = host TSC / K + a constant that the pairs in the log tell: the emulator divides by K, the guest starts at its own zero.
//! Source: `fixtures/emulator/qemu-dilate.patch`; tools/perf/util/tsc.c for perf time.

use super::log::{Entry, Log};

/// Reading a pair takes less than so many ticks of the guest, most times.
const FAR: u64 = 500;

/// Host TSC to guest TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    dilation: u64,
    /// Host TSC / K - guest TSC, modulo 2^64.
    offset: u64,
}

impl Clock {
    /// The clock that the pairs in `logs` tell. A pair's host time is read a little after its guest time, so that the smallest
    /// difference is the nearest; `None` where there is no pair, or where half of them are far from it: the clocks drift.
    pub(super) fn of(logs: &[Log], dilation: u64) -> Option<Clock> {
        let entries = logs.iter().flat_map(Log::entries);
        let difference = |entry| match entry {
            Entry::Clock { guest, at } => Some((at / dilation).wrapping_sub(guest).cast_signed()),
            _ => None,
        };
        let mut differences: Vec<i64> = entries.filter_map(difference).collect();
        differences.sort_unstable();
        let (&least, &median) = (differences.first()?, differences.get(differences.len() / 2)?);
        let offset = least.cast_unsigned();
        (median.abs_diff(least) <= FAR).then_some(Clock { dilation, offset })
    }

    pub(super) fn guest(&self, host: u64) -> u64 {
        (host / self.dilation).wrapping_sub(self.offset)
    }
}

/// Guest TSC to perf time: `TIME_CONV`'s fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerfTime {
    pub(super) shift: u64,
    pub(super) mult: u64,
    pub(super) zero: u64,
}

impl PerfTime {
    /// Perf time in nanoseconds, rounded down.
    pub(super) fn nanoseconds(&self, tsc: u64) -> u64 {
        let product = u128::from(tsc) * u128::from(self.mult);
        self.zero.wrapping_add((product >> self.shift.min(127)) as u64)
    }

    /// The first TSC with this perf time.
    pub(super) fn ticks(&self, nanoseconds: u64) -> u64 {
        let product = u128::from(nanoseconds.wrapping_sub(self.zero)) << self.shift.min(64);
        product.div_ceil(u128::from(self.mult.max(1))) as u64
    }

    /// Ticks per second.
    pub(super) fn hertz(&self) -> u64 {
        ((1_000_000_000u128 << self.shift.min(64)) / u128::from(self.mult.max(1))) as u64
    }
}
