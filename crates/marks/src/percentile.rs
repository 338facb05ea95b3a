//! A running percentile of how long intervals take, as `tailtrace.h` counts it: the recorder of `--snapshot-over p99.9` has it for events,
//! the doorbell for marks.
//!
//! Input: lengths. Output: from which length on an interval is one of the longest. It is known when ten lie above it; when 200 do, all
//! counts become half, so that older ones count less.

use core::sync::atomic::{AtomicU32, Ordering};
use std::boxed::Box;

/// 32 bins for each doubling.
const BINS: usize = 1920;
/// A percentile is known when so many intervals lie above it; from so many on older ones count half.
const FEWEST_ABOVE: u64 = 10;
const MOST_ABOVE: u64 = 200;
const MILLION: u64 = 1_000_000;

/// How many intervals were how long. Threads may count at once.
#[derive(Debug)]
pub struct RunningPercentile {
    /// So many millionths of all lie above.
    above: u64,
    bins: Box<[AtomicU32; BINS]>,
}

impl RunningPercentile {
    /// The percentile `99.9`, of nothing yet; `None` where the text is none from 50 up to, not including, 100.
    pub fn of(percentile: &str) -> Option<RunningPercentile> {
        let bins = Box::new([const { AtomicU32::new(0) }; BINS]);
        Some(RunningPercentile { above: above(percentile)?, bins })
    }

    /// Counts an interval of so many ticks, or of any other unit.
    #[inline]
    pub fn add(&self, ticks: u64) {
        self.bins[bin(ticks)].fetch_add(1, Ordering::Relaxed);
    }

    /// From how many ticks on an interval is one of the longest, to 3 %; `None` where too few are known.
    pub fn limit(&self) -> Option<u64> {
        percentile(&self.bins[..], self.above).map(|ticks| ticks.max(1))
    }
}

/// `99.9` as the millionths that lie above; `None` where that is no upper percentile.
fn above(percentile: &str) -> Option<u64> {
    let value: f64 = percentile.parse().ok().filter(|value| (50.0..100.0).contains(value))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 500,000")]
    let above = ((100.0 - value) * 10_000.0).round() as u64;
    (above > 0).then_some(above)
}

/// In which bin so many ticks are counted: to 3 %.
fn bin(ticks: u64) -> usize {
    let doublings = u64::BITS - 1 - (ticks | 31).leading_zeros();
    let bin =
        if ticks < 32 { ticks } else { u64::from(doublings - 4) * 32 + (ticks >> (doublings - 5) & 31) };
    usize::try_from(bin).map_or(BINS - 1, |bin| bin.min(BINS - 1))
}

/// The least ticks of a bin.
fn bin_begin(bin: usize) -> u64 {
    let number = bin as u64;
    if number < 32 { number } else { (32 + number % 32) << (number / 32 - 1) }
}

/// From how many ticks on an interval is one of the longest, `above` millionths of all; `None` where too few are known.
fn percentile(bins: &[AtomicU32], above: u64) -> Option<u64> {
    let all: u64 = bins.iter().map(|bin| u64::from(bin.load(Ordering::Relaxed))).sum();
    if all * above < FEWEST_ABOVE * MILLION {
        return None;
    }
    let mut longer = 0;
    let is_within = |&number: &usize| {
        longer += u64::from(bins[number].load(Ordering::Relaxed));
        longer * MILLION > all * above
    };
    let found = (0..bins.len()).rev().find(is_within).unwrap_or(0);
    if all * above > MOST_ABOVE * MILLION {
        halve(bins);
    }
    Some(bin_begin(found))
}

/// Each count becomes half. What one bin cannot halve is taken from the next one: of bins that count one, every other becomes empty.
fn halve(bins: &[AtomicU32]) {
    let mut carried = 0;
    for bin in bins {
        let twice = bin.load(Ordering::Relaxed).saturating_add(carried);
        // Other threads count during this.
        bin.fetch_sub(twice / 2, Ordering::Relaxed);
        carried = twice % 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upper_percentile_is_what_lies_above() {
        assert_eq!(["99.9", "99.99", "50"].map(above), [Some(1_000), Some(100), Some(500_000)]);
        assert_eq!(["49", "100", "us", ""].map(above), [None; 4]);
    }

    #[test]
    fn a_bin_begins_where_the_one_before_ends() {
        let mut next = 0;
        for ticks in 0..100_000 {
            if bin(ticks) == next {
                assert_eq!(bin_begin(next), ticks);
                next += 1;
            }
            assert_eq!(bin(ticks) + 1, next, "{ticks}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    /// Of 1 to 20,000 ticks, one in a thousand lies above 19,980; the bin begins 32nds of a doubling below.
    #[test]
    fn a_percentile_is_known_when_ten_lie_above() {
        let running = RunningPercentile::of("99.9").expect("a percentile");
        (1..9_999).for_each(|ticks| running.add(ticks));
        assert_eq!(running.limit(), None);
        (9_999..=20_000).for_each(|ticks| running.add(ticks));
        let found = running.limit().expect("known");
        assert!((19_980 - 512..=19_980).contains(&found), "{found}");
    }

    #[test]
    fn old_intervals_count_half() {
        let bins = [3, 1, 1, 1, 1].map(AtomicU32::new);
        halve(&bins);
        assert_eq!(bins.map(AtomicU32::into_inner), [2, 0, 1, 0, 1]);
    }
}
