//! Which intervals lie in the recording: of the others nothing is known.
//!
//! Input: intervals, and the time from the first record or sync point to the last one. An interval lies in it that has a moment
//! in common with it, even where its ends lie outside.

use model::{Interval, TscRange};

use crate::error::{Error, Result};

/// How many of `intervals` lie in the recording.
pub(crate) fn inside<'a>(intervals: impl Iterator<Item = &'a Interval>, recording: TscRange) -> u64 {
    intervals.filter(|interval| is_inside(interval, recording)).count() as u64
}

/// Refuses intervals none of which lies in the recording: they are another one's, or their clock is another one. Where nothing is
/// known of the recording's time, or there is no interval, nothing is wrong.
pub(crate) fn ensure_some_inside(intervals: &[Interval], recording: Option<TscRange>) -> Result<()> {
    let ranges = || intervals.iter().map(|interval| interval.range);
    let Some(recording) = recording else { return Ok(()) };
    let (Some(start), Some(stop)) =
        (ranges().map(|range| range.start).min(), ranges().map(|range| range.stop).max())
    else {
        return Ok(());
    };
    if intervals.iter().any(|interval| is_inside(interval, recording)) {
        return Ok(());
    }
    let count = intervals.len();
    Err(Error::OutsideRecording { count, recording, intervals: TscRange::new(start, stop) })
}

/// An empty interval is a moment.
fn is_inside(interval: &Interval, recording: TscRange) -> bool {
    let range = interval.range;
    recording.contains(range.start) || range.overlaps(recording)
}

#[cfg(test)]
mod tests {
    use model::{IntervalId, Tsc};

    use super::*;

    const RECORDING: TscRange = TscRange { start: Tsc(1_000), stop: Tsc(2_000) };

    fn interval(start: u64, stop: u64) -> Interval {
        Interval::new(IntervalId(0), "", TscRange::new(Tsc(start), Tsc(stop)), None)
    }

    #[test]
    fn one_moment_in_common_is_enough() {
        for (start, stop, lies) in [
            (0, 1_000, false),
            (0, 1_001, true),
            (1_999, u64::MAX, true),
            (2_000, u64::MAX, false),
            (0, u64::MAX, true),
            (1_500, 1_500, true),
            (1_000, 1_000, true),
            (999, 999, false),
            (2_000, 2_000, false),
        ] {
            assert_eq!(is_inside(&interval(start, stop), RECORDING), lies, "{start} to {stop}");
        }
    }

    #[test]
    fn only_intervals_that_all_lie_elsewhere_are_refused() {
        let (before, within, after) = (interval(3, 7), interval(1_200, 1_300), interval(5_000, 9_000));
        let error = ensure_some_inside(&[after.clone(), before.clone()], Some(RECORDING));
        let words = error.expect_err("refused").to_string();
        assert!(words.starts_with("0 of 2 intervals lie in the recording"), "{words}");
        assert!(words.contains("TSC 1000 to 2000, they TSC 3 to 9000"), "{words}");
        assert!(ensure_some_inside(&[before.clone(), within], Some(RECORDING)).is_ok());
        assert!(ensure_some_inside(&[], Some(RECORDING)).is_ok(), "no interval is another mistake");
        assert!(ensure_some_inside(&[before], None).is_ok(), "nothing is known");
    }
}
