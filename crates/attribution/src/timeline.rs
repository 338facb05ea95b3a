//! Where an interval's time lies: which thread it is the time of, and on which CPU that thread was, or on none.
//!
//! Input: the interval and the schedule. Output: [`Stay`]s in order that cover the interval's range without holes.

use model::{Cpu, FileOffset, Interval, ThreadId, TimeConversion, TscRange};
use perfdata::{LeaveReason, Schedule};

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this CPU.
    OnCpu(Cpu),
    /// On none, having left the last one for this reason.
    OffCpu(LeaveReason),
    /// The records do not say.
    Unknown,
}

/// A stretch in which the interval's thread stayed where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When.
    pub range: TscRange,
    /// Whose time it is; `None` where the interval names no thread.
    pub thread: Option<ThreadId>,
    /// Where.
    pub place: Whereabouts,
    /// The CPU the thread left, for time off-CPU.
    pub left_cpu: Option<Cpu>,
    /// The record that began it.
    pub start_record: Option<FileOffset>,
    /// The record that ended it.
    pub stop_record: Option<FileOffset>,
}

/// The stays of `interval`.
///
/// With two threads the time up to the hand-off is the start thread's, and the rest the stop thread's. The hand-off
/// is the interval's `publish` mark; without one, all of it is looked at on the stop thread.
///
/// Without a conversion the schedule cannot be joined, and nothing is known of any thread's whereabouts.
pub fn stays(interval: &Interval, schedule: &Schedule, conversion: Option<TimeConversion>) -> Vec<Stay> {
    let range = interval.range;
    let (start_thread, stop_thread) = (interval.start_thread, interval.stop_thread);
    let Some(conversion) = conversion else { return vec![unknown(range, stop_thread.or(start_thread))] };
    match (start_thread, stop_thread, interval.publish) {
        (Some(first), Some(second), Some(publish)) if first != second && range.contains(publish) => {
            let mut stays = stays_of_thread(first, TscRange::new(range.start, publish), schedule, conversion);
            stays.extend(stays_of_thread(second, TscRange::new(publish, range.stop), schedule, conversion));
            stays
        }
        _ => match stop_thread.or(start_thread) {
            Some(thread) => stays_of_thread(thread, range, schedule, conversion),
            None => vec![unknown(range, None)],
        },
    }
}

/// The stays of one thread within `range`.
pub(crate) fn stays_of_thread(
    thread: ThreadId,
    range: TscRange,
    schedule: &Schedule,
    conversion: TimeConversion,
) -> Vec<Stay> {
    let mut stays = Vec::new();
    let mut position = range.start;
    let mut left: Option<(LeaveReason, Cpu, Option<FileOffset>)> = None;
    for run in schedule.of_thread(thread.tid) {
        let on = TscRange::new(conversion.to_tsc(run.start), conversion.to_tsc(run.stop));
        if on.start >= range.stop {
            break;
        }
        if on.stop > position {
            let before = TscRange::new(position, on.start.max(position));
            push(&mut stays, absent(before, thread, left, run.start_record));
            let inside = TscRange::new(before.stop, on.stop.min(range.stop));
            push(
                &mut stays,
                Stay {
                    range: inside,
                    thread: Some(thread),
                    place: Whereabouts::OnCpu(run.cpu),
                    left_cpu: None,
                    start_record: run.start_record,
                    stop_record: run.stop_record,
                },
            );
            position = inside.stop;
        }
        left = Some((run.leave, run.cpu, run.stop_record));
    }
    push(&mut stays, absent(TscRange::new(position, range.stop), thread, left, None));
    stays
}

fn absent(
    range: TscRange,
    thread: ThreadId,
    left: Option<(LeaveReason, Cpu, Option<FileOffset>)>,
    stop_record: Option<FileOffset>,
) -> Stay {
    match left {
        Some((reason, cpu, start_record)) if reason != LeaveReason::Unknown => Stay {
            range,
            thread: Some(thread),
            place: Whereabouts::OffCpu(reason),
            left_cpu: Some(cpu),
            start_record,
            stop_record,
        },
        _ => unknown(range, Some(thread)),
    }
}

fn unknown(range: TscRange, thread: Option<ThreadId>) -> Stay {
    Stay { range, thread, place: Whereabouts::Unknown, left_cpu: None, start_record: None, stop_record: None }
}

fn push(stays: &mut Vec<Stay>, stay: Stay) {
    if !stay.range.is_empty() {
        stays.push(stay);
    }
}
