//! A clock of nanoseconds as a straight line over the TSC, for recordings whose records carry it (`perf record -k`).

use model::{TimeConversion, Tsc};

use super::{Clock, ClockPair, Clocks};
use crate::error::Error;

/// A clock that is further than this from a line at one of its pairs was set or slewed in between.
const FURTHEST_NS: u64 = 10_000;

/// The line, and how far the clock strays from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// From the TSC to the clock, before the first and after the last pair, too.
    pub conversion: TimeConversion,
    /// How many pairs support it.
    pub pairs: usize,
    /// How far it may be off between them, in nanoseconds.
    pub bound_ns: u64,
}

impl Clocks {
    /// The line through the pairs of `clock`.
    ///
    /// # Errors
    /// [`Error::ClockNotJoined`] where there are fewer than two pairs, where they run backwards, or where they do not lie on one
    /// line: `CLOCK_MONOTONIC_RAW` keeps the rate of its counter, the others are slewed.
    pub fn line(&self, clock: Clock) -> Result<Line, Error> {
        let pairs = self.pairs_of(clock)?;
        let refuse = |why: String| Error::ClockNotJoined { clock, why };
        let (first, last) = ends(&pairs);
        let conversion = TimeConversion::through((first.tsc, first.ns), (last.tsc, last.ns))
            .ok_or_else(|| refuse("its pairs give no rate that a clock may have".to_owned()))?;
        let strays = |pair: &ClockPair| {
            let at = conversion.to_perf_time(pair.tsc).0;
            at.abs_diff(pair.ns).saturating_sub(pair.error_ns)
        };
        let furthest = pairs.iter().max_by_key(|pair| strays(pair)).copied().unwrap_or(first);
        if strays(&furthest) > FURTHEST_NS {
            return Err(refuse(format!(
                "at tsc={} it lies {} ns beside the line through its other pairs: it was set or slewed; record with -k \
                 CLOCK_MONOTONIC_RAW",
                furthest.tsc.0,
                strays(&furthest)
            )));
        }
        let bound_ns = strays(&furthest) + first.error_ns.max(last.error_ns);
        Ok(Line { conversion, pairs: pairs.len(), bound_ns })
    }
}

/// Of the first and of the last quarter the pair that was read best.
fn ends(pairs: &[ClockPair]) -> (ClockPair, ClockPair) {
    let quarter = (pairs.len() / 4).max(1);
    let best = |part: &[ClockPair]| part.iter().min_by_key(|pair| pair.error_ns).copied();
    let nothing = ClockPair { clock: Clock::Tsc, tsc: Tsc(0), ns: 0, error_ns: 0 };
    let first = best(&pairs[..quarter.min(pairs.len())]).unwrap_or(nothing);
    (first, best(&pairs[pairs.len().saturating_sub(quarter)..]).unwrap_or(nothing))
}
