//! Whose time an interval is, where those threads were, and what they did: by records first, then by what only their
//! flows show.
//!
//! Input: the interval, the hand-off by records, and what is wanted of the flows.
//! Output: [`WhoseTime`].

use model::Interval;

use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::threads::follow::{FollowedStay, Wanted, follow};
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

/// Follows the interval's threads. If the stop thread was not busy with other intervals, so that it could wait, and no record shows the hand-off, its flow may show it, and the threads are followed once more.
pub(crate) fn follow_interval(
    scene: &Scene<'_>,
    interval: &Interval,
    by_records: Option<HandOff>,
    wanted: Wanted,
    decoder: &mut dyn Decode,
) -> WhoseTime {
    let mut follow_with = |hand_off: Option<HandOff>| {
        let stays = stays_with(interval, hand_off.as_ref(), scene.schedule, scene.conversion);
        let (activity, followed) = follow(scene, &stays, wanted, decoder);
        let Some(stays) = absences(interval, &stays, &activity, scene) else {
            return WhoseTime { hand_off, stays, activity, followed };
        };
        let (activity, followed) = follow(scene, &stays, wanted, decoder);
        WhoseTime { hand_off, stays, activity, followed }
    };
    let time = follow_with(by_records);
    if time.hand_off.is_some() || wanted.busy.is_some() {
        return time;
    }
    match HandOff::by_spin(interval, &time.activity.spins) {
        Some(by_spin) => follow_with(Some(by_spin)),
        None => time,
    }
}
