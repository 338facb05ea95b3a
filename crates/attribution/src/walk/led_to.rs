//! The time up to a spin-wait loop belongs to the code that led to it, where all of it ran since one time packet.

use model::TscRange;

use super::activity::{Run, Spin};

/// Of `runs`, in order of time, those that begin between the time packet before a loop and the loop begin with the loop: what ran before them has
/// that time.
pub(super) fn lead_to(runs: &mut [Run], spins: &[Spin]) {
    for spin in spins {
        let begin = spin.range.start;
        let from = runs.partition_point(|run| run.range.stop < spin.packet);
        let mut within = runs[from..].iter_mut().take_while(|run| run.range.start < begin);
        if let Some(first) = within.next() {
            first.range = TscRange::new(first.range.start, first.range.stop.max(begin));
        }
        for run in within {
            run.range = TscRange::new(begin, run.range.stop.max(begin));
        }
    }
}
