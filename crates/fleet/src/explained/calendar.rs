//! When it was: perf's clock as UTC, and days.

use analysis::Capture;
use model::{PerfTime, Tsc};

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// The clock of the records as UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Utc {
    /// Nanoseconds by which UTC is ahead; `None` where no clock of the capture is UTC.
    pub(super) ahead_ns: Option<i64>,
}

impl Utc {
    /// `time` as nanoseconds since 1970.
    pub(super) fn at(self, time: PerfTime) -> Option<i64> {
        i64::try_from(i128::from(self.ahead_ns?) + i128::from(time.0)).ok()
    }

    /// The same of a reading of the TSC.
    pub(super) fn at_tsc(self, capture: &Capture<'_>, tsc: Tsc) -> Option<i64> {
        self.at(capture.conversion()?.to_perf_time(tsc))
    }
}

/// The UTC day of a moment, `2026-11-26`.
pub(super) fn day_of(ns: i64) -> String {
    let (year, month, day) = civil(ns.div_euclid(DAY_NS));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Whether `text` is written as a day.
pub(super) fn is_day(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(&*parts, [year, month, day] if [year.len(), month.len(), day.len()] == [4, 2, 2] && [year, month, day].into_iter().all(|part| digits(part)))
}

/// Year, month and day of the `days`th day since 1970-01-01 in the Gregorian calendar: years begin in March, so that a leap day is the last of
/// its year, and 400 of them have 146,097 days.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d @SECONDS +%F`
    #[test]
    fn days_as_date_prints_them() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_868_799, "2000-02-29"),
            (1_377_651_723, "2013-08-28"),
            (1_795_737_599, "2026-11-26"),
            (4_107_542_400, "2100-03-01"),
            (-1, "1969-12-31"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(day_of(seconds * 1_000_000_000), expected);
        }
        assert!(is_day("2026-11-26") && !is_day("2026-11-6") && !is_day("../../etc1") && !is_day(""));
    }
}
