//! Clock pairs: one reading of the time-stamp counter and of a clock of Linux's at the same moment.
//!
//! Output: the pair, and how far its two readings may be apart. The kernel is called, for its `vDSO` cannot be found without a
//! loader: some 100 ns between the readings, of which the pair states half.

/// How often a clock is read: the best of these counts.
const ATTEMPTS: u32 = 5;

/// A clock of Linux's; the discriminants are its numbers (`include/uapi/linux/time.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// `CLOCK_REALTIME`: since 1970.
    Realtime = 0,
    /// `CLOCK_MONOTONIC`: NTP changes its rate.
    Monotonic = 1,
    /// `CLOCK_MONOTONIC_RAW`: nothing changes its rate.
    MonotonicRaw = 4,
    /// `CLOCK_BOOTTIME`: `CLOCK_MONOTONIC` with the time in which the machine was suspended.
    Boottime = 7,
}

/// The time-stamp counter and a clock, read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The counter, in ticks.
    pub tsc: u64,
    /// The clock, in nanoseconds.
    pub ns: u64,
    /// How far the two readings may be apart, in ticks.
    pub apart: u64,
}

impl Clock {
    /// Reads it a few times between two readings of the counter, and takes the pair with the least time between; `None` where the
    /// kernel has no such clock, and on other machines than x86-64.
    pub fn pair(self) -> Option<Pair> {
        let attempts = (0..ATTEMPTS).filter_map(|_| self.attempt());
        attempts.min_by_key(|pair| pair.apart)
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn attempt(self) -> Option<Pair> {
        use crate::system::{clock, tsc};
        let before = tsc();
        let ns = clock(self as u64)?;
        let took = tsc().saturating_sub(before);
        Some(Pair { tsc: before + took / 2, ns, apart: took / 2 })
    }

    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    fn attempt(self) -> Option<Pair> {
        None
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;
    use crate::system::tsc;

    /// The standard library reads the same clock.
    #[test]
    fn a_pair_is_what_the_standard_library_reads() {
        extern crate std;
        use std::time::{SystemTime, UNIX_EPOCH};
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let (before, from) = (now(), tsc());
        let pair = Clock::Realtime.pair().expect("every Linux has it");
        let (after, to) = (now(), tsc());
        assert!((before..=after).contains(&u128::from(pair.ns)), "{before} {} {after}", pair.ns);
        assert!((from..=to).contains(&pair.tsc) && pair.apart <= (to - from) / 2, "{from} {pair:?} {to}");
    }

    #[test]
    fn each_clock_is_the_kernels() {
        let read = |clock: Clock| clock.pair().expect("every Linux has it").ns;
        let (raw, monotonic) = (read(Clock::MonotonicRaw), read(Clock::Monotonic));
        // NTP steers the one, at most 500 ppm of the time since the machine began.
        assert!(raw.abs_diff(monotonic) < 1_000_000 + monotonic / 2_000, "{raw} {monotonic}");
        assert!(read(Clock::Boottime) >= monotonic);
    }
}
