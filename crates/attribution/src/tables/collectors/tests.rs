//! Names and the runtimes they belong to.

use super::{find, runtime_of};

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
    ] {
        assert_eq!(runtime_of(function), runtime, "{function}");
    }
    assert_eq!(find(|row| row.threads, "GC Thread#3"), Some("jvm"));
    assert_eq!(find(|row| row.threads, "worker"), None);
}
