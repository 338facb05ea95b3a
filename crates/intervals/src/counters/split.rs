//! The value of a counter that separates fast from slow intervals best.
//!
//! Of all thresholds the one is taken for which the share of slow intervals on its side exceeds that of the fast ones
//! most (Youden's J). That largest difference is the two-sample Kolmogorov-Smirnov distance, whose distribution is
//! known: so the p holds although the threshold was looked for.

#![allow(clippy::cast_precision_loss)] // shares of counts

use model::Number;

use super::normal::kolmogorov_smirnov;

/// On which side of the threshold the slow ones lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Slow when the counter is smaller.
    Below,
    /// Slow when the counter is larger.
    Above,
}

/// A threshold, and how well it separates slow from fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Where the slow ones lie.
    pub side: Side,
    /// A value that occurred: slow when strictly below it, or strictly above.
    pub threshold: Number,
    /// Slow intervals on that side.
    pub slow_matched: u64,
    /// Slow intervals.
    pub slow: u64,
    /// Fast intervals on that side.
    pub fast_matched: u64,
    /// Fast intervals.
    pub fast: u64,
    /// The probability of so good a threshold where the counter has nothing to do with it.
    pub p: f64,
}

/// A border between two adjacent values, and what lies below it.
#[derive(Clone, Copy)]
struct Border {
    below: Number,
    above: Number,
    slow_below: u64,
    fast_below: u64,
}

impl Split {
    /// The best threshold for pairs of value and duration, slow ones being longer than `slow_from`.
    pub(super) fn best(pairs: &[(Number, u64)], slow_from: u64) -> Option<Split> {
        let slow = pairs.iter().filter(|pair| pair.1 > slow_from).count() as u64;
        let fast = pairs.len() as u64 - slow;
        if slow == 0 || fast == 0 {
            return None;
        }
        let splits = borders(pairs, slow_from).into_iter().map(|border| border.split(slow, fast));
        let best = splits.reduce(|best, split| if split.rank() > best.rank() { split } else { best })?;
        let p = kolmogorov_smirnov(best.separation(), slow as f64, fast as f64);
        Some(Split { p, ..best })
    }

    /// Share of the slow ones on its side less share of the fast ones: 1 separates without an error, 0 not at all.
    pub fn separation(&self) -> f64 {
        self.slow_matched as f64 / self.slow as f64 - self.fast_matched as f64 / self.fast as f64
    }

    /// The separation times both counts, and how many intervals are classified correctly.
    fn rank(&self) -> (i128, i128) {
        let product = |a: u64, b: u64| i128::from(a) * i128::from(b);
        let separation = product(self.slow_matched, self.fast) - product(self.fast_matched, self.slow);
        (separation, i128::from(self.slow_matched) - i128::from(self.fast_matched))
    }
}

impl Border {
    /// The border as a threshold, of the two sides the better one.
    fn split(self, slow: u64, fast: u64) -> Split {
        let below = Split {
            side: Side::Below,
            threshold: self.above,
            slow_matched: self.slow_below,
            slow,
            fast_matched: self.fast_below,
            fast,
            p: 1.0,
        };
        let above = Split {
            side: Side::Above,
            threshold: self.below,
            slow_matched: slow - self.slow_below,
            fast_matched: fast - self.fast_below,
            ..below
        };
        if above.rank() > below.rank() { above } else { below }
    }
}

/// All borders between values, in ascending order.
fn borders(pairs: &[(Number, u64)], slow_from: u64) -> Vec<Border> {
    let mut sorted: Vec<(Number, bool)> =
        pairs.iter().map(|&(value, duration)| (value, duration > slow_from)).collect();
    sorted.sort_by_key(|pair| pair.0);
    let (mut slow_below, mut fast_below) = (0, 0);
    let mut found = Vec::new();
    let groups: Vec<&[(Number, bool)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    for neighbours in groups.windows(2) {
        let slow = neighbours[0].iter().filter(|(_, slow)| *slow).count() as u64;
        slow_below += slow;
        fast_below += neighbours[0].len() as u64 - slow;
        found.push(Border { below: neighbours[0][0].0, above: neighbours[1][0].0, slow_below, fast_below });
    }
    found
}
