//! `queue.runtime` and the waits of tasks: the phases of a task's interval in which no thread ran it.
//!
//! Input: such a phase, what followed it, and what is known of the worker or the waker. A task that is ready waits for a
//! worker to poll it: `queue.runtime`, with the tasks that this worker polled first. A task that awaits waits for whoever
//! wakes it: `offcpu.*`, by what the waking thread and the task's own last poll were at. Certainty: measured, by the markers.

use std::cmp::Reverse;
use std::sync::Arc;

use model::{Cause, Certainty, Interval, OffCpu, Phase, PhaseKind, Role, Segment, ThreadId, Ticks, TscRange};

use crate::claims::claim::Claim;
use crate::claims::lengths::tell_ns;
use crate::claims::precedence::Rank;
use crate::inputs::comms::named;
use crate::inputs::scene::Scene;
use crate::inputs::tasks::name_of;
use crate::tables::task_wakers::{self, Awaited};
use crate::walk::await_sites::AwaitSite;
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::HotPaths;

/// How many of the tasks that were polled first are named.
const NAMED: usize = 3;

/// A phase in which no thread ran the task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pause {
    /// When.
    pub(crate) range: TscRange,
    /// Whether it could go on.
    pub(crate) is_ready: bool,
    /// Which one of its interval's phases it is.
    pub(crate) occurrence: u64,
    /// The thread that ended it: the worker that polled a ready task, the thread that woke another one.
    pub(crate) ended_by: Option<ThreadId>,
    /// Whether the task was woken, and not just polled anew.
    pub(crate) is_woken: bool,
    /// Whether that was in the poll of another task.
    pub(crate) by_task: bool,
    /// The futures of the poll before it that was pending, the last one first.
    pub(crate) sites: Vec<AwaitSite>,
    /// Where the waking thread was.
    pub(crate) waker: Option<CallPath>,
    /// What that thread did during the phase, or the task in whose poll it woke this one.
    pub(crate) during: Vec<Segment>,
    /// Through which functions that time passed.
    pub(crate) below: Option<Arc<HotPaths>>,
}

/// The phases of `interval` in which no thread ran its task.
pub(crate) fn pauses_of(interval: &Interval) -> Vec<Pause> {
    let pause = |(index, phase): (usize, &Phase)| {
        let next = interval.phases.get(index + 1);
        Pause {
            range: phase.range,
            is_ready: phase.kind == PhaseKind::Ready,
            occurrence: index as u64,
            ended_by: next.and_then(|next| next.thread),
            is_woken: next.is_some_and(|next| next.kind == PhaseKind::Ready),
            ..Pause::default()
        }
    };
    let phases = interval.phases.iter().enumerate();
    let no_thread_ran = |phase: &Phase| phase.kind != PhaseKind::Run && !phase.range.is_empty();
    phases.filter(|(_, phase)| no_thread_ran(phase)).map(pause).collect()
}

impl Pause {
    /// Whether what a thread did may be the reason for its length: no thread's doing ends a sleep or brings data to a socket.
    pub(crate) fn is_due_to_a_thread(&self) -> bool {
        self.is_ready || self.is_woken && !self.awaited_at().is_some_and(|(awaited, _)| is_by_driver(awaited))
    }

    /// What it waited for, by the waker's functions and by what its own poll was at; and where.
    fn awaited_at(&self) -> Option<(Awaited, &str)> {
        let by_waker = self.by_waker();
        let fits = |site: &&AwaitSite| match by_waker {
            None => !self.by_task || !is_by_driver(site.awaited),
            // The waker of a semaphore does not know for what it is.
            Some(awaited) if awaited.is_semaphore => site.awaited.is_semaphore,
            Some(awaited) => site.awaited == awaited,
        };
        let site = self.sites.iter().find(fits);
        let awaited = site.map(|site| site.awaited).or(by_waker)?;
        Some((awaited, site.map_or("", |site| &site.place)))
    }

    fn by_waker(&self) -> Option<Awaited> {
        let path = self.waker.as_ref()?;
        task_wakers::woken_by(&path.user.iter().map(|site| &*site.function).collect::<Vec<_>>())
    }

    /// What its time was.
    pub(crate) fn claim(self, scene: &Scene<'_>) -> Claim {
        let (cause, mut claim) = if self.is_ready {
            (Cause::QueueRuntime, self.queued(scene))
        } else {
            let (kind, claim) = self.waited(scene);
            (Cause::OffCpu(kind), claim)
        };
        claim.cause = cause;
        claim.story.is_not_run = true;
        claim.occurrence = self.occurrence;
        (claim.during, claim.below) = (self.during, self.below);
        claim
    }

    fn plain(&self) -> Claim {
        Claim::new(self.range, Rank::OffCpu, Cause::Unexplained, Certainty::Measured)
    }

    /// Ready, and not polled: by which worker in the end, and what that one polled first.
    fn queued(&self, scene: &Scene<'_>) -> Claim {
        let mut claim = self.plain();
        let Some(worker) = self.ended_by else {
            claim.say("ready, and no worker polled it before the interval ended");
            return claim;
        };
        let (at, tasks) = (self.range.stop, scene.queues.tasks());
        claim.story.by = tasks.worker_name(scene.comms, worker, at);
        let name = named(scene.comms, worker, at);
        claim.story.role = Role::Runner;
        let polled = polled_within(worker, self.range, scene);
        let tell = |(task, ticks): &(String, Ticks)| match scene.conversion {
            Some(conversion) => format!("{task} for {}", tell_ns(conversion.ticks_to_ns(*ticks))),
            None => task.clone(),
        };
        let mut first: Vec<String> = polled.iter().take(NAMED).map(tell).collect();
        match polled.len() - first.len() {
            0 => {}
            1 => first.push("1 more task".to_owned()),
            more => first.push(format!("{more} more tasks")),
        }
        claim.say(&match first.as_slice() {
            [] => format!("ready until worker {name} polled it"),
            first => format!("ready while worker {name} polled {}", first.join(", ")),
        });
        claim.story.object = polled.into_iter().next().map(|(task, _)| task).unwrap_or_default();
        claim
    }

    /// Awaiting: what, and what woke it.
    fn waited(&self, scene: &Scene<'_>) -> (OffCpu, Claim) {
        let mut claim = self.plain();
        let (kind, object, place) = match self.awaited_at() {
            Some((awaited, place)) => (awaited.kind, awaited.object, place),
            None => (OffCpu::Other, "", ""),
        };
        object.clone_into(&mut claim.story.object);
        place.clone_into(&mut claim.story.place);
        match (object, place) {
            ("", _) => {}
            (_, "") => claim.say(&format!("awaited {object}")),
            _ => claim.say(&format!("awaited {object} in {place}")),
        }
        let Some(thread) = self.ended_by.filter(|_| self.is_woken) else {
            claim.say(match self.ended_by {
                Some(_) => "no marker shows what woke it: the time in which it was ready is included",
                None => "not woken before the interval ended",
            });
            return (kind, claim);
        };
        let (at, tasks) = (self.range.stop, scene.queues.tasks());
        let task =
            tasks.running(thread.tid, at).map(|task| format!("{} on ", name_of(task))).unwrap_or_default();
        claim.story.by = format!("{task}{}", tasks.worker_name(scene.comms, thread, at));
        claim.story.role = if kind == OffCpu::Lock { Role::Holder } else { Role::Waker };
        let place = self.waker.as_ref().and_then(CallPath::tell_user);
        let place = place.map_or_else(String::new, |user| format!(", called by {user}"));
        claim.say(&format!("woken by {task}{}{place}", named(scene.comms, thread, at)));
        (kind, claim)
    }
}

/// Whether a worker wakes a task of such a future when a time has come or the kernel has data: it is no thread's doing.
fn is_by_driver(awaited: Awaited) -> bool {
    matches!(awaited.kind, OffCpu::Sleep | OffCpu::Socket)
}

/// The tasks that `worker` polled within `range`, and for how long, longest first.
fn polled_within(worker: ThreadId, range: TscRange, scene: &Scene<'_>) -> Vec<(String, Ticks)> {
    let mut polled: Vec<(String, Ticks)> = Vec::new();
    for (run, task) in scene.queues.tasks().within(worker.tid, range) {
        let name = name_of(task);
        match polled.iter_mut().find(|(known, _)| *known == name) {
            Some((_, ticks)) => ticks.0 += run.ticks().0,
            None => polled.push((name, run.ticks())),
        }
    }
    polled.sort_by_key(|(_, ticks)| Reverse(*ticks));
    polled
}
