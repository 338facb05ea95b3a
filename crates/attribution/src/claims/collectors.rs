//! `runtime.gc.*` in a thread's waits: those that a garbage collector caused.
//!
//! Input: the claims of waits and the path into them. Output: the same claims, named after the collector of
//! [`crate::tables::collectors`]. Certainty: inferred.

use model::{Cause, Certainty, OffCpu, Role, Segment, TscRange};

use crate::claims::claim::Claim;
use crate::claims::lengths::tell_ns;
use crate::inputs::scene::Scene;
use crate::records::sideband::Sideband;
use crate::tables::collectors::{Collector, find};
use crate::threads::stays::{Stay, Whereabouts, runs_on};
use crate::threads::wakeup::Wakeup;
use crate::walk::call_path::CallPath;

/// Waits in `claims` that a collector caused get its name: the thread is in the collector's own code or at a
/// safepoint, or one of the collector's threads wakes it, while those threads ran.
pub(crate) fn name_waits(
    claims: &mut [Claim],
    stays: &[Stay],
    paths: &[CallPath],
    sideband: &Sideband,
    scene: &Scene<'_>,
) {
    for stay in stays.iter().filter(|stay| matches!(stay.place, Whereabouts::OffCpu(_))) {
        let of_stay = |claim: &&mut Claim| claim.range().start == stay.range.start && is_wait(&claim.cause);
        let Some(claim) = claims.iter_mut().find(of_stay) else { continue };
        let user = CallPath::at_end(paths, stay.range.start).map_or(&[][..], |path| &path.user[..]);
        let near: Vec<&str> = (user.iter().rev().map(|site| &*site.function))
            .take_while(|function| find(|row| row.parks, function).is_none())
            .collect();
        let any = |names: fn(&Collector) -> &'static [&'static str]| {
            near.iter().find_map(|function| find(names, function))
        };
        let waker = Wakeup::of(stay, sideband, scene.functions).and_then(|wakeup| wakeup.thread());
        let by_thread =
            waker.and_then(|thread| find(|row| row.threads, &scene.comms.comm(thread, stay.range.stop)));
        let own = user.iter().find_map(|site| site.collector);
        let named = if let Some(runtime) = own {
            Some((runtime, "in its own collection".to_owned()))
        } else if let Some(runtime) = any(|row| row.suspends) {
            Some((runtime, "suspended by the collector".to_owned()))
        } else {
            let stopped = any(|row| row.stops).or(by_thread).map(|runtime| (runtime, 1));
            let tenth = tenth(claim.range());
            // A tenth of what the waker worked, unless it worked almost not at all.
            let asked = any(|row| row.asked).map(|_| (worked(&claim.during) / 10).max(tenth / 10));
            let least = asked.unwrap_or(tenth).max(1);
            let suspect = stopped.or_else(|| Some((any(|row| row.yields)?, least)));
            suspect.and_then(|(runtime, least)| {
                let by_waker = collected(&claim.during, runtime) >= least;
                let how = by_waker.then(|| match claim.story.role {
                    Role::Beside => "another thread was running the GC".to_owned(),
                    _ => "the waking thread was running the GC".to_owned(),
                });
                let ran = || collector_threads(claim.range(), scene).filter(|ran| ran.0 == runtime);
                how.or_else(|| ran().map(|ran| ran.1)).map(|how| (runtime, how))
            })
        };
        if let Some((runtime, how)) = named {
            claim.cause = Cause::Gc(runtime.into());
            claim.certainty = Certainty::Inferred;
            claim.say(&how);
            // Whom else a collection wakes, or who ends it, did not collect.
            if own.is_some() || collected(&claim.during, runtime) == 0 {
                claim.story.by.clear();
            }
        }
    }
}

/// The ticks for which the collector of `runtime` ran in `segments` and below them.
fn collected(segments: &[Segment], runtime: &str) -> u64 {
    ticks_of(segments, &|cause| matches!(cause, Cause::Gc(of) if of == runtime))
}

/// The ticks of the user code in `segments` and below them: the rest of a short wait is what passing it on takes.
fn worked(segments: &[Segment]) -> u64 {
    let is_user_code = |cause: &Cause| {
        matches!(
            cause,
            Cause::Gc(_)
                | Cause::UserExpected
                | Cause::UserExtraWork
                | Cause::UserSlower(_)
                | Cause::UserSpin
        )
    };
    ticks_of(segments, &is_user_code)
}

/// The ticks of the segments whose cause `counts`; of the others, those of what ran during it.
fn ticks_of(segments: &[Segment], counts: &impl Fn(&Cause) -> bool) -> u64 {
    let of_one = |segment: &Segment| {
        if counts(&segment.cause) { segment.range.ticks().0 } else { ticks_of(&segment.during, counts) }
    };
    segments.iter().map(of_one).sum()
}

/// How much of a wait a collection must take to be its reason, without other evidence.
fn tenth(range: TscRange) -> u64 {
    range.ticks().0 / 10
}

fn is_wait(cause: &Cause) -> bool {
    match cause {
        Cause::OffCpu(kind) => !matches!(kind, OffCpu::Preempted | OffCpu::Runnable),
        cause => matches!(cause, Cause::Idle(_)),
    }
}

/// The collector whose threads ran for at least a tenth of `range`, and for how long.
fn collector_threads(range: TscRange, scene: &Scene<'_>) -> Option<(&'static str, String)> {
    let conversion = scene.conversion?;
    let mut longest: Option<(u64, &'static str, String)> = None;
    for cpu in scene.schedule.cpus() {
        let runs = runs_on(scene.schedule, cpu, range, conversion);
        for (thread, inside) in runs.filter(|(thread, _)| !thread.is_idle()) {
            let comm = scene.comms.comm(thread, inside.start);
            if let Some(runtime) = find(|row| row.threads, &comm)
                && longest.as_ref().is_none_or(|known| inside.ticks().0 > known.0)
            {
                longest = Some((inside.ticks().0, runtime, comm));
            }
        }
    }
    let (ticks, runtime, comm) = longest.filter(|(ticks, ..)| *ticks >= tenth(range))?;
    let ns = conversion.ticks_to_ns(model::Ticks(ticks));
    Some((runtime, format!("{comm} ran for {} of it", tell_ns(ns))))
}

#[cfg(test)]
mod tests;
