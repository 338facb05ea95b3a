//! Joins the clocks that programs stamp their marks with to the TSC.
//!
//! TSC times are taken as they are, perf times go through the kernel's own conversion. Every other clock needs at least
//! two {tsc, clock} pairs that bracket the times; between two adjacent ones it is taken to be linear, and outside of them
//! no time is converted. See `docs/interval-file.md`, "Clocks".

mod line;

use std::fmt;
use std::str::FromStr;

use model::{PerfTime, Ticks, TimeConversion, Tsc};

use crate::error::Error;

/// How fast NTP may slew `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME` and `CLOCK_REALTIME`, in parts per million (adjtimex(2): 500 ppm).
const SLEW_PPM: u128 = 500;

/// A clock that marks may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The time-stamp counter, in ticks.
    Tsc,
    /// The perf clock, in nanoseconds.
    Perf,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    MonotonicRaw,
    /// `CLOCK_BOOTTIME`, in nanoseconds: `CLOCK_MONOTONIC` with the time in which the machine was suspended.
    Boottime,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970 (UTC).
    Realtime,
    /// Windows' `QueryPerformanceCounter`: known by name, never converted.
    Qpc,
}

impl Clock {
    /// The clock of a `CLOCK_*` number, as in `perf_event_attr.clockid` (`include/uapi/linux/time.h`); `None` for one that marks
    /// cannot carry.
    pub fn of_id(id: i32) -> Option<Clock> {
        match id {
            0 => Some(Clock::Realtime),
            1 => Some(Clock::Monotonic),
            4 => Some(Clock::MonotonicRaw),
            _ => None,
        }
    }
}

impl FromStr for Clock {
    type Err = Error;

    fn from_str(name: &str) -> Result<Clock, Error> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "tsc" | "rdtsc" => Ok(Clock::Tsc),
            "perf" | "perf-time" => Ok(Clock::Perf),
            "monotonic" | "clock-monotonic" => Ok(Clock::Monotonic),
            "monotonic-raw" | "clock-monotonic-raw" => Ok(Clock::MonotonicRaw),
            "boottime" | "clock-boottime" => Ok(Clock::Boottime),
            "realtime" | "clock-realtime" | "utc" => Ok(Clock::Realtime),
            "qpc" => Ok(Clock::Qpc),
            _ => Err(Error::UnknownClock { name: name.chars().take(60).collect() }),
        }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::Tsc => "TSC",
            Clock::Perf => "perf time",
            Clock::Monotonic => "CLOCK_MONOTONIC",
            Clock::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            Clock::Boottime => "CLOCK_BOOTTIME",
            Clock::Realtime => "CLOCK_REALTIME",
            Clock::Qpc => "QueryPerformanceCounter",
        })
    }
}

/// The TSC and another clock, read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// The other clock.
    pub clock: Clock,
    /// The TSC's reading.
    pub tsc: Tsc,
    /// The other clock's reading, in nanoseconds.
    pub ns: u64,
    /// How far apart the two readings may be, in nanoseconds.
    pub error_ns: u64,
}

/// What is known of clocks besides the TSC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// The kernel's conversion from TSC to perf time, where the capture has one.
    pub conversion: Option<TimeConversion>,
    /// Pairs of other clocks, in any order.
    pub pairs: Vec<ClockPair>,
    /// The clock of the capture's records, where it is not perf's own: `conversion` is then of that clock.
    pub of_records: Option<Clock>,
}

/// A clock with its conversion to the TSC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    clock: Clock,
    how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Identity,
    Conversion(TimeConversion),
    /// Strictly ascending in both clocks, at least two.
    Pairs(Vec<ClockPair>),
}

impl Clocks {
    /// Joins `clock` with the TSC.
    ///
    /// # Errors
    /// [`Error::ClockNotJoined`] with the reason: no conversion for perf time, fewer than two pairs, pairs that run
    /// backwards, or a pair line that no NTP slew explains (the clock was set).
    pub fn join(&self, clock: Clock) -> Result<Join, Error> {
        let refuse = |why: &str| Err(Error::ClockNotJoined { clock, why: why.to_owned() });
        let how = match clock {
            Clock::Tsc => How::Identity,
            Clock::Perf => match self.conversion {
                Some(conversion) => How::Conversion(conversion),
                None => {
                    return refuse(
                        "the capture holds no TSC conversion (TIME_CONV); record without -k/--clockid, or write TSC timestamps",
                    );
                }
            },
            Clock::Qpc => {
                return refuse("it exists on Windows only; write TSC timestamps (clock=tsc)");
            }
            Clock::Monotonic | Clock::MonotonicRaw | Clock::Boottime | Clock::Realtime => {
                match self.conversion.filter(|_| self.of_records == Some(clock)) {
                    Some(conversion) => How::Conversion(conversion),
                    None => How::Pairs(self.pairs_of(clock)?),
                }
            }
        };
        Ok(Join { clock, how })
    }

    fn pairs_of(&self, clock: Clock) -> Result<Vec<ClockPair>, Error> {
        let refuse = |why: String| Err(Error::ClockNotJoined { clock, why });
        let mut pairs: Vec<ClockPair> =
            self.pairs.iter().filter(|pair| pair.clock == clock).copied().collect();
        pairs.sort_by_key(|pair| (pair.tsc, pair.ns));
        pairs.dedup();
        if pairs.len() < 2 {
            return refuse(format!(
                "{} {{tsc, clock}} pair{} known, at least two that bracket the intervals are needed; write `clock-pair` lines at the start and the end of the run (docs/interval-file.md), or write TSC timestamps",
                pairs.len(),
                if pairs.len() == 1 { " is" } else { "s are" }
            ));
        }
        for two in pairs.windows(2) {
            if two[0].tsc >= two[1].tsc || two[0].ns >= two[1].ns {
                return refuse(format!(
                    "its pairs run backwards between tsc={} ns={} and tsc={} ns={}: the clock was set, or a pair is wrong",
                    two[0].tsc.0, two[0].ns, two[1].tsc.0, two[1].ns
                ));
            }
            if self.steeper_than_slew(two[0], two[1]) {
                return refuse(format!(
                    "between tsc={} and tsc={} it ran more than {SLEW_PPM} ppm faster or slower than the TSC's known rate: the clock was set, or a pair is wrong",
                    two[0].tsc.0, two[1].tsc.0
                ));
            }
        }
        Ok(pairs)
    }

    fn steeper_than_slew(&self, first: ClockPair, second: ClockPair) -> bool {
        let Some(conversion) = self.conversion else { return false };
        let expected = u128::from(conversion.ticks_to_ns(second.tsc.since(first.tsc)));
        let found = u128::from(second.ns - first.ns);
        let allowed =
            expected * SLEW_PPM / 1_000_000 + u128::from(first.error_ns) + u128::from(second.error_ns);
        // Two more nanoseconds for rounding, and 100 ppm for the calibration of the kernel's TSC frequency.
        expected.abs_diff(found) > allowed + 2 + expected / 10_000
    }
}

impl Join {
    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The TSC at `time` of this clock; `None` where it lies outside the pairs.
    pub fn tsc(&self, time: u64) -> Option<Tsc> {
        match &self.how {
            How::Identity => Some(Tsc(time)),
            How::Conversion(conversion) => Some(conversion.to_tsc(PerfTime(time))),
            How::Pairs(pairs) => interpolate(pairs, time),
        }
    }

    /// As [`Join::tsc`]; outside of the pairs on the line through the first and the last of them. A later time never has an earlier
    /// reading, so what was before the first pair stays before it.
    pub fn nearest(&self, time: u64) -> Tsc {
        let beyond = || {
            let How::Pairs(pairs) = &self.how else { return Tsc(0) };
            let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return Tsc(0) };
            let ticks = i128::from(last.tsc.0 - first.tsc.0);
            let since = i128::from(time) - i128::from(first.ns);
            let ticks = ticks.saturating_mul(since).div_euclid(i128::from(last.ns - first.ns));
            let reading = i128::from(first.tsc.0).saturating_add(ticks);
            Tsc(u64::try_from(reading.max(0)).unwrap_or(u64::MAX))
        };
        self.tsc(time).unwrap_or_else(beyond)
    }

    /// How far a converted time may be off, in nanoseconds; zero for TSC and perf time.
    ///
    /// Between two pairs a distance D apart, a clock whose rate stays within ±500 ppm of its own strays from the
    /// straight line by at most D · 500 ppm / 2, in the middle; `MONOTONIC_RAW` not at all. The reading error of the
    /// pairs comes on top.
    pub fn bound_ns(&self) -> u64 {
        let How::Pairs(pairs) = &self.how else { return 0 };
        let slew = |distance: u64| match self.clock {
            Clock::MonotonicRaw => 0,
            _ => u128::from(distance) * SLEW_PPM / 2_000_000 + 1,
        };
        let bound = |two: &[ClockPair]| {
            let reading = u128::from(two[0].error_ns.max(two[1].error_ns));
            slew(two[1].ns - two[0].ns) + reading
        };
        pairs.windows(2).map(bound).max().map_or(0, |ns| u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The same in ticks, rounded up.
    pub fn bound(&self) -> Ticks {
        let ticks = || {
            let (first, last) = self.limits()?;
            let ticks = self.tsc(last)?.since(self.tsc(first)?).0;
            let bound = u128::from(self.bound_ns()) * u128::from(ticks);
            u64::try_from(bound.div_ceil(u128::from(last - first).max(1))).ok()
        };
        Ticks(ticks().unwrap_or_default())
    }

    /// First and last time of this clock that can be converted; `None` where there is no limit.
    pub fn limits(&self) -> Option<(u64, u64)> {
        match &self.how {
            How::Pairs(pairs) => Some((pairs.first()?.ns, pairs.last()?.ns)),
            _ => None,
        }
    }
}

/// The TSC on the straight line between the two pairs around `time`, rounded down.
fn interpolate(pairs: &[ClockPair], time: u64) -> Option<Tsc> {
    let behind = pairs.partition_point(|pair| pair.ns <= time);
    if behind == pairs.len() {
        return pairs.last().filter(|last| last.ns == time).map(|last| last.tsc);
    }
    let (first, second) = (pairs[behind.checked_sub(1)?], pairs[behind]);
    let ticks = u128::from(second.tsc.0 - first.tsc.0) * u128::from(time - first.ns);
    let ticks = ticks / u128::from(second.ns - first.ns);
    Some(Tsc(first.tsc.0 + u64::try_from(ticks).ok()?))
}

pub use line::Line;

#[cfg(test)]
mod tests;
