//! Garbage collectors by their functions and threads. One table, one row per runtime.
//!
//! Sources: the files named at each row. Go's row was tried on a Go 1.26 program in the emulator, D's on one of GDC 12, Nim's on one of Nim 1.6 (ORC). The names of the
//! others are tested with synthetic input only.

/// A runtime's collector. Names match by prefix.
pub(crate) struct Collector {
    /// The collector's name in causes.
    pub(crate) runtime: &'static str,
    /// Functions that collect, with everything that they call.
    pub(crate) functions: &'static [&'static str],
    /// Functions in which other threads wait for the collector alone.
    pub(crate) suspends: &'static [&'static str],
    /// Functions in which other threads wait while the collector stops them, or rarely for another reason.
    pub(crate) stops: &'static [&'static str],
    /// Functions in which other threads wait for a processor to run on, because of a collection or not.
    pub(crate) yields: &'static [&'static str],
    /// Functions in which a thread finds that it was asked to yield: its collector asks for that, or a thread that watches for long runs.
    pub(crate) asked: &'static [&'static str],
    /// Functions in which other threads wait for something of their own. A scheduler leaves its callers by a jump, so
    /// what lies further out on the path may be an earlier wait.
    pub(crate) parks: &'static [&'static str],
    /// Names of its threads as the kernel keeps them: 15 characters.
    pub(crate) threads: &'static [&'static str],
}

/// Defaults for the fields that a row leaves out.
const NOTHING: Collector = Collector {
    runtime: "",
    functions: &[],
    suspends: &[],
    stops: &[],
    yields: &[],
    asked: &[],
    parks: &[],
    threads: &[],
};

const COLLECTORS: [Collector; 10] = [
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
        // A goroutine stops for its stack to be scanned (preempt.go, suspendG).
        suspends: &["runtime.preemptPark"],
        stops: &["runtime.gcstopm", "runtime.stopTheWorld"],
        // A goroutine was preempted; it is back from a call. Also `lockedm`s.
        yields: &["runtime.goschedImpl", "runtime.exitsyscallNoP"],
        asked: &["runtime.newstack", "runtime.asyncPreempt2"],
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
    // druntime core/internal/gc/impl/conservative/gc.d (until 2.090 gc/impl/…), core/thread/osthread.d: a signal's handler, which has no
    // name of its own, stops the others; core/internal/spinlock.d: the collector's lock
    Collector {
        runtime: "d",
        functions: &[
            "core.internal.gc.impl.conservative.gc.Gcx.fullcollect",
            "core.internal.gc.impl.conservative.gc.Gcx.collect",
            "core.internal.gc.impl.conservative.gc.Gcx.mark",
            "core.internal.gc.impl.conservative.gc.Gcx.sweep",
            "core.internal.gc.impl.conservative.gc.Gcx.recover",
            "core.internal.gc.impl.conservative.gc.Gcx.scanBackground",
            "gc.impl.conservative.gc.Gcx.fullcollect",
            "gc.impl.conservative.gc.Gcx.mark",
        ],
        suspends: &["core.thread.osthread.callWithStackShell", "thread_suspendHandler"],
        stops: &["core.internal.spinlock.SpinLock."],
        ..NOTHING
    },
    // lib/system/orc.nim (cycles, by `--mm:orc`), gc.nim (`--mm:refc`), gc_ms.nim
    Collector {
        runtime: "nim",
        functions: &[
            "system.GC_fullCollect",
            "system.GC_runOrc",
            "system.GC_partialCollect",
            "system.collectCycles",
            "system.collectCT",
            "system.collectZCT",
            "system.markStackAndRegisters",
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
            // Of a stripped interpreter, by its tables of methods.
            "gc.collect",
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

/// The runtime whose collector contains `function`.
pub(crate) fn runtime_of(function: &str) -> Option<&'static str> {
    find(|row| row.functions, function)
}

/// The runtime whose list `names` holds a prefix of `name`.
pub(crate) fn find(names: fn(&Collector) -> &'static [&'static str], name: &str) -> Option<&'static str> {
    let begins = |row: &&Collector| names(row).iter().any(|beginning| name.starts_with(beginning));
    COLLECTORS.iter().find(begins).map(|row| row.runtime)
}

#[cfg(test)]
mod tests;
