//! Garbage collectors by their functions and threads. One table, one row per runtime.
//!
//! Sources: the files named at each row. Go's row was tried on a Go 1.26 program in the emulator, D's on one of GDC 12, Nim's on one of Nim 1.6 (ORC). In samples of
//! programs that collected (`perf record -g`) stood the names of OCaml 4.13, GHC 9.0, Lua 5.4, PHP 8.2, OTP 25, SBCL 2.2.9, Chez Scheme 9.5, R 4.2, and V8 of Node.js 20;
//! of libraries without symbols those that others call. The names of the other runtimes are from their sources alone.
//!
//! A name that other programs may well have (`gc_start`) counts in files of its runtime alone.

/// A runtime's collector. Names match by prefix.
pub(crate) struct Collector {
    /// The collector's name in causes.
    pub(crate) runtime: &'static str,
    /// Functions that collect, with everything that they call.
    pub(crate) functions: &'static [&'static str],
    /// Files, by how their names begin, in which `functions` are the runtime's. Empty: in any.
    pub(crate) files: &'static [&'static str],
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
    files: &[],
    suspends: &[],
    stops: &[],
    yields: &[],
    asked: &[],
    parks: &[],
    threads: &[],
};

const COLLECTORS: [Collector; 24] = [
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
            "v8::internal::MinorMarkCompactCollector::",
            "v8::internal::ConcurrentMarking::",
            "v8::internal::PageEvacuationJob::",
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
    // runtime/minor_gc.c, major_gc.c, compact.c, gc_ctrl.c; since 5.0 domain.c. Not `caml_garbage_collection` and `caml_alloc_small_dispatch`: these also serve
    // signals, and so let another thread have the run-time lock.
    Collector {
        runtime: "ocaml",
        functions: &[
            "caml_minor_collection",
            "caml_empty_minor_heap",
            "caml_stw_empty_minor_heap",
            "caml_major_collection_slice",
            "caml_opportunistic_major_collection_slice",
            "caml_gc_dispatch",
            "caml_gc_compaction",
            "caml_gc_full_major",
            "caml_gc_major",
            "caml_gc_minor",
            "caml_compact_heap",
            "caml_finish_major_cycle",
            "stw_cycle_all_domains",
        ],
        stops: &["stw_handler", "caml_global_barrier"],
        ..NOTHING
    },
    // rts/Schedule.c, rts/Capability.c, rts/sm/GC.c, NonMoving.c
    Collector {
        runtime: "ghc",
        functions: &["scheduleDoGC", "gcWorkerThread", "nonmovingMark", "nonmovingSweep"],
        yields: &["yieldCapability", "waitForCapability"],
        ..NOTHING
    },
    // lgc.c, lapi.c
    Collector {
        runtime: "lua",
        functions: &["luaC_step", "luaC_fullgc", "luaC_forcestep", "lua_gc"],
        ..NOTHING
    },
    // lj_gc.c
    Collector { runtime: "luajit", functions: &["lj_gc_step", "lj_gc_fullgc"], ..NOTHING },
    // Zend/zend_gc.c
    Collector { runtime: "php", functions: &["zend_gc_collect_cycles"], ..NOTHING },
    // erts/emulator/beam/erl_gc.c
    Collector {
        runtime: "erlang",
        functions: &["erts_garbage_collect", "erts_gc_after_bif_call", "erts_internal_garbage_collect"],
        ..NOTHING
    },
    // src/runtime/gencgc.c, gc-common.c, safepoint.c, interrupt.c
    Collector {
        runtime: "sbcl",
        functions: &["garbage_collect_generation", "gc_stop_the_world", "gc_start_the_world"],
        suspends: &["sig_stop_for_gc_handler"],
        ..NOTHING
    },
    Collector { runtime: "sbcl", functions: &["collect_garbage"], files: &["sbcl"], ..NOTHING },
    // c/gcwrapper.c, gc-011.c, gc-ocd.c, gc-oce.c; also of Racket
    Collector { runtime: "chez", functions: &["S_do_gc", "S_gc_011", "S_gc_ocd", "S_gc_oce"], ..NOTHING },
    // src/main/memory.c
    Collector { runtime: "r", functions: &["R_gc"], files: &["libR.so"], ..NOTHING },
    // src/gc.c, since 1.12 gc-stock.c; safepoint.c
    Collector {
        runtime: "julia",
        functions: &[
            "_jl_gc_collect",
            "jl_gc_collect",
            "ijl_gc_collect",
            "jl_parallel_gc_threadfun",
            "jl_concurrent_gc_threadfun",
        ],
        suspends: &["jl_safepoint_wait_gc", "jl_set_gc_and_wait"],
        ..NOTHING
    },
    // Source/JavaScriptCore/heap/Heap.cpp
    Collector {
        runtime: "javascriptcore",
        functions: &[
            "JSC::Heap::collectInMutatorThread",
            "JSC::Heap::collectInCollectorThread",
            "JSC::Heap::runCurrentPhase",
        ],
        ..NOTHING
    },
    // js/src/gc/GC.cpp, Nursery.cpp
    Collector {
        runtime: "spidermonkey",
        functions: &[
            "js::gc::GCRuntime::collect",
            "js::gc::GCRuntime::gcCycle",
            "js::gc::GCRuntime::minorGC",
            "js::Nursery::collect",
        ],
        ..NOTHING
    },
    // runtime/vm/heap/heap.cc, scavenger.cc, marker.cc, sweeper.cc
    Collector {
        runtime: "dart",
        functions: &[
            "dart::Heap::CollectNewSpaceGarbage",
            "dart::Heap::CollectOldSpaceGarbage",
            "dart::Scavenger::Scavenge",
            "dart::ParallelScavengerTask::",
            "dart::ConcurrentMarkTask::",
            "dart::ParallelMarkTask::",
            "dart::ConcurrentSweeperTask::",
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
        functions: &["gc_start", "gc_marks", "gc_sweep", "garbage_collect", "rb_gc_start"],
        files: &["ruby", "libruby"],
        ..NOTHING
    },
    // alloc.c, mark.c, pthread_stop_world.c of the Boehm collector
    Collector {
        runtime: "boehm",
        functions: &[
            "GC_gcollect",
            "GC_try_to_collect",
            "GC_collect_a_little",
            "GC_stopped_mark",
            "GC_stop_world",
            "GC_finish_collection",
        ],
        stops: &["GC_suspend_handler"],
        threads: &["GC-marker-"],
        ..NOTHING
    },
    // mono/sgen/sgen-gc.c, mono/metadata/sgen-mono.c
    Collector {
        runtime: "mono",
        functions: &["sgen_perform_collection", "mono_gc_collect"],
        threads: &["SGen worker"],
        ..NOTHING
    },
];

/// The runtime whose collector is `function` of `file`, with all that it calls. Where the file is unknown, any may be the runtime's.
pub fn collector_of(function: &str, file: Option<&str>) -> Option<&'static str> {
    let name = file.map(|file| file.rsplit('/').next().unwrap_or(file));
    let is_of = |row: &&Collector| {
        let is_begun_by =
            |text: &str, beginnings: &[&str]| beginnings.iter().any(|&one| text.starts_with(one));
        let in_file = name.is_none_or(|name| row.files.is_empty() || is_begun_by(name, row.files));
        in_file && is_begun_by(function, row.functions)
    };
    COLLECTORS.iter().find(is_of).map(|row| row.runtime)
}

/// The runtime whose list `names` holds a prefix of `name`.
pub(crate) fn find(names: fn(&Collector) -> &'static [&'static str], name: &str) -> Option<&'static str> {
    let begins = |row: &&Collector| names(row).iter().any(|beginning| name.starts_with(beginning));
    COLLECTORS.iter().find(begins).map(|row| row.runtime)
}

#[cfg(test)]
mod tests;
