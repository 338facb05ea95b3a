//! Where an interval of two threads changes from the start thread's time to the stop thread's.
//!
//! Best first: the interval's `publish` mark; the last wake-up of the stop thread by the start thread; the stop thread's
//! leaving of the loop in which it waits for work. Packets carry no data addresses, so who wrote what that loop read
//! cannot be decoded. Without any of them all of the time is looked at on the stop thread, and that is said.

use model::{Certainty, Diagnostic, Evidence, Interval, Tsc};

use crate::sideband::Sideband;
use crate::walk::Spin;

/// A hand-off between the threads of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOff {
    /// When: from here on it is the stop thread's time.
    pub at: Tsc,
    /// How well that is known: measured by a mark, inferred from a wake-up.
    pub certainty: Certainty,
    /// What told it, in words.
    pub by: String,
    /// The record that told it.
    pub evidence: Option<Evidence>,
}

impl HandOff {
    /// By the interval's `publish` mark.
    pub(crate) fn by_mark(interval: &Interval) -> Option<HandOff> {
        let at = interval.publish.filter(|&publish| interval.range.contains(publish))?;
        two_threads(interval).then(|| HandOff {
            at,
            certainty: Certainty::Measured,
            by: "the publish mark".into(),
            evidence: None,
        })
    }

    /// By the mark, else by the last wake-up of the stop thread by the start thread: an earlier one was for an
    /// earlier piece of work, for a thread that has one does not sleep.
    pub(crate) fn of(interval: &Interval, sideband: &Sideband) -> Option<HandOff> {
        HandOff::by_mark(interval).or_else(|| {
            let (start, stop) = (interval.start_thread?, interval.stop_thread?);
            if !two_threads(interval) {
                return None;
            }
            let waking = sideband
                .wakings(stop.tid, interval.range)
                .filter(|event| event.thread.is_some_and(|thread| thread.tid == start.tid))
                .last()?;
            Some(HandOff {
                at: waking.time,
                certainty: Certainty::Inferred,
                by: format!("the wake-up of tid {} by tid {}", stop.tid, start.tid),
                evidence: Some(Evidence::record(waking.offset, waking.cpu, "sched_waking: the hand-off")),
            })
        })
    }

    /// By the first time that the stop thread leaves a loop in which it waits: the start thread published shortly
    /// before. Not for a thread that is busy with other intervals meanwhile: it has no need to wait for this one.
    pub(crate) fn by_spin(interval: &Interval, spins: &[Spin]) -> Option<HandOff> {
        let stop = interval.stop_thread.filter(|_| two_threads(interval))?;
        let mut left = spins.iter().filter(|spin| spin.left && spin.range.stop > interval.range.start);
        let spin = left.find(|spin| interval.range.contains(spin.range.stop))?;
        Some(HandOff {
            at: spin.range.stop,
            certainty: Certainty::Inferred,
            by: format!("tid {} leaving its {}", stop.tid, spin.name()),
            evidence: Some(Evidence::symbol(spin.name())),
        })
    }

    /// What a reader must know about whose time the interval's is.
    pub(crate) fn remark(interval: &Interval, hand_off: Option<&HandOff>) -> Option<Diagnostic> {
        let id = interval.id;
        match (interval.start_thread, interval.stop_thread, hand_off) {
            (None, Some(stop), _) => Some(Diagnostic::note(format!(
                "interval {id} has a mark at its stop alone: all of its time is looked at on tid {}, whoever had \
                 the work before",
                stop.tid
            ))),
            (Some(start), Some(stop), None) if start.tid != stop.tid => Some(Diagnostic::note(format!(
                "interval {id}: neither a publish mark nor a wake-up tells when tid {} handed over to tid {}, nor \
                 does the latter leave a waiting loop: all of its time is looked at on the latter",
                start.tid, stop.tid
            ))),
            (Some(_), Some(_), Some(hand_off)) if hand_off.certainty < Certainty::Measured => {
                Some(Diagnostic::note(format!(
                    "interval {id}: the hand-off is inferred from {}; a publish mark would tell it",
                    hand_off.by
                )))
            }
            _ => None,
        }
    }
}

fn two_threads(interval: &Interval) -> bool {
    matches!((interval.start_thread, interval.stop_thread), (Some(a), Some(b)) if a.tid != b.tid)
}
