//! Garbage collectors by their functions and threads, and what they cost a thread: their code in it, and its waits for
//! them. One table; a runtime is a row.
//!
//! Sources: the files named at each row. Go's was tried on a program of Go 1.26 in the emulator; the names of the others are
//! format-tested only.

use model::{Cause, Certainty, OffCpu, Segment, TscRange};

use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::examine::Scene;
use crate::offcpu::tell_ns;
use crate::sideband::Sideband;
use crate::timeline::{Stay, Whereabouts, runs_on};
use crate::waker::Wakeup;

/// A runtime's collector. Names count by their beginning.
struct Collector {
    /// As causes name it.
    runtime: &'static str,
    /// Functions that collect, with all that they call.
    functions: &'static [&'static str],
    /// Functions in which other threads wait while it stops them, or seldom for another reason.
    stops: &'static [&'static str],
    /// Functions in which they wait for a processor to run on, because of a collection or not.
    yields: &'static [&'static str],
    /// Functions in which they wait for something of their own. A scheduler leaves its callers by a jump, so that what stands
    /// further out on the way may be an earlier wait.
    parks: &'static [&'static str],
    /// Names of its threads, as the kernel keeps them: 15 characters.
    threads: &'static [&'static str],
}

/// What a row leaves out.
const NOTHING: Collector =
    Collector { runtime: "", functions: &[], stops: &[], yields: &[], parks: &[], threads: &[] };

const COLLECTORS: [Collector; 8] = [
    // src/hotspot/share/gc/{g1,parallel,serial,shared,shenandoah,z}, share/runtime/safepoint.cpp, safepointMechanism.cpp
    Collector {
        runtime: "jvm",
        functions: &[
            "G1CollectedHeap::do_collection_pause",
            "G1CollectedHeap::do_full_collection",
            "G1YoungCollector::collect",
            "G1FullCollector::collect",
            "G1ConcurrentMark::",
            "G1ParEvacuateFollowersClosure::",
            "G1EvacuateRegionsTask::",
            "VM_G1CollectForAllocation::doit",
            "VM_G1TryInitiateConcMark::doit",
            "ParallelScavengeHeap::do_full_collection",
            "PSScavenge::invoke",
            "PSParallelCompact::invoke",
            "GenCollectedHeap::do_collection",
            "SerialHeap::do_collection",
            "DefNewGeneration::collect",
            "ShenandoahConcurrentGC::",
            "ShenandoahFullGC::",
            "ShenandoahDegenGC::",
            "ZDriver::",
            "ZGeneration",
            "ZMark::",
            "ZRelocate::",
        ],
        stops: &[
            "SafepointSynchronize::block",
            "SafepointMechanism::process",
            "SafepointMechanism::block",
            "LinuxWaitBarrier::wait",
        ],
        threads: &[
            "GC Thread#",
            "ParGC Thread#",
            "G1 Main Marker",
            "G1 Conc#",
            "G1 Refine#",
            "G1 Service",
            "Shenandoah",
            "ZDriver",
            "ZWorker",
            "XDriver",
            "XWorker",
        ],
        ..NOTHING
    },
    // src/runtime/mgc.go, mgcmark.go, mgcsweep.go, proc.go; `gcWriteBarrier` is the program's own store
    Collector {
        runtime: "go",
        functions: &[
            "runtime.gcBgMarkWorker",
            "runtime.gcDrain",
            "runtime.gcAssistAlloc",
            "runtime.gcParkAssist",
            "runtime.gcStart",
            "runtime.gcMark",
            "runtime.gcSweep",
            "runtime.gcStopTheWorld",
            "runtime.gcResetMarkState",
            "runtime.markroot",
            "runtime.scanobject",
            "runtime.scanblock",
            "runtime.scanstack",
            "runtime.bgsweep",
            "runtime.bgscavenge",
            "runtime.sweepone",
            "runtime.(*sweepLocked).sweep",
            "runtime.(*mspan).sweep",
        ],
        stops: &["runtime.gcstopm", "runtime.stopTheWorld"],
        // A goroutine was asked to give way; it is back from a call. `lockedm`s, too.
        yields: &["runtime.goschedImpl", "runtime.exitsyscallNoP"],
        parks: &["runtime.park_m", "runtime.goexit0"],
        ..NOTHING
    },
    // src/coreclr/gc/gc.cpp, src/coreclr/vm/threadsuspend.cpp, gcenv.ee.cpp
    Collector {
        runtime: "dotnet",
        functions: &[
            "WKS::gc_heap::",
            "SVR::gc_heap::",
            "WKS::GCHeap::GarbageCollect",
            "SVR::GCHeap::GarbageCollect",
        ],
        stops: &[
            "Thread::RareDisablePreemptiveGC",
            "ThreadSuspend::",
            "WKS::GCHeap::WaitUntilGCComplete",
            "SVR::GCHeap::WaitUntilGCComplete",
        ],
        threads: &[".NET Server GC", ".NET BGC"],
        ..NOTHING
    },
    // src/heap/{heap,mark-compact,scavenger,local-heap}.cc
    Collector {
        runtime: "v8",
        functions: &[
            "v8::internal::Heap::CollectGarbage",
            "v8::internal::Heap::PerformGarbageCollection",
            "v8::internal::MarkCompactCollector::",
            "v8::internal::MinorMarkSweepCollector::",
            "v8::internal::ScavengerCollector::",
            "v8::internal::Scavenger::",
            "v8::internal::IncrementalMarking::",
            "v8::internal::Sweeper::",
            "v8::internal::LocalHeap::SafepointSlowPath",
        ],
        ..NOTHING
    },
    // runtime/minor_gc.c, major_gc.c, domain.c
    Collector {
        runtime: "ocaml",
        functions: &[
            "caml_minor_collection",
            "caml_empty_minor_heap",
            "caml_major_collection_slice",
            "caml_gc_dispatch",
            "caml_finish_major_cycle",
            "caml_garbage_collection",
        ],
        ..NOTHING
    },
    // Modules/gcmodule.c, since 3.13 Python/gc.c
    Collector {
        runtime: "python",
        functions: &[
            "gc_collect_main",
            "gc_collect_generations",
            "gc_collect_young",
            "_PyGC_Collect",
            "PyGC_Collect",
        ],
        ..NOTHING
    },
    // gc.c, since 3.4 gc/default/default.c
    Collector {
        runtime: "ruby",
        functions: &["gc_start", "gc_marks", "gc_sweep", "garbage_collect"],
        ..NOTHING
    },
    // alloc.c, mark.c, pthread_stop_world.c of the Boehm collector; sgen-gc.c of Mono
    Collector {
        runtime: "boehm",
        functions: &[
            "GC_try_to_collect_inner",
            "GC_collect_a_little_inner",
            "GC_stop_world",
            "GC_finish_collection",
        ],
        stops: &["GC_suspend_handler"],
        threads: &["GC-marker-"],
        ..NOTHING
    },
];

/// The runtime whose collector `function` belongs to.
pub(crate) fn runtime_of(function: &str) -> Option<&'static str> {
    find(|row| row.functions, function)
}

fn find(names: fn(&Collector) -> &'static [&'static str], name: &str) -> Option<&'static str> {
    let begins = |row: &&Collector| names(row).iter().any(|beginning| name.starts_with(beginning));
    COLLECTORS.iter().find(begins).map(|row| row.runtime)
}

/// Waits in `claims` that a collector imposed get its name: the thread stands in the collector's own code, or at a
/// safepoint, or is woken by one of its threads, while those ran.
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
        let waker = Wakeup::of(stay, sideband).and_then(|wakeup| wakeup.waker);
        let by_thread =
            waker.and_then(|thread| find(|row| row.threads, &scene.comms.comm(thread, stay.range.stop)));
        let own = user.iter().find_map(|site| runtime_of(&site.function));
        let named = if let Some(runtime) = own {
            Some((runtime, "in its own collection".to_owned()))
        } else {
            let stopped = any(|row| row.stops).or(by_thread).map(|runtime| (runtime, 1));
            let least = tenth(claim.range()).max(1);
            let suspect = stopped.or_else(|| Some((any(|row| row.yields)?, least)));
            suspect.and_then(|(runtime, least)| {
                let by_waker = collected(&claim.during, runtime) >= least;
                let how = by_waker.then(|| "who ended it was collecting".to_owned());
                let ran = || collector_threads(claim.range(), scene).filter(|ran| ran.0 == runtime);
                how.or_else(|| ran().map(|ran| ran.1)).map(|how| (runtime, how))
            })
        };
        if let Some((runtime, how)) = named {
            claim.cause = Cause::Gc(runtime.into());
            claim.certainty = Certainty::Inferred;
            claim.say(&how);
        }
    }
}

/// Ticks that the collector of `runtime` ran in `segments` and below them.
fn collected(segments: &[Segment], runtime: &str) -> u64 {
    let of_one = |segment: &Segment| match &segment.cause {
        Cause::Gc(of) if of == runtime => segment.range.ticks().0,
        _ => collected(&segment.during, runtime),
    };
    segments.iter().map(of_one).sum()
}

/// As much of a wait as a collection must take to be its reason, where nothing else says so.
fn tenth(range: TscRange) -> u64 {
    range.ticks().0 / 10
}

fn is_wait(cause: &Cause) -> bool {
    matches!(cause, Cause::OffCpu(kind) if !matches!(kind, OffCpu::Preempted | OffCpu::Runnable))
}

/// Which collector's threads ran for at least a tenth of `range`, and for how long.
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
