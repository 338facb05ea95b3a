//! What the claims of an absence need of the capture and of the thread's own flow.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::{Cause, Cpu, ThreadId, Tid, TimeConversion, Tsc, TscRange};

use crate::claims::lengths::tell_ns;
use crate::inputs::comms;
use crate::inputs::scene::Scene;
use crate::records::sideband::Sideband;
use crate::threads::stays::runs_on;
use crate::walk::activity::Frame;

/// How many of the threads that ran while it was off are named.
const NAMED: usize = 3;

/// How many runs of a thread, before and after a wait, show on which CPUs it may run.
const RUNS: usize = 256;

/// See the module.
pub(crate) struct Context<'a> {
    /// The capture.
    pub(crate) scene: &'a Scene<'a>,
    /// Its clock: without one no record can be placed in time.
    pub(crate) conversion: TimeConversion,
    /// The sideband around the interval.
    pub(crate) sideband: &'a Sideband,
    /// System calls of the thread's flow, in order of time.
    pub(crate) calls: Vec<&'a Frame>,
    /// Its page faults whose address the flow has, in time order.
    pub(crate) faults: Vec<&'a Frame>,
}

impl<'a> Context<'a> {
    /// For a thread that was in `frames`; `None` where the capture has no clock.
    pub(crate) fn new(
        scene: &'a Scene<'a>,
        sideband: &'a Sideband,
        frames: &'a [Frame],
    ) -> Option<Context<'a>> {
        Some(Context {
            scene,
            conversion: scene.conversion?,
            sideband,
            calls: frames_that(frames, |frame| matches!(&frame.cause, Cause::Syscall(_))),
            faults: frames_that(frames, |frame| frame.address.is_some()),
        })
    }

    /// "12.3 us".
    pub(crate) fn microseconds(&self, range: TscRange) -> String {
        tell_ns(self.conversion.duration_ns(range))
    }

    /// The name and number of `thread`.
    pub(crate) fn named(&self, thread: ThreadId, at: Tsc) -> String {
        comms::named(self.scene.comms, thread, at)
    }

    /// For how many nanoseconds of `range` the idle task ran on `cpu`; `None` for none.
    pub(super) fn idle_within(&self, cpu: Cpu, range: TscRange) -> Option<u64> {
        let idle = self.runs_within(cpu, range).filter(|(thread, _)| thread.is_idle());
        Some(idle.map(|(_, ns)| ns).sum()).filter(|&ns| ns > 0)
    }

    /// "while CPU 0, on which the waiting thread runs, too, was idle for 820.0 us": where another CPU had nothing to run for half of `range`, in which
    /// `thread` was ready to run on `cpu`. The thread ran on it before and does so afterwards, so it was allowed to.
    pub(super) fn idle_elsewhere(&self, thread: Tid, cpu: Cpu, range: TscRange) -> Option<String> {
        let from = self.conversion.to_perf_time(range.start);
        let runs = || self.scene.schedule.of_thread(thread);
        let next = runs().partition_point(|run| run.start < from);
        let earlier: BTreeSet<Cpu> =
            runs().skip(next.saturating_sub(RUNS)).take(next.min(RUNS)).map(|run| run.cpu).collect();
        let later: BTreeSet<Cpu> = runs().skip(next).take(RUNS).map(|run| run.cpu).collect();
        let others = earlier.intersection(&later).filter(|&&other| other != cpu);
        let idle = others.filter_map(|&other| Some((self.idle_within(other, range)?, other)));
        let (ns, other) = idle.max().filter(|&(ns, _)| ns >= self.conversion.duration_ns(range) / 2)?;
        Some(format!(
            "while CPU {other}, on which the waiting thread runs, too, was idle for {}",
            tell_ns(ns)
        ))
    }

    /// From when on the idle task ran on `cpu` for the first time in `range`.
    pub(super) fn idle_from(&self, cpu: Cpu, range: TscRange) -> Option<Tsc> {
        let mut runs = runs_on(self.scene.schedule, cpu, range, self.conversion);
        runs.find(|(thread, _)| thread.is_idle()).map(|(_, on)| on.start)
    }

    /// "comp-cfs (tid 122) for 1.02 ms, … on CPU 1": the threads other than `own` that ran on `cpu` during `range`,
    /// longest first. The idle task does not count; where its switches are not recorded, the records show the thread
    /// itself as running.
    pub(super) fn who_ran(&self, cpu: Cpu, range: TscRange, own: Option<ThreadId>) -> Option<String> {
        let ran = self.others_within(cpu, range, own);
        let tell = |&(thread, ns): &(ThreadId, u64)| {
            let group = comms::of_other_group(self.scene.comms, thread, own, range.start);
            format!("{}{group} for {}", self.named(thread, range.start), tell_ns(ns))
        };
        let mut names: Vec<String> = ran.iter().take(NAMED).map(tell).collect();
        if ran.len() > NAMED {
            let rest: u64 = ran[NAMED..].iter().map(|(_, ns)| ns).sum();
            let others = ran.len() - NAMED;
            let threads = if others == 1 { "thread" } else { "threads" };
            names.push(format!("{others} more {threads} for {}", tell_ns(rest)));
        }
        (!names.is_empty()).then(|| format!("{} on CPU {cpu}", names.join(", ")))
    }

    /// The threads other than `own` and the idle task that ran on `cpu` within `range`, and their nanoseconds, longest first.
    pub(super) fn others_within(
        &self,
        cpu: Cpu,
        range: TscRange,
        own: Option<ThreadId>,
    ) -> Vec<(ThreadId, u64)> {
        let mut ran: Vec<(ThreadId, u64)> = Vec::new();
        let own = own.map(|thread| thread.tid);
        let is_other = |thread: &ThreadId| !thread.is_idle() && Some(thread.tid) != own;
        for (thread, ns) in self.runs_within(cpu, range).filter(|(thread, _)| is_other(thread)) {
            match ran.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, total)) => *total += ns,
                None => ran.push((thread, ns)),
            }
        }
        ran.sort_by_key(|&(thread, ns)| (Reverse(ns), thread));
        ran
    }

    /// The threads that ran on `cpu` within `range`, and for how many nanoseconds of it.
    fn runs_within(&self, cpu: Cpu, range: TscRange) -> impl Iterator<Item = (ThreadId, u64)> {
        let conversion = self.conversion;
        runs_on(self.scene.schedule, cpu, range, conversion)
            .map(move |(thread, on)| (thread, conversion.duration_ns(on)))
    }

    /// The CPU on which thread `tid` runs next.
    pub(super) fn next_cpu(&self, tid: Tid, at: Tsc) -> Option<Cpu> {
        let from = self.conversion.to_perf_time(at);
        let mut runs = self.scene.schedule.of_thread(tid);
        let next = runs.partition_point(|run| run.start < from);
        runs.nth(next).map(|run| run.cpu)
    }
}

/// The wanted ones of `frames`, in time order.
fn frames_that(frames: &[Frame], is_wanted: impl Fn(&Frame) -> bool) -> Vec<&Frame> {
    let mut wanted: Vec<&Frame> = frames.iter().filter(|frame| is_wanted(frame)).collect();
    wanted.sort_by_key(|frame| frame.range.start);
    wanted
}
