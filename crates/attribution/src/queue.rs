//! `queue.behind`: the stop thread was still busy with another interval.
//!
//! Input: the intervals of the same label and stop thread. Of those that ended while this one waited, each had the
//! thread from the end of the one before it, or from when the thread came onto a CPU, until its own end. Only
//! intervals that another thread (or an unknown one) hands over can queue. Certainty: measured, by the marks.

use std::collections::HashMap;

use model::{Cause, Certainty, Interval, IntervalId, Tid, Tsc, TscRange};

use crate::claim::Claim;
use crate::precedence::Rank;
use crate::timeline::{Stay, Whereabouts};
use crate::walk::{Activity, Spin};

/// How many intervals one may be seen to wait behind.
const MOST: usize = 64;

/// When each thread was done with which interval.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    ends: HashMap<(String, Tid), Vec<(Tsc, IntervalId)>>,
}

impl Queues {
    /// Of all intervals of a source.
    pub fn new(intervals: &[Interval]) -> Queues {
        let mut queues = Queues::default();
        for interval in intervals.iter().filter(|interval| is_handed_over(interval)) {
            if let Some(thread) = interval.stop_thread {
                let ends = queues.ends.entry((interval.label.clone(), thread.tid)).or_default();
                ends.push((interval.range.stop, interval.id));
            }
        }
        for ends in queues.ends.values_mut() {
            ends.sort_unstable();
        }
        queues
    }

    /// The other intervals that the stop thread of `interval` ended while it lasted, in order of time.
    pub fn before(&self, interval: &Interval) -> Vec<(Tsc, IntervalId)> {
        let Some(thread) = interval.stop_thread.filter(|_| is_handed_over(interval)) else {
            return Vec::new();
        };
        let Some(ends) = self.ends.get(&(interval.label.clone(), thread.tid)) else { return Vec::new() };
        let from = ends.partition_point(|&(at, _)| at <= interval.range.start);
        let within = ends[from..].iter().take_while(|&&(at, _)| at < interval.range.stop);
        let mut before: Vec<_> = within.filter(|&&(_, id)| id != interval.id).copied().collect();
        before.drain(..before.len().saturating_sub(MOST));
        before
    }
}

/// Whether one thread ends what another one began.
fn is_handed_over(interval: &Interval) -> bool {
    let same = |start: model::ThreadId| interval.stop_thread.is_some_and(|stop| stop.tid == start.tid);
    !interval.start_thread.is_some_and(same)
}

/// The time from `from` on in which the stop thread was busy with the intervals that ended `before` this one. The
/// wait or the waiting loop that was under way then is nobody's work; where no flow tells of a loop, there may have been
/// one all the time.
pub(crate) fn claims_of_queue(
    interval: &Interval,
    from: Tsc,
    before: &[(Tsc, IntervalId)],
    stays: &[Stay],
    activity: &Activity,
) -> Vec<Claim> {
    let spins = &activity.spins;
    let mut claims = Vec::new();
    let mut position = from;
    for &(stop, id) in before {
        let taken_up = taken_up(position, stays, spins);
        // It was taken up before it was done with: where the end of the loop is known that badly, the mark tells more.
        let busy = TscRange::new(if taken_up < stop { taken_up } else { position.min(stop) }, stop);
        position = position.max(stop);
        if busy.is_empty() {
            continue;
        }
        let mut claim = Claim::new(busy, Rank::Queue, Cause::QueueBehind, Certainty::Measured);
        claim.occurrence = id.0;
        claim.say(&format!("behind {} {id}", interval.label));
        if !activity.ran_within(busy) {
            claim.uncertainty = busy.ticks();
        }
        claims.push(claim);
    }
    claims
}

/// When the thread that waited at `at` waits no longer; `at` where it did not.
fn taken_up(at: Tsc, stays: &[Stay], spins: &[Spin]) -> Tsc {
    let mut at = at;
    for stay in stays {
        if stay.range.contains(at) && matches!(stay.place, Whereabouts::OffCpu(_)) {
            at = stay.range.stop;
        }
    }
    spins.iter().find(|spin| spin.range.contains(at)).map_or(at, |spin| spin.range.stop)
}

#[cfg(test)]
mod tests;
