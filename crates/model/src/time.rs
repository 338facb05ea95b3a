//! Two clocks and the one bridge between them.
//!
//! PT packets and `rdtsc` marks speak [`Tsc`]; perf records speak [`PerfTime`] (nanoseconds of the perf clock).
//! [`TimeConversion`] holds the kernel's `time_zero`, `time_mult`, `time_shift` (`perf_event_mmap_page` in
//! `include/uapi/linux/perf_event.h`). All arithmetic is in integers, products in 128 bits.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A reading of the time-stamp counter, in ticks since the counter's zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tsc(pub u64);

/// A difference of two [`Tsc`] readings. Not core cycles: those are what CYC packets count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

/// Nanoseconds of the perf clock, the time that `perf script` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerfTime(pub u64);

impl Tsc {
    /// Ticks from `earlier` to `self`; zero where `earlier` is in fact later.
    pub fn since(self, earlier: Tsc) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }

    /// The reading `ticks` before this one, or zero where the counter had not started.
    #[must_use]
    pub fn before(self, ticks: Ticks) -> Tsc {
        Tsc(self.0.saturating_sub(ticks.0))
    }
}

impl Add<Ticks> for Tsc {
    type Output = Tsc;
    fn add(self, ticks: Ticks) -> Tsc {
        Tsc(self.0.saturating_add(ticks.0))
    }
}

impl Add for Ticks {
    type Output = Ticks;
    fn add(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, other: Ticks) {
        *self = *self + other;
    }
}

impl Sub for Ticks {
    type Output = Ticks;
    fn sub(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Ticks {
    fn sum<I: Iterator<Item = Ticks>>(iter: I) -> Ticks {
        iter.fold(Ticks(0), Add::add)
    }
}

impl fmt::Display for PerfTime {
    /// Seconds with nine decimals, as `perf script --time` takes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A half-open range of TSC readings: `start` belongs to it, `stop` does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TscRange {
    /// First reading inside.
    pub start: Tsc,
    /// First reading after it; never below `start`.
    pub stop: Tsc,
}

impl TscRange {
    /// The range from `start` to `stop`; empty at `start` where `stop` lies before it.
    pub fn new(start: Tsc, stop: Tsc) -> TscRange {
        TscRange { start, stop: stop.max(start) }
    }

    /// Its length.
    pub fn ticks(self) -> Ticks {
        self.stop.since(self.start)
    }

    /// Whether it holds no reading at all.
    pub fn is_empty(self) -> bool {
        self.start >= self.stop
    }

    /// Whether `at` lies inside.
    pub fn contains(self, at: Tsc) -> bool {
        self.start <= at && at < self.stop
    }

    /// Whether the two share at least one reading.
    pub fn overlaps(self, other: TscRange) -> bool {
        self.start < other.stop && other.start < self.stop
    }

    /// What both have in common, or `None` where that is nothing.
    pub fn intersection(self, other: TscRange) -> Option<TscRange> {
        let both = TscRange { start: self.start.max(other.start), stop: self.stop.min(other.stop) };
        (!both.is_empty()).then_some(both)
    }
}

/// The perf clock as a function of the TSC, as the kernel published it when the recording began.
///
/// `ns = time_zero + (tsc * time_mult) >> time_shift`. The kernel's `time_zero` is unsigned and often "negative"; here it has
/// its sign, and what no 64 bits hold stays at their ends: a later reading never has an earlier time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeConversion {
    shift: u16,
    mult: u32,
    zero: i64,
}

impl TimeConversion {
    /// A conversion from the three numbers, or `None` where they cannot be one (`time_mult` zero: the kernel
    /// gave none, as with `perf record -k CLOCKID`; a shift of 64 or more).
    pub fn new(shift: u16, mult: u32, zero: u64) -> Option<TimeConversion> {
        (mult != 0 && shift < 64).then_some(TimeConversion { shift, mult, zero: zero.cast_signed() })
    }

    /// That of a clock of nanoseconds that is counted as if it were the TSC: for recordings that have no trace and whose
    /// intervals have no reading of the TSC.
    pub const NANOSECONDS: TimeConversion = TimeConversion { shift: 0, mult: 1, zero: 0 };

    /// The line through two readings of both clocks, each (TSC, nanoseconds): 32 bits of slope leave it within 1 ns, and a quarter of
    /// a nanosecond more for each second from the middle of the two. `None` where the second does not lie after the first one, or
    /// where the slope or the offset cannot be held.
    pub fn through(first: (Tsc, u64), last: (Tsc, u64)) -> Option<TimeConversion> {
        let ticks = u128::from(last.0.0.checked_sub(first.0.0).filter(|&ticks| ticks > 0)?);
        let ns = u128::from(last.1.checked_sub(first.1).filter(|&ns| ns > 0)?);
        let rounded =
            |shift: u16| u32::try_from(((ns << shift) + ticks / 2) / ticks).ok().filter(|&mult| mult > 0);
        let (shift, mult) = (0..64).rev().find_map(|shift| Some((shift, rounded(shift)?)))?;
        // In the middle of both, so that what the slope lacks is least at the ends.
        let (tsc, at) = (first.0.0 + (last.0.0 - first.0.0) / 2, first.1 + (last.1 - first.1) / 2);
        let slope = TimeConversion { shift, mult, zero: 0 };
        let zero = i64::try_from(i128::from(at) - i128::from(slope.nanoseconds(tsc))).ok()?;
        Some(TimeConversion { zero, ..slope })
    }

    /// `time_shift`, `time_mult` and `time_zero`, of which [`Self::new`] makes the same conversion.
    pub fn numbers(self) -> (u16, u32, u64) {
        (self.shift, self.mult, self.zero.cast_unsigned())
    }

    /// The perf time at `tsc`, rounded down to a nanosecond, as perf does. A reading before the perf clock's zero gives
    /// zero, one beyond its 64 bits their last time.
    pub fn to_perf_time(self, tsc: Tsc) -> PerfTime {
        PerfTime(self.nanoseconds(tsc.0).saturating_add_signed(self.zero))
    }

    /// The first TSC reading whose perf time is `time`, the inverse of [`Self::to_perf_time`].
    ///
    /// A time before the counter's zero gives zero.
    pub fn to_tsc(self, time: PerfTime) -> Tsc {
        let since_zero = i128::from(time.0) - i128::from(self.zero);
        let scaled = u128::try_from(since_zero).unwrap_or(0) << self.shift;
        let ticks = scaled.div_ceil(u128::from(self.mult));
        Tsc(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// Nanoseconds from `range.start` to `range.stop`: the difference of the two converted edges, so that
    /// durations of adjacent ranges add up.
    pub fn duration_ns(self, range: TscRange) -> u64 {
        self.nanoseconds(range.stop.0).saturating_sub(self.nanoseconds(range.start.0))
    }

    /// A length in nanoseconds, rounded down: for thresholds and rates, not for lengths that must add up.
    pub fn ticks_to_ns(self, ticks: Ticks) -> u64 {
        self.nanoseconds(ticks.0)
    }

    /// The ticks that `ns` nanoseconds last, rounded up.
    pub fn ns_to_ticks(self, ns: u64) -> Ticks {
        let ticks = (u128::from(ns) << self.shift).div_ceil(u128::from(self.mult));
        Ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// The counter's frequency in hertz, rounded to the nearest.
    pub fn tsc_hz(self) -> u64 {
        let scaled = (1_000_000_000u128 << self.shift) + u128::from(self.mult) / 2;
        u64::try_from(scaled / u128::from(self.mult)).unwrap_or(u64::MAX)
    }

    fn nanoseconds(self, ticks: u64) -> u64 {
        let nanoseconds = (u128::from(ticks) * u128::from(self.mult)) >> self.shift;
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
