//! Whose time an interval is, where those threads were, and what they did: by records first, then by what only their
//! flows show.
//!
//! Input: the interval, the hand-off by records, and until when the stop thread was busy with other intervals.
//! Output: [`WhoseTime`].

use model::{Interval, Tsc};

use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::threads::follow::{FollowedStay, follow};
use crate::threads::hand_off::HandOff;
use crate::threads::stays::{Stay, stays_with};
use crate::threads::unrecorded::absences;
use crate::walk::activity::Activity;

/// Whose time an interval is, and what those threads did.
pub(crate) struct WhoseTime {
    /// Where the time changes from one thread's to the other's, if there are two.
    pub(crate) hand_off: Option<HandOff>,
    /// Where they were, in order, without holes.
    pub(crate) stays: Vec<Stay>,
    /// What they did there.
    pub(crate) activity: Activity,
    /// The stays requested from the decoder.
    pub(crate) followed: Vec<FollowedStay>,
}

/// Follows the interval's threads. The stop thread was `busy` with other intervals until then. If it was not, so that
/// it could wait, and no record shows the hand-off, its flow may show it, and the threads are followed once more.
pub(crate) fn follow_interval(
    scene: &Scene<'_>,
    interval: &Interval,
    by_records: Option<HandOff>,
    busy: Option<Tsc>,
    decoder: &mut dyn Decode,
) -> WhoseTime {
    let busy = interval.stop_thread.zip(busy);
    let mut follow_with = |hand_off: Option<HandOff>| {
        let stays = stays_with(interval, hand_off.as_ref(), scene.schedule, scene.conversion);
        let (activity, followed) = follow(scene, &stays, busy, decoder);
        let Some(stays) = absences(interval, &stays, &activity, scene) else {
            return WhoseTime { hand_off, stays, activity, followed };
        };
        let (activity, followed) = follow(scene, &stays, busy, decoder);
        WhoseTime { hand_off, stays, activity, followed }
    };
    let time = follow_with(by_records);
    if time.hand_off.is_some() || busy.is_some() {
        return time;
    }
    match HandOff::by_spin(interval, &time.activity.spins) {
        Some(by_spin) => follow_with(Some(by_spin)),
        None => time,
    }
}
