//! From counter readings to the numbers a reader sees.
//!
//! Input: TSC readings. Output: nanoseconds, each a difference of two converted edges, so that adjacent ones add up to
//! their whole. Where neither a conversion nor a frequency is known the numbers stay ticks, and say so.

use model::{PerfTime, TimeConversion, Tsc, TscRange};

/// The unit of every length in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Ticks of the time-stamp counter, because the frequency is unknown.
    Ticks,
}

/// How TSC readings become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timebase {
    /// By the kernel's own conversion; perf times are known too.
    Perf(TimeConversion),
    /// By the counter's frequency in hertz (never zero); perf times are not known.
    Hertz(u64),
    /// Not at all: lengths are ticks.
    Ticks,
}

impl Timebase {
    /// The best that the capture allows: its conversion, else the counter's frequency, else ticks.
    pub fn new(conversion: Option<TimeConversion>, tsc_hz: Option<u64>) -> Timebase {
        match (conversion, tsc_hz) {
            (Some(conversion), _) => Timebase::Perf(conversion),
            (None, Some(hertz)) if hertz > 0 => Timebase::Hertz(hertz),
            _ => Timebase::Ticks,
        }
    }

    /// The length of `range` in [`Self::unit`]; lengths of adjacent ranges add up exactly.
    pub fn duration(self, range: TscRange) -> u64 {
        match self {
            Timebase::Perf(conversion) => conversion.duration_ns(range),
            Timebase::Hertz(hertz) => {
                nanoseconds_at(hertz, range.stop).saturating_sub(nanoseconds_at(hertz, range.start))
            }
            Timebase::Ticks => range.ticks().0,
        }
    }

    /// The perf time at `tsc`, where the capture joins the two clocks.
    pub fn perf_time(self, tsc: Tsc) -> Option<PerfTime> {
        match self {
            Timebase::Perf(conversion) => Some(conversion.to_perf_time(tsc)),
            Timebase::Hertz(_) | Timebase::Ticks => None,
        }
    }

    /// The unit of the lengths.
    pub fn unit(self) -> TimeUnit {
        match self {
            Timebase::Perf(_) | Timebase::Hertz(_) => TimeUnit::Nanoseconds,
            Timebase::Ticks => TimeUnit::Ticks,
        }
    }
}

/// Nanoseconds since the counter's zero, rounded down; a counter above 2^64 ns (centuries) stays there.
fn nanoseconds_at(hertz: u64, tsc: Tsc) -> u64 {
    let scaled = u128::from(tsc.0) * 1_000_000_000 / u128::from(hertz.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
