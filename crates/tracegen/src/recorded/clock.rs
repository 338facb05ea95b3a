//! The clocks of a recording: the host's TSC in the log, the guest's TSC in PT and marks, perf time in the sideband.
//!
//! Guest TSC = host TSC / K + a constant given by the pairs in the log: the emulator divides by K, the guest starts at its own zero.
//! Source: `fixtures/emulator/qemu-dilate.patch`; tools/perf/util/tsc.c for perf time.

use super::log::{Entry, Log};
use super::schedule::Schedule;

/// The middle half of all pairs lies within so many ticks.
const FAR: u64 = 100;

/// The kernel's and our conversion of a TSC to nanoseconds differ by no more.
const ROUNDING: u64 = 2;

/// Host TSC to guest TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GuestClock {
    dilation: u64,
    /// Host TSC / K - guest TSC, modulo 2^64.
    offset: u64,
}

impl GuestClock {
    /// The clock from the pairs in `logs`. Most pairs differ by the constant and a few ticks for reading the host's TSC after the
    /// guest's; where an interrupt falls between both, by more. The lower quartile is taken. `None` where there is no pair, or where the
    /// middle half of them is wide: the clocks drift.
    pub(super) fn of(logs: &[Log], dilation: u64) -> Option<GuestClock> {
        let entries = logs.iter().flat_map(Log::entries);
        let difference = |entry| match entry {
            Entry::Clock { guest, at } => Some((at / dilation).wrapping_sub(guest).cast_signed()),
            _ => None,
        };
        let mut differences: Vec<i64> = entries.filter_map(difference).collect();
        differences.sort_unstable();
        let quarter = differences.len() / 4;
        let (&low, &high) = (differences.get(quarter)?, differences.get(3 * quarter)?);
        let offset = low.cast_unsigned();
        (high.abs_diff(low) <= FAR).then_some(GuestClock { dilation, offset })
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

/// Does perf's time follow from the TSC as `time` says? A record's time comes from an RDTSC that the log knows, so that it must be that of
/// one of them; after the kernel has changed what it takes for the TSC's frequency it is not.
pub(super) fn agrees(time: PerfTime, logs: &[Log], schedule: &Schedule) -> bool {
    let read = logs.iter().flat_map(Log::entries).filter_map(|entry| match entry {
        Entry::Clock { guest, .. } => Some(time.nanoseconds(guest)),
        _ => None,
    });
    let mut read: Vec<u64> = read.collect();
    read.sort_unstable();
    let (Some(&first), Some(&last)) = (read.first(), read.last()) else { return true };
    let recorded = schedule.times().filter(|time| (first..=last).contains(time));
    let is_read = |time: u64| {
        let at = read.partition_point(|&read| read + ROUNDING < time);
        read.get(at).is_some_and(|&read| read <= time + ROUNDING)
    };
    let (known, unknown): (Vec<u64>, Vec<u64>) = recorded.partition(|&time| is_read(time));
    unknown.len() <= known.len()
}
