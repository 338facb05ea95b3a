//! Below the longest spin-wait loops: what the other threads of the process did during them. Packets carry no data addresses, so
//! which of them wrote what the loop waited for is not known: it is one that ran. In the kernel, too, the owner of what is spun for runs
//! on another CPU.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Cause, Role, Segment, ThreadId, Ticks, TscRange};

use super::during::WAITS;
use crate::claims::claim::Claim;
use crate::claims::spins::PARTICULAR;
use crate::inputs::comms::named;
use crate::inputs::scene::Scene;
use crate::threads::stays::{Stay, runs_on, stay_at};

/// Shorter loops are not followed: the lock was free soon.
const SHORTEST_NS: u64 = 1_000;

/// Adds to the longest of the spin-wait loops among `claims`, of user code and of the kernel, what the other thread of the process did that ran most, or that
/// none ran.
/// `below` examines what a thread did during a time.
pub(super) fn follow_others(
    scene: &Scene<'_>,
    stays: &[Stay],
    claims: &mut [Claim],
    mut below: impl FnMut(TscRange, ThreadId) -> Vec<Segment>,
) {
    let Some(conversion) = scene.conversion else { return };
    let is_long = |claim: &&mut Claim| {
        let spins = matches!(claim.cause, Cause::UserSpin | Cause::KernelSpin);
        spins && conversion.ticks_to_ns(claim.range().ticks()) >= SHORTEST_NS
    };
    let mut spins: Vec<&mut Claim> = claims.iter_mut().filter(is_long).collect();
    spins.sort_by_key(|claim| Reverse(claim.range().ticks()));
    for claim in spins.into_iter().take(WAITS) {
        let range = claim.range();
        let Some(thread) = stay_at(stays, range.start).and_then(|stay| stay.thread) else {
            continue;
        };
        let told = match others(scene, thread, range).into_iter().max_by_key(|&(_, ticks)| ticks) {
            Some((other, _)) => {
                claim.during = below(range, other);
                claim.story.by = scene.comms.comm(other, range.start);
                claim.story.role = Role::Beside;
                format!("{PARTICULAR}during this time {} ran", named(scene.comms, other, range.start))
            }
            None if scene.tells_switches() => {
                format!("{PARTICULAR}during this time no other thread of its process ran")
            }
            None => continue,
        };
        claim.detail.push_str(&told);
    }
}

/// The other threads of the process that ran during `range`, and for how long.
pub(super) fn others(scene: &Scene<'_>, thread: ThreadId, range: TscRange) -> BTreeMap<ThreadId, Ticks> {
    let mut found = BTreeMap::new();
    let Some(conversion) = scene.conversion else { return found };
    for cpu in scene.schedule.cpus() {
        for (other, on) in runs_on(scene.schedule, cpu, range, conversion) {
            if other.pid == thread.pid && other.tid != thread.tid {
                found.entry(other).or_insert(Ticks(0)).0 += on.ticks().0;
            }
        }
    }
    found
}
