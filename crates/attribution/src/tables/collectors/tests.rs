//! Names and the runtimes they belong to.

use super::{collector_of, find};

#[test]
fn functions_belong_to_their_runtimes() {
    for (function, runtime) in [
        ("G1YoungCollector::collect()", Some("jvm")),
        ("runtime.gcBgMarkWorker.func2", Some("go")),
        ("runtime.gcWriteBarrier", None),
        ("runtime.mallocgc", None),
        ("SVR::gc_heap::mark_phase(int)", Some("dotnet")),
        ("caml_empty_minor_heaps_once", Some("ocaml")),
        ("gc_collect_main", Some("python")),
        ("core.internal.gc.impl.conservative.gc.Gcx.fullcollect", Some("d")),
        ("core.internal.gc.impl.conservative.gc.Gcx.smallAlloc", None),
        ("system.collectCyclesBacon", Some("nim")),
        ("system.GC_fullCollect", Some("nim")),
        ("system.registerCycle", None),
        ("collect", None),
        // They serve signals, too: a timer's has another thread run instead.
        ("caml_garbage_collection", None),
        ("caml_alloc_small_dispatch", None),
        ("caml_major_collection_slice", Some("ocaml")),
        ("scheduleDoGC", Some("ghc")),
        ("erts_garbage_collect_nobump", Some("erlang")),
        ("zend_gc_collect_cycles", Some("php")),
        ("v8::internal::ConcurrentMarking::JobTaskMajor::Run", Some("v8")),
        ("S_gc_ocd", Some("chez")),
        ("luaC_step", Some("lua")),
        ("lj_gc_step_jit", Some("luajit")),
    ] {
        assert_eq!(collector_of(function, None), runtime, "{function}");
    }
    assert_eq!(find(|row| row.threads, "GC Thread#3"), Some("jvm"));
    assert_eq!(find(|row| row.threads, "worker"), None);
}

/// Storage engines and SBCL have functions of the same names.
#[test]
fn usual_words_are_a_runtimes_in_its_own_files() {
    for (function, file, runtime) in [
        ("gc_start", "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", Some("ruby")),
        ("garbage_collect", "/usr/bin/ruby3.1", Some("ruby")),
        ("gc_start", "/usr/bin/storaged", None),
        ("garbage_collect", "/opt/ruby/bin/dbus-daemon", None),
        ("gc_start_the_world", "/usr/bin/sbcl", Some("sbcl")),
        ("garbage_collect_generation", "/srv/saved-image", Some("sbcl")),
        ("collect_garbage", "/usr/bin/sbcl", Some("sbcl")),
        ("collect_garbage", "/srv/saved-image", None),
        ("R_gc", "/usr/lib/R/lib/libR.so", Some("r")),
        ("scheduleDoGC", "/srv/app", Some("ghc")),
    ] {
        assert_eq!(collector_of(function, Some(file)), runtime, "{function} of {file}");
    }
}
