//! How much of the intervals' time went by waiting for block devices: in waits of their own threads, and in waits for other threads
//! that waited for such themselves (a server that reads a file).

use attribution::{ObjectWait, Stay, Whereabouts, wait_of_stay};
use model::{Interval, IntervalId, OffCpu, ThreadId, TimeConversion, TscRange};
use perfdata::LeaveReason;
use report::IoShare;

use super::times::{Times, share};
use crate::capture::Capture;

/// Waits that are followed to the thread which ended them, the longest.
const MOST_WAITS: usize = 20_000;
/// Stays of those threads together.
const MOST_STAYS: usize = 1_000_000;
/// Records that are read for them together.
const MOST_RECORDS: u64 = 10_000_000;

/// The shares of `waits`, each with whether its interval is slow; `remarks` receives what is left out.
pub(super) fn of(
    capture: &Capture<'_>,
    waits: &[(bool, ObjectWait)],
    times: Times,
    conversion: TimeConversion,
    remarks: &mut Vec<String>,
) -> IoShare {
    let waited = |of_slow: bool| -> u128 {
        let own = waits.iter().filter(|(is_slow, wait)| *is_slow == of_slow && wait.kind == OffCpu::BlockIo);
        own.map(|(_, wait)| u128::from(conversion.duration_ns(wait.range))).sum()
    };
    let (slow, fast) = (waited(true), waited(false));
    let all = times.slow + times.fast;
    let for_others: Vec<(TscRange, ThreadId)> = waits
        .iter()
        .filter(|(_, wait)| wait.kind != OffCpu::BlockIo)
        .filter_map(|(_, wait)| Some((wait.range, wait.ended_by?)))
        .collect();
    let (others, followed) = of_others(capture, &for_others, conversion);
    if followed < for_others.len() {
        remarks.push(format!(
            "of {} waits for other threads {followed} are searched for devices that these waited for",
            for_others.len()
        ));
    }
    IoShare {
        share: share(slow + fast, all),
        slow_share: share(slow, times.slow),
        fast_share: share(fast, times.fast),
        others_share: share(others, all),
    }
}

/// How long the threads that ended `waits` waited for devices then, in nanoseconds, and how many of the waits were followed.
fn of_others(
    capture: &Capture<'_>,
    waits: &[(TscRange, ThreadId)],
    conversion: TimeConversion,
) -> (u128, usize) {
    let perf = capture.perf();
    // A device is waited for in state D.
    let is_uninterruptible =
        |stay: &&Stay| matches!(stay.place, Whereabouts::OffCpu(LeaveReason::Slept(Some('D'))));
    let (mut sum, mut stays, begun) = (0, 0_usize, perf.read_steps());
    for (followed, &(range, thread)) in waits.iter().enumerate() {
        let during = Interval::new(IntervalId(0), "", range, Some(thread));
        stays = stays.saturating_add(attribution::most_stays(&during, perf.schedule(), conversion));
        if followed == MOST_WAITS || stays > MOST_STAYS || perf.read_steps() - begun > MOST_RECORDS {
            return (sum, followed);
        }
        for stay in capture.stays_of(&during).iter().filter(is_uninterruptible) {
            let found = wait_of_stay(perf, capture.recent(), conversion, capture, stay);
            let io = found.filter(|wait| wait.kind == OffCpu::BlockIo);
            sum += io.map_or(0, |io| u128::from(conversion.duration_ns(io.range)));
        }
    }
    (sum, waits.len())
}
