//! Below a wait: what the one did that ended it, as the same partition clipped to the wait. For a thread, its own
//! time, and so on for the waits in there; for an interrupt, the interrupt's work, and before it the device or timer
//! that it came from.
//!
//! Bounded in depth, in waits per interval (the longest) and in all, so that an interval of a thousand waits costs
//! no more than a few intervals. It ends without a loop: each step looks at a shorter time.

mod interrupts;

use std::cmp::Reverse;

use model::{Cause, Interval, IntervalId, Segment, ThreadId, TscRange};
use perfdata::LeaveReason;

use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::examine::{Scene, examine_scene};
use crate::follow::{Decode, path_at};
use crate::offcpu::{self, Story};
use crate::segments::plain;
use crate::sideband::Sideband;
use crate::timeline::{Stay, Whereabouts};
use crate::waits::wait_of;
use crate::waker::Wakeup;
use crate::walk::Activity;

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

    /// Whether one more partition may be made; counts it.
    fn take(&mut self) -> bool {
        let left = self.depth > 0 && self.partitions > 0;
        self.partitions -= usize::from(left);
        left
    }

    /// What `thread` did during `range`, and where it stood at its end; `None` where no more may be followed.
    pub(crate) fn of_thread(
        &mut self,
        scene: &Scene<'_>,
        range: TscRange,
        thread: ThreadId,
        decoder: &mut dyn Decode,
    ) -> Option<(Vec<Segment>, Option<CallPath>)> {
        if !self.take() {
            return None;
        }
        self.depth -= 1;
        let interval = Interval::new(IntervalId(0), "", range, Some(thread));
        let examined = examine_scene(scene, &interval, decoder, self);
        self.depth += 1;
        let path = examined.paths.iter().rfind(|path| path.at == range.stop).cloned();
        Some((plain(&examined), path))
    }
}

/// The claims of all stays off CPUs; below the longest waits, what ended them.
pub(crate) fn off_cpu_claims(
    scene: &Scene<'_>,
    stays: &[Stay],
    sideband: &Sideband,
    activity: &Activity,
    decoder: &mut dyn Decode,
    during: &mut During,
) -> Vec<Claim> {
    let Some(conversion) = scene.conversion else { return Vec::new() };
    let context = offcpu::Context {
        schedule: scene.schedule,
        conversion,
        sideband,
        calls: offcpu::frames_that(&activity.frames, |frame| matches!(&frame.cause, Cause::Syscall(_))),
        faults: offcpu::frames_that(&activity.frames, |frame| frame.address.is_some()),
        comms: scene.comms,
        files: scene.files,
    };
    let mut stories = Vec::with_capacity(stays.len());
    for stay in stays {
        stories.push(begin(scene, stay, sideband, activity, decoder));
    }
    for index in longest_waits(stays, &stories) {
        follow(scene, &stays[index], &mut stories[index], &context, decoder, during);
    }
    let numbered = stays.iter().zip(stories).enumerate();
    numbered
        .flat_map(|(index, (stay, story))| offcpu::claims_of_stay(stay, index as u64, story, &context))
        .collect()
}

/// What is known of a stay off the CPU without following anybody.
fn begin(
    scene: &Scene<'_>,
    stay: &Stay,
    sideband: &Sideband,
    activity: &Activity,
    decoder: &mut dyn Decode,
) -> Story {
    let Whereabouts::OffCpu(reason) = stay.place else { return Story::default() };
    let slept = matches!(reason, LeaveReason::Slept(_));
    let wakeup = if slept { Wakeup::of(stay, sideband) } else { None };
    Story { left: left_from(scene, stay, sideband, activity, decoder), wakeup, ..Story::default() }
}

/// Where the thread stood when it left for `stay`: by its flow before, else by the callchain of the switch record.
fn left_from(
    scene: &Scene<'_>,
    stay: &Stay,
    sideband: &Sideband,
    activity: &Activity,
    decoder: &mut dyn Decode,
) -> Option<CallPath> {
    let (thread, left_at) = (stay.thread?, stay.left_at?);
    let by_flow = if left_at < stay.range.start {
        path_at(scene, thread, stay.left_cpu, left_at, decoder)
    } else {
        CallPath::at_end(&activity.paths, left_at).cloned()
    };
    by_flow.filter(|path| !path.is_empty()).or_else(|| {
        let chain = sideband.callchain(stay.start_record?, left_at)?;
        Some(CallPath::of_callchain(chain, thread.pid, left_at, scene.functions))
    })
}

/// The waits that are followed, by index, longest first.
fn longest_waits(stays: &[Stay], stories: &[Story]) -> Vec<usize> {
    let mut waits: Vec<usize> = (0..stays.len()).filter(|&index| stories[index].wakeup.is_some()).collect();
    waits.sort_by_key(|&index| Reverse(wait_range(&stays[index], &stories[index]).ticks()));
    waits.truncate(WAITS);
    waits
}

fn wait_range(stay: &Stay, story: &Story) -> TscRange {
    let stop = story.wakeup.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    TscRange::new(stay.range.start, stop)
}

/// Finds out what happened during the wait of `stay`, and where its waker stood.
fn follow(
    scene: &Scene<'_>,
    stay: &Stay,
    story: &mut Story,
    context: &offcpu::Context<'_>,
    decoder: &mut dyn Decode,
    during: &mut During,
) {
    let range = wait_range(stay, story);
    let Some(mut wakeup) = story.wakeup.clone().filter(|_| !range.is_empty()) else { return };
    if during.depth > 0 && wakeup.interrupt.is_none() && wakeup.waker.is_some_and(ThreadId::is_idle) {
        wakeup.interrupt = interrupts::by_flow(scene, &wakeup, decoder);
    }
    let mut flow = None;
    if let Some(thread) = wakeup.thread() {
        if let Some((segments, path)) = during.of_thread(scene, range, thread, decoder) {
            (story.during, flow) = (segments, path);
        }
    } else if wakeup.interrupt.is_some() && during.take() {
        let Whereabouts::OffCpu(LeaveReason::Slept(state)) = stay.place else { return };
        let wait = wait_of(stay, state, story.left.as_ref(), Some(&wakeup), context);
        story.during = interrupts::segments(range, &wakeup, &wait, context.sideband);
    }
    story.waker = wakeup.path(flow, scene.functions);
    story.wakeup = Some(wakeup);
}
