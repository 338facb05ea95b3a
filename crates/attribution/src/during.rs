//! Below a wait: what the thread did that ended it, as the same partition clipped to the wait, and so on for the
//! waits in there.
//!
//! Bounded in depth, in waits per interval (the longest) and in all, so that an interval of a thousand waits costs
//! no more than a few intervals. It ends without a loop: each step looks at a shorter time.

use std::cmp::Reverse;

use model::{Cause, Interval, IntervalId, OffCpu, Segment, TscRange};

use crate::claim::Claim;
use crate::examine::{Scene, examine_scene};
use crate::follow::Decode;
use crate::offcpu::{self, Wakeup};
use crate::segments::plain;
use crate::sideband::Sideband;
use crate::timeline::Stay;
use crate::walk::Frame;

/// How many wake-ups the path of who ended a wait is followed back.
const DEPTH: usize = 3;

/// How many waits of one interval are followed.
const WAITS: usize = 8;

/// How many partitions hang below one interval, at all depths.
const PARTITIONS: usize = 24;

/// How much may still be followed.
pub(crate) struct During {
    depth: usize,
    partitions: usize,
}

impl During {
    /// All that an outlier may have.
    pub(crate) fn of_outlier() -> During {
        During { depth: DEPTH, partitions: PARTITIONS }
    }

    /// Nothing.
    pub(crate) fn none() -> During {
        During { depth: 0, partitions: 0 }
    }

    /// What the thread that ended `wait` did meanwhile; `None` where no more may be followed.
    fn follow(
        &mut self,
        scene: &Scene<'_>,
        wait: TscRange,
        wakeup: &Wakeup,
        decoder: &mut dyn Decode,
    ) -> Option<Vec<Segment>> {
        let waker = wakeup.waker.filter(|waker| !waker.is_idle() && wakeup.interrupt.is_none())?;
        if self.depth == 0 || self.partitions == 0 {
            return None;
        }
        self.partitions -= 1;
        self.depth -= 1;
        let interval = Interval::new(IntervalId(0), "", wait, Some(waker));
        let segments = plain(&examine_scene(scene, &interval, decoder, self));
        self.depth += 1;
        Some(segments)
    }
}

/// The claims of all stays off CPUs; below the longest waits, what ended them.
pub(crate) fn off_cpu_claims(
    scene: &Scene<'_>,
    stays: &[Stay],
    sideband: &Sideband,
    frames: &[Frame],
    decoder: &mut dyn Decode,
    during: &mut During,
) -> Vec<Claim> {
    let Some(conversion) = scene.conversion else { return Vec::new() };
    let context = offcpu::Context {
        schedule: scene.schedule,
        conversion,
        sideband,
        calls: offcpu::calls_of(frames),
        comms: scene.comms,
    };
    let mut claims = Vec::new();
    let mut waits: Vec<(usize, &Stay)> = Vec::new();
    for (index, stay) in stays.iter().enumerate() {
        for claim in offcpu::claims_of_stay(stay, index as u64, &context) {
            if is_wait(&claim.cause) {
                waits.push((claims.len(), stay));
            }
            claims.push(claim);
        }
    }
    waits.sort_by_key(|&(claim, _)| Reverse(claims[claim].range().ticks()));
    for (claim, stay) in waits.into_iter().take(WAITS) {
        let Some(wakeup) = offcpu::wakeup(stay, sideband) else { continue };
        let Some(segments) = during.follow(scene, claims[claim].range(), &wakeup, decoder) else { continue };
        claims[claim].during = segments;
    }
    claims
}

fn is_wait(cause: &Cause) -> bool {
    matches!(cause, Cause::OffCpu(kind) if !matches!(kind, OffCpu::Preempted | OffCpu::Runnable))
}
