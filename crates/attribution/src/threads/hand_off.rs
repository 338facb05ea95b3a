//! Where an interval of two threads changes from the start thread's time to the stop thread's.
//!
//! In order of preference: the interval's `publish` mark; the last wake-up of the stop thread by the start thread (not
//! by an interrupt that was served while the start thread was current); the moment when the stop thread leaves the loop in which it waits for work. Packets carry no data addresses, so
//! the thread that wrote what that loop read cannot be decoded. Without any of them all of the time is the stop
//! thread's, and the report notes it.

use model::{Certainty, Diagnostic, Evidence, Interval, Tsc};

use crate::records::event::SidebandEvent;
use crate::records::sideband::Sideband;
use crate::walk::activity::Spin;

/// For how many wake-ups of one interval it is found out what made them: the flow may have to be decoded for each.
const MOST: usize = 16;

/// A hand-off between the threads of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOff {
    /// The time: from here on it is the stop thread's time.
    pub at: Tsc,
    /// Its certainty: measured by a mark, inferred from a wake-up.
    pub certainty: Certainty,
    /// Its source, in words.
    pub by: String,
    /// The record that shows it.
    pub evidence: Option<Evidence>,
}

impl HandOff {
    /// By the interval's `publish` mark.
    pub(crate) fn by_mark(interval: &Interval) -> Option<HandOff> {
        let at = interval.publish.filter(|&publish| interval.range.contains(publish))?;
        two_threads(interval).then(|| HandOff {
            at,
            certainty: Certainty::Measured,
            by: "the publish marker".into(),
            evidence: None,
        })
    }

    /// By the mark, else by the last wake-up of the stop thread by the start thread. An earlier wake-up was for an
    /// earlier piece of work, because a thread that has work does not sleep. `is_by_thread` shows whether the current
    /// thread made a wake-up, and not an interrupt.
    pub(crate) fn of(
        interval: &Interval,
        sideband: &Sideband,
        mut is_by_thread: impl FnMut(&SidebandEvent) -> bool,
    ) -> Option<HandOff> {
        HandOff::by_mark(interval).or_else(|| {
            let (start, stop) = (interval.start_thread?, interval.stop_thread?);
            if !two_threads(interval) {
                return None;
            }
            let by_start =
                |event: &&SidebandEvent| event.thread.is_some_and(|thread| thread.tid == start.tid);
            let wakings: Vec<_> = sideband.wakings(stop.tid, interval.range).filter(by_start).collect();
            let waking = wakings.into_iter().rev().take(MOST).find(|waking| is_by_thread(waking))?;
            Some(HandOff {
                at: waking.time,
                certainty: Certainty::Inferred,
                by: format!("the wake-up of tid {} by tid {}", stop.tid, start.tid),
                evidence: Some(Evidence::record(waking.offset, waking.cpu, "sched_waking: the hand-off")),
            })
        })
    }

    /// By the first time that the stop thread leaves a spin-wait loop: the start thread published shortly before. Not
    /// for a thread that is busy with other intervals: it has no need to wait for this one.
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

    /// What a reader must know about the interval's time and its threads.
    pub(crate) fn remark(interval: &Interval, hand_off: Option<&HandOff>) -> Option<Diagnostic> {
        if !interval.phases.is_empty() {
            return None;
        }
        let id = interval.id;
        match (interval.start_thread, interval.stop_thread, hand_off) {
            (None, Some(stop), _) => Some(Diagnostic::note(format!(
                "interval {id} has a mark at its stop alone: all of its time is looked at on tid {}, whoever had \
                 the work before",
                stop.tid
            ))),
            (Some(start), Some(stop), None) if start.tid != stop.tid => Some(Diagnostic::note(format!(
                "interval {id}: neither a publish marker nor a wake-up shows when tid {} handed over to tid {}, and \
                 the latter leaves no spin-wait loop: all of its time is examined on the latter",
                start.tid, stop.tid
            ))),
            (Some(_), Some(_), Some(hand_off)) if hand_off.certainty < Certainty::Measured => {
                Some(Diagnostic::note(format!(
                    "interval {id}: the hand-off is inferred from {}; a publish marker would measure it",
                    hand_off.by
                )))
            }
            _ => None,
        }
    }
}

/// Whether one thread begins the interval and another ends it. The phases of a task say on which threads it was.
fn two_threads(interval: &Interval) -> bool {
    interval.phases.is_empty()
        && matches!((interval.start_thread, interval.stop_thread), (Some(a), Some(b)) if a.tid != b.tid)
}
