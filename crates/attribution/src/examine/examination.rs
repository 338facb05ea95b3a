//! The examination of one interval: asks every source for its claims and lets the strongest claim win each tick.
//!
//! Input: a scene and an interval. Output: [`Examined`]. The waker of a wait is examined in the same way, clipped to
//! the wait: [`Examination::below`] and [`super::absences`] call each other, and [`During`] bounds how often.

use std::collections::{HashMap, HashSet};

use model::{Cause, Interval, IntervalId, PhaseKind, Segment, ThreadId, Ticks, Tid, Tsc, TscRange};

use super::absences::off_cpu_claims;
use super::during::During;
use super::examined::Examined;
use super::pooled;
use super::returned::Returned;
use super::segments::plain;
use super::signals;
use super::spins;
use super::stories::{self, with_places};
use super::tasks;
use crate::claims::claim::Claim;
use crate::claims::collectors;
use crate::claims::ipi_senders::{name_senders, name_senders_around};
use crate::claims::kernel::{claims_of_frames, claims_of_records, is_unnamed_call, name_cut_call};
use crate::claims::losses::add_losses;
use crate::claims::no_flow::claims_without_flow;
use crate::claims::noise::add_noise;
use crate::claims::off_cpu::context::Context;
use crate::claims::partition::{Bid, Piece, partition};
use crate::claims::power;
use crate::claims::precedence::Rank;
use crate::claims::queue::claims_of_queue;
use crate::claims::silences::{add_silences, claims_of_uncovered};
use crate::claims::spins::{claims_of_spins, rounds_of_spins};
use crate::claims::stalls::claim_of_stall;
use crate::claims::strings::tell_in_frames;
use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::samples::requested_frequency::requested_during;
use crate::threads::addresses::Addresses;
use crate::threads::contradictions;
use crate::threads::follow::{FollowedStay, Wanted, path_with_callers};
use crate::threads::hand_off::HandOff;
use crate::threads::late_switches;
use crate::threads::stays::{Stay, stay_at};
use crate::threads::waker::Maker;
use crate::threads::whose_time::{WhoseTime, follow_interval};
use crate::walk::activity::{Activity, Frame, Run};
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::HotPaths;
use crate::walk::roots;

/// How long after its entry a system call may be recorded, in ticks of 10 us at 4 GHz.
const LOOK_AHEAD: Ticks = Ticks(40_000);

/// How much sideband before a moment may explain what takes place then: a begin without its end, in ticks of 1 ms at
/// 4 GHz.
const LOOK_BACK: Ticks = Ticks(4_000_000);

/// An interval whose threads were followed: the input of the sources of claims.
pub(super) struct Examination<'a> {
    /// The capture.
    pub(super) scene: &'a Scene<'a>,
    /// Where the threads were.
    pub(super) stays: &'a [Stay],
    /// The records around.
    pub(super) sideband: &'a Sideband,
    /// What the threads did, by their flows.
    pub(super) activity: &'a Activity,
    /// Decodes more flow: of other threads, or of times before.
    pub(super) decoder: &'a mut dyn Decode,
    /// How much more may be examined below this.
    pub(super) during: &'a mut During,
}

/// Examines `interval`, and below its waits as much as `during` allows.
pub(crate) fn examine_scene(
    scene: &Scene<'_>,
    interval: &Interval,
    decoder: &mut dyn Decode,
    during: &mut During,
) -> Examined {
    let around = TscRange::new(interval.range.start.before(LOOK_BACK), interval.range.stop);
    let sideband = (scene.records)(around);
    let queue = scene.queues.before(interval);
    let by_records =
        HandOff::of(interval, &sideband, |waking| Maker::of(waking, &sideband, scene, decoder).is_thread());
    let busy = interval.stop_thread.zip(queue.last().map(|&(until, _)| until));
    // The calls below a wait are another thread's, and are not reported.
    let wanted = Wanted { busy, kernel_calls: !during.is_below_a_wait() };
    let WhoseTime { hand_off, mut stays, mut activity, followed } =
        follow_interval(scene, interval, by_records, wanted, decoder);
    roots::settle(&mut activity, interval.range);
    late_switches::bound_by_flow(&mut stays, &activity.frames, scene, decoder);
    let sideband = sideband.with(events_before_waits(scene, &stays, around));
    let sideband = with_later_chains(sideband, scene, interval.range.stop);
    let cut_call = call_at_end(scene, &sideband, &stays, &activity.frames, interval.range.stop);
    let mut examination =
        Examination { scene, stays: &stays, sideband: &sideband, activity: &activity, decoder, during };
    let in_pool = examination.pooled(interval);
    let mut claims = examination.claims(&followed, cut_call.as_ref());
    claims.extend(in_pool);
    let from = hand_off.as_ref().map_or(interval.range.start, |hand_off| hand_off.at);
    claims.extend(examination.queued(interval, from, &queue));
    claims.extend(examination.paused(interval));
    // Only those of an outlier's own time are reported.
    let is_reported = examination.during.is_thorough() && !examination.during.is_below_a_wait();
    let signals = if is_reported {
        signals::of_handlers(&activity, &stays, &sideband, scene.comms)
    } else {
        HashMap::new()
    };
    let pid = stays.iter().find_map(|stay| stay.thread).map(|thread| thread.pid);
    let returned = Returned::of(&activity.code, pid, interval.range.stop, scene.functions);
    Examined {
        hand_off,
        workers: workers_of(interval, scene),
        asked: requested_during(&stays, scene.frequencies, scene.conversion),
        whose: scene.whose(),
        caches: scene.caches,
        conversion: scene.conversion,
        pieces: cut(interval.range, &claims, &activity.runs),
        contradiction: contradictions::find(interval, &stays, scene.schedule, scene.conversion),
        rounds: rounds_of_spins(&activity.spins),
        strings: activity.strings,
        returned,
        signals,
        claims,
        stays,
        runs: activity.runs,
        code: activity.code,
        kernel: activity.kernel,
        paths: activity.paths,
        ..Examined::empty(interval.clone())
    }
}

impl Examination<'_> {
    /// The claims of all sources except the queue. Sources that add to the claims of others come after them. `cut_call` is the
    /// record of a call whose entry the interval's end cuts.
    fn claims(&mut self, followed: &[FollowedStay], cut_call: Option<&SidebandEvent>) -> Vec<Claim> {
        let Examination { scene, stays, sideband, activity, .. } = *self;
        let addresses = Addresses { stays, files: scene.files };
        let mut claims =
            claims_of_frames(&activity.frames, sideband, &addresses, scene.comms, &activity.paths);
        if let Some(entered) = cut_call {
            name_cut_call(&mut claims, entered, scene.files);
        }
        tell_in_frames(&mut claims, &activity.strings, scene.conversion);
        claims.extend(claims_of_records(sideband, stays, &claims, scene.files));
        let senders = name_senders(&mut claims, stays, sideband, scene.comms);
        claims.extend(off_cpu_claims(self));
        collectors::name_waits(&mut claims, stays, &activity.paths, sideband, scene);
        power::add_exits(&mut claims, stays, sideband, scene.functions, self.decoder);
        claims.extend(activity.stalls.iter().map(claim_of_stall));
        add_noise(&mut claims, sideband, stays, scene.conversion);
        add_silences(&mut claims, &activity.silences, sideband, &addresses, scene);
        name_senders_around(&mut claims, &senders);
        match scene.samples {
            None => claims.extend(claims_of_uncovered(followed, scene)),
            Some(samples) => {
                let lowest = claims_without_flow(followed, &claims, sideband, samples, scene.functions);
                claims.extend(lowest);
            }
        }
        add_losses(&mut claims, stays, sideband);
        claims.extend(claims_of_spins(&activity.spins));
        if self.during.is_open() {
            let below =
                |range, thread| self.below(range, thread).map_or_else(Vec::new, |below| below.segments);
            spins::follow_others(scene, stays, &mut claims, below);
        }
        claims
    }

    /// The time queued behind the intervals of `queue`, from `from` on; below the longest part, what the stop thread
    /// did then.
    fn queued(&mut self, interval: &Interval, from: Tsc, queue: &[(Tsc, IntervalId)]) -> Vec<Claim> {
        let mut behind = claims_of_queue(interval, from, queue, self.stays, self.activity);
        let longest = behind.iter_mut().max_by_key(|claim| claim.range().ticks());
        if let (Some(claim), Some(thread)) = (longest, interval.stop_thread)
            && let Some(below) = self.below(claim.range(), thread)
        {
            claim.during = below.segments;
        }
        behind
    }

    /// The phases of a task's interval in which no thread ran it; below the longest, what was done then.
    fn paused(&mut self, interval: &Interval) -> Vec<Claim> {
        let scene = self.scene;
        let mut pauses = tasks::pauses(scene, interval, self.activity, self.decoder);
        tasks::follow(scene, &mut pauses, |interval| {
            self.below_interval(interval).map(|below| (below.segments, below.hot))
        });
        pauses.into_iter().map(|pause| pause.claim(scene)).collect()
    }

    /// The time in which a pool of threads had the request of a server's interval.
    fn pooled(&mut self, interval: &Interval) -> Vec<Claim> {
        let mut jobs = pooled::jobs(interval, self.sideband);
        pooled::follow(&mut jobs, |range, thread| {
            self.below(range, thread).map(|below| (below.segments, below.hot))
        });
        let context = Context::new(self.scene, self.sideband, &self.activity.frames);
        let Some(context) = context.filter(|_| !jobs.is_empty()) else { return Vec::new() };
        // Stays off the CPU are numbered from 0.
        let numbered = (self.stays.len() as u64..).zip(jobs);
        numbered.map(|(number, job)| job.claim(number, self.stays, &context)).collect()
    }

    /// What took place in `interval` of another thread or task, as far as `during` lets anything be examined.
    fn examined_below(&mut self, interval: &Interval) -> Examined {
        self.during.descend();
        let examined = examine_scene(self.scene, interval, self.decoder, self.during);
        self.during.ascend();
        examined
    }

    /// What `thread` ran during `range`, without what it waited for; `None` where no more may be followed.
    pub(super) fn ran(&mut self, range: TscRange, thread: ThreadId) -> Option<Examined> {
        if !self.during.take() {
            return None;
        }
        self.during.follow_nothing(true);
        let examined = self.examined_below(&of_thread(range, thread));
        self.during.follow_nothing(false);
        Some(examined)
    }

    /// What `thread` did during `range`; `None` where no more may be followed.
    pub(super) fn below(&mut self, range: TscRange, thread: ThreadId) -> Option<Below> {
        self.below_interval(&of_thread(range, thread))
    }

    /// What took place in `interval` of another thread or task; `None` where no more may be followed.
    pub(super) fn below_interval(&mut self, interval: &Interval) -> Option<Below> {
        if !self.during.take() {
            return None;
        }
        let range = interval.range;
        let examined = self.examined_below(interval);
        let mut segments = with_places(plain(&examined), &examined);
        let hot = HotPaths::of(&examined.code, &examined.runs, segments.iter().map(|segment| segment.range));
        stories::name_by_paths(&mut segments, &hot);
        let known = examined.paths.iter().rfind(|path| path.at == range.stop);
        let returned = self.callers_known_later(&examined, range.stop);
        if let Some(path) = &returned {
            stories::name_by_callers(&mut segments, path);
        }
        let path = returned.or_else(|| known.cloned());
        Some(Below { segments, hot, path })
    }

    /// Where the thread of `examined`, which ran library code alone or none outside of the kernel, was at its end, `at`: whose call that was
    /// its return shows, which comes later.
    fn callers_known_later(&mut self, examined: &Examined, at: Tsc) -> Option<CallPath> {
        let in_call = || examined.claims.iter().any(|claim| matches!(claim.cause, Cause::Syscall(_)));
        let ran = !examined.code.nodes.is_empty() || in_call();
        let is_followed = self.during.is_thorough() && examined.interval.phases.is_empty();
        if !ran || !is_followed || examined.code.nodes.values().any(|node| !node.is_library()) {
            return None;
        }
        let last = examined.stays.last().filter(|stay| stay.range.stop == at)?;
        let (thread, cpu) = (last.thread?, last.place.cpu()?);
        let path = path_with_callers(self.scene, thread, cpu, at, self.decoder)?;
        path.user.iter().any(|site| !site.is_library()).then_some(path)
    }
}

/// The time of `thread` in `range`.
fn of_thread(range: TscRange, thread: ThreadId) -> Interval {
    Interval::new(IntervalId(0), "", range, Some(thread))
}

/// The threads that run the task of `interval`, by name; none where it is no task's.
fn workers_of(interval: &Interval, scene: &Scene<'_>) -> HashMap<Tid, String> {
    let runs = interval.phases.iter().filter(|phase| phase.kind == PhaseKind::Run);
    let threads: HashSet<ThreadId> = runs.filter_map(|phase| phase.thread).collect();
    let tasks = scene.queues.tasks();
    threads
        .into_iter()
        .map(|thread| (thread.tid, tasks.worker_name(scene.comms, thread, interval.range.stop)))
        .collect()
}

/// What another thread did during a wait.
pub(super) struct Below {
    /// Its time, in order and without holes.
    pub(super) segments: Vec<Segment>,
    /// Through which functions it passed, for each segment.
    pub(super) hot: HotPaths,
    /// Where it was at the end.
    pub(super) path: Option<CallPath>,
}

/// The `sys_enter` record of a call whose entry the interval's end, `stop`, cuts: the one that is open then (by the clock of the records
/// it may have come before the entry), else the next.
fn call_at_end(
    scene: &Scene<'_>,
    sideband: &Sideband,
    stays: &[Stay],
    frames: &[Frame],
    stop: Tsc,
) -> Option<SidebandEvent> {
    let is_cut =
        |frame: &Frame| frame.range.stop >= stop && !frame.began_before && is_unnamed_call(&frame.cause);
    let (frame, earlier) = frames.split_last().filter(|(last, _)| is_cut(last))?;
    let thread = stay_at(stays, frame.range.start)?.thread?;
    // One that began before another call ended is that call's, and its `sys_exit` was lost.
    let is_its_own = |entered: &&SidebandEvent| {
        let calls = earlier.iter().filter(|frame| matches!(frame.cause, Cause::Syscall(_)));
        entered.time >= frame.range.start.before(LOOK_AHEAD)
            && calls.map(|call| call.range.stop).all(|ended| ended <= entered.time)
    };
    if let Some(open) = sideband.call_at(thread.tid, stop).filter(is_its_own) {
        return Some(open.clone());
    }
    let after = (scene.records)(TscRange::new(stop, stop + LOOK_AHEAD));
    let mut own = after.events().iter().filter(|event| event.thread == Some(thread));
    let next = own.find(|event| matches!(event.kind, EventKind::Syscall { .. }))?;
    (next.side == Side::Begin).then(|| next.clone())
}

/// Threads that were in the kernel when the interval ended, at `stop`, leave it later: only then is the user's part of their callchains recorded.
fn with_later_chains(sideband: Sideband, scene: &Scene<'_>, stop: Tsc) -> Sideband {
    if !sideband.awaits_chains() {
        return sideband;
    }
    sideband.with((scene.records)(TscRange::new(stop, stop + LOOK_BACK)).user_chains().to_vec())
}

/// A thread that sleeps when the interval begins may have gone to sleep long before it: what it called then.
fn events_before_waits(scene: &Scene<'_>, stays: &[Stay], around: TscRange) -> Vec<SidebandEvent> {
    let mut events = Vec::new();
    let mut seen = None;
    for left_at in stays.iter().filter_map(|stay| stay.left_at.filter(|&at| at < around.start)) {
        if seen != Some(left_at) {
            let before = (scene.records)(TscRange::new(left_at.before(LOOK_BACK), left_at));
            let all = before.events().iter().chain(before.user_chains());
            events.extend(all.filter(|event| event.time < around.start).cloned());
            seen = Some(left_at);
        }
    }
    events
}

fn cut(range: TscRange, claims: &[Claim], runs: &[Run]) -> Vec<Piece> {
    let of_run = |run: &Run| Bid { range: run.range, rank: Rank::User, depth: 0 };
    let bids: Vec<Bid> = claims.iter().map(|claim| claim.bid).chain(runs.iter().map(of_run)).collect();
    partition(range, &bids)
}
