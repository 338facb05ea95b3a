//! The jobs of a pool of threads at the request of a server's interval; below the longest: what their threads did.

use std::cmp::Reverse;
use std::sync::Arc;

use model::{Interval, Segment, ThreadId, TscRange};

use super::during::WAITS;
use super::serving::Serving;
use crate::claims::off_cpu::pooled::Job;
use crate::records::sideband::Sideband;
use crate::walk::hot_paths::HotPaths;

/// In order; none where the interval is no request that one thread read and answered.
pub(super) fn jobs(interval: &Interval, sideband: &Sideband) -> Vec<Job> {
    let one_thread = interval.stop_thread.filter(|_| interval.start_thread == interval.stop_thread);
    let (Some(descriptor), Some(thread)) = (interval.connection, one_thread) else { return Vec::new() };
    let range = interval.range;
    let serving = Serving::of(thread, range, range.stop, sideband);
    let serving = serving.filter(|serving| serving.came_by(descriptor));
    serving.map_or_else(Vec::new, |serving| serving.jobs(range, sideband))
}

/// Adds to the longest of `jobs` what their threads did. `examined`: the segments of a thread's time, and through which functions it passed.
pub(super) fn follow(
    jobs: &mut [Job],
    mut examined: impl FnMut(TscRange, ThreadId) -> Option<(Vec<Segment>, HotPaths)>,
) {
    let mut longest: Vec<usize> = (0..jobs.len()).collect();
    longest.sort_by_key(|&index| Reverse(jobs[index].range.ticks()));
    for index in longest.into_iter().take(WAITS) {
        let job = &mut jobs[index];
        if let Some((segments, hot)) = examined(job.range, job.by) {
            (job.during, job.below) = (segments, Some(Arc::new(hot)));
        }
    }
}

#[cfg(test)]
mod tests;
