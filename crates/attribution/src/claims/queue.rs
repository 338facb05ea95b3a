//! `queue.behind`: the stop thread was still busy with another interval.
//!
//! Input: the intervals of the same label and stop thread. Of those that ended while this one waited, each had the
//! thread from the end of the one before it, or from when the thread came onto a CPU, until its own end. Only
//! intervals that another thread (or an unknown one) hands over can queue. Certainty: measured, by the marks.

use model::{Cause, Certainty, Interval, IntervalId, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::threads::stays::{Stay, Whereabouts};
use crate::walk::activity::{Activity, Spin};

/// The time from `from` on in which the stop thread was busy with the intervals that ended `before` this one. A wait
/// or spin-wait loop in progress at `from` is no thread's work. Where no flow shows a loop, there may have been one
/// all the time.
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
        // An interval is taken up before its end mark: where the end of the loop is that uncertain, the mark is more
        // exact.
        let busy = TscRange::new(if taken_up < stop { taken_up } else { position.min(stop) }, stop);
        position = position.max(stop);
        if busy.is_empty() {
            continue;
        }
        let mut claim = Claim::new(busy, Rank::Queue, Cause::QueueBehind, Certainty::Measured);
        claim.occurrence = id.0;
        claim.story.object = format!("{} {id}", interval.label);
        claim.say(&format!("queued behind {}", claim.story.object));
        if !activity.ran_within(busy) {
            claim.uncertainty = busy.ticks();
        }
        claims.push(claim);
    }
    claims
}

/// When the wait of the thread that waited at `at` ends; `at` where it did not wait.
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
