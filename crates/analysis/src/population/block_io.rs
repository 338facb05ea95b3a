//! How much of the intervals' time went by waiting for block devices: in waits of their own threads, and in waits for other threads
//! that waited for such themselves (a server that reads a file).

use std::collections::HashSet;

use attribution::{ObjectWait, Stay, Whereabouts, wait_of_stay};
use model::{Interval, IntervalId, OffCpu, TimeConversion};
use perfdata::LeaveReason;
use report::IoShare;

use super::times::{Times, share};
use crate::capture::Capture;

/// Waits of other threads that are looked at.
const MOST_WAITS: usize = 20_000;

/// The shares of `waits`, each with whether its interval is slow.
pub(super) fn of(
    capture: &Capture<'_>,
    waits: &[(bool, ObjectWait)],
    times: Times,
    conversion: TimeConversion,
) -> IoShare {
    let waited = |of_slow: bool| -> u128 {
        let own = waits.iter().filter(|(is_slow, wait)| *is_slow == of_slow && wait.kind == OffCpu::BlockIo);
        own.map(|(_, wait)| u128::from(conversion.duration_ns(wait.range))).sum()
    };
    let (slow, fast) = (waited(true), waited(false));
    let all = times.slow + times.fast;
    IoShare {
        share: share(slow + fast, all),
        slow_share: share(slow, times.slow),
        fast_share: share(fast, times.fast),
        others_share: share(of_others(capture, waits, conversion), all),
    }
}

/// The time in which the thread that ended one of `waits` waited for a device, in nanoseconds. Each wait is counted once, whoever else
/// waited for the same thread then.
fn of_others(capture: &Capture<'_>, waits: &[(bool, ObjectWait)], conversion: TimeConversion) -> u128 {
    let perf = capture.perf();
    // A device is waited for in state D.
    let is_uninterruptible =
        |stay: &Stay| matches!(stay.place, Whereabouts::OffCpu(LeaveReason::Slept(Some('D'))));
    let (mut seen, mut sum) = (HashSet::new(), 0);
    for (_, wait) in waits.iter().filter(|(_, wait)| wait.kind != OffCpu::BlockIo) {
        let Some(thread) = wait.ended_by else { continue };
        let during = Interval::new(IntervalId(0), "", wait.range, Some(thread));
        for stay in capture.stays_of(&during).iter().filter(|stay| is_uninterruptible(stay)) {
            if seen.len() == MOST_WAITS {
                return sum;
            }
            if !seen.insert((stay.thread, stay.range.start, stay.range.stop)) {
                continue;
            }
            let found = wait_of_stay(perf, perf.schedule(), conversion, capture, stay);
            let io = found.filter(|wait| wait.kind == OffCpu::BlockIo);
            sum += io.map_or(0, |io| u128::from(conversion.duration_ns(io.range)));
        }
    }
    sum
}
