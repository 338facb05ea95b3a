//! When it was recorded: how far UTC is ahead of the clock of the records.

use std::path::Path;

use intervals::{Clock, read_clock_pairs};
use perfdata::PerfData;

use crate::request;

/// Nanoseconds from the records' clock to UTC: by perf's own note of both (`-k`), else by a clock pair beside the capture at `path`. `None` where no
/// clock of the capture is UTC.
pub(super) fn ahead_ns(perf: &PerfData, path: &Path) -> Option<i64> {
    let is_of_records = |id: u32| perf.clock_id().is_some_and(|own| i64::from(own) == i64::from(id));
    let noted = perf.features().clock_data.filter(|data| is_of_records(data.clock_id));
    let difference = |utc: u64, own: u64| i64::try_from(i128::from(utc) - i128::from(own)).ok();
    if let Some(data) = noted {
        return difference(data.wall_clock_ns, data.clock_ns);
    }
    let (pairs, _) = read_clock_pairs(&request::clocks_of(path));
    let pair = pairs.into_iter().find(|pair| pair.clock == Clock::Realtime)?;
    difference(pair.ns, perf.time_conversion()?.to_perf_time(pair.tsc).0)
}
