//! Collectors in a thread's own code, and in its waits.

use model::{Cause, Ticks, Tsc};
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use super::*;
use crate::records::event::{EventKind, Side};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, record, run, told};

/// A goroutine that allocates must help: the assist with everything it calls is the collector's, the rest is not.
#[test]
fn collection_in_the_thread_itself_is_the_collectors_with_what_it_calls() {
    let table = Table::new(&["entry_SYSCALL_64"], &["main.work", "runtime.gcAssistAlloc", "runtime.memmove"]);
    let mut script = Script::new(&table);
    script
        .block(0, "main.work", 0, BlockEnd::Call)
        .block(1000, "runtime.memmove", 0, BlockEnd::Return)
        .block(2000, "main.work", Script::AFTER, BlockEnd::Call)
        .block(3000, "runtime.gcAssistAlloc", 0, BlockEnd::Call)
        .block(4000, "runtime.memmove", 0, BlockEnd::Return)
        .block(5000, "runtime.gcAssistAlloc", Script::AFTER, BlockEnd::Return)
        .block(6000, "main.work", 0x20 + Script::AFTER, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 9000, LeaveReason::Unknown)]);
    let items = script.items.clone();
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let examined = world.examine(0..7000);
    let collected = |attribution: &model::Attribution| -> u64 {
        let segments =
            attribution.segments().iter().filter(|segment| segment.cause == Cause::Gc("go".into()));
        segments.map(|segment| segment.range.ticks().0).sum()
    };
    let alone = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(collected(&alone), 3000, "{:?}", told(&alone));
    let baseline = world.examine(0..3000);
    let compared = crate::attribute(&examined, &[&baseline], &table).expect("a partition");
    assert_eq!(collected(&compared), 3000, "{:?}", told(&compared));
}

/// What the collector alone lets a thread wait in needs no other evidence; that it yielded does.
#[test]
fn a_thread_that_the_collector_suspends_waits_for_it() {
    let waiting_in = |function: &'static str| {
        let table = Table::new(&["entry_SYSCALL_64"], Box::leak(Box::new(["main.work", function])));
        let mut script = Script::new(&table);
        script.block(0, "main.work", 0, BlockEnd::Call).block(50, function, 0, BlockEnd::FarCall).block(
            950,
            function,
            0x20,
            BlockEnd::Jump,
        );
        let schedule = Schedule::from_runs(vec![
            run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
            run(WORKER, 0, 900, 2000, LeaveReason::Unknown),
        ]);
        let items = script.items.clone();
        let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
        told(&crate::attribute_alone(&world.examine(0..900)).expect("a partition")).pop()
    };
    assert_eq!(waiting_in("runtime.preemptPark"), Some(("runtime.gc.go".to_owned(), 800)));
    assert_eq!(waiting_in("runtime.goschedImpl"), Some(("offcpu.other".to_owned(), 800)));
}

/// D's collector stops a thread in a signal's handler, whose function has no name; its lock is awaited in a sleep.
#[test]
fn who_collected_is_named_where_a_thread_waited_for_it() {
    const USER: &[&str] = &[
        "work",
        "core.thread.osthread.callWithStackShell",
        "core.internal.gc.impl.conservative.gc.Gcx.fullcollect",
    ];
    let table = Table::new(&["entry_SYSCALL_64"], USER);
    let [waits, collects] = [1, 2].map(|at| USER[at]);
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::Call).block(50, waits, 0, BlockEnd::FarCall).block(
        950,
        waits,
        0x20,
        BlockEnd::Jump,
    );
    let mut other = Script::of(&table, WRITER);
    other.block(150, collects, 0, BlockEnd::Jump).block(800, collects, 0x20, BlockEnd::FarCall);
    let waited = wait_for_writer(&table, &script, &other);
    assert_eq!(
        (waited.cause.to_string(), &*waited.story.by),
        ("runtime.gc.d".into(), "writer"),
        "{waited:?}"
    );
}

/// Most of a short wait is what the wake-up costs. A goroutine that yields because it was asked to waits for a collector that had its part of the rest;
/// one that yields by itself waits for whoever runs.
#[test]
fn who_was_asked_to_yield_by_a_collector_waits_for_it() {
    const USER: &[&str] = &[
        "main.work",
        "runtime.newstack",
        "runtime.gosched_m",
        "runtime.goschedImpl",
        "runtime.gcMarkDone.func1",
        "runtime.findRunnable",
    ];
    let table = Table::new(&["entry_SYSCALL_64"], USER);
    let cause_of = |yields: &str| {
        let mut script = Script::new(&table);
        script
            .block(0, "main.work", 0, BlockEnd::Call)
            .block(20, yields, 0, BlockEnd::Call)
            .block(50, "runtime.goschedImpl", 0, BlockEnd::FarCall)
            .block(950, "runtime.goschedImpl", 0x20, BlockEnd::Jump);
        let mut other = Script::of(&table, WRITER);
        other
            .block(150, "runtime.findRunnable", 0, BlockEnd::FarCall)
            .block(160, "entry_SYSCALL_64", 0, BlockEnd::Jump)
            .block(680, "entry_SYSCALL_64", 0x20, BlockEnd::FarReturn)
            .block(700, "runtime.findRunnable", 0x20, BlockEnd::Call)
            .block(710, "runtime.gcMarkDone.func1", 0, BlockEnd::Return)
            .block(740, "runtime.findRunnable", 0x20 + Script::AFTER, BlockEnd::FarCall)
            .block(840, "entry_SYSCALL_64", 0, BlockEnd::Jump);
        wait_for_writer(&table, &script, &other).cause.to_string()
    };
    assert_eq!(cause_of("runtime.newstack"), "runtime.gc.go");
    assert_eq!(cause_of("runtime.gosched_m"), "offcpu.other");
}

/// The worker's wait from 100 to 900, which the writer ends; `other` is what this runs.
fn wait_for_writer(table: &Table, script: &Script<'_>, other: &Script<'_>) -> Segment {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WRITER, 1, 100, 950, LeaveReason::Unknown),
        run(WORKER, 0, 900, 2000, LeaveReason::Unknown),
    ]);
    let target = WORKER.tid;
    let records = vec![record(850, 1, WRITER, Side::Begin, EventKind::Waking { target, by_waker: true })];
    let items = [script.items.clone(), other.items.clone()].concat();
    let world = World { table, schedule, records, items, kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(0..900)).expect("a partition");
    attribution.segments().iter().find(|segment| segment.cpu.is_none()).expect("a wait").clone()
}

/// The worker waits from 100 to 900; a thread with the name `comm` wakes it.
fn waiting(comm: &'static str) -> Vec<(String, u64)> {
    let table = Table::named(&["entry_SYSCALL_64"], &["work"], comm);
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::FarCall).block(950, "work", 0x20, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WRITER, 1, 200, 950, LeaveReason::Unknown),
        run(WORKER, 0, 900, 2000, LeaveReason::Unknown),
    ]);
    let target = WORKER.tid;
    let records = vec![record(850, 1, WRITER, Side::Begin, EventKind::Waking { target, by_waker: true })];
    let items = script.items.clone();
    let world = World { table: &table, schedule, records, items, kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..900)).expect("a partition");
    told(&attribution)
}

#[test]
fn a_wait_that_a_collectors_thread_ends_is_the_collectors() {
    assert_eq!(waiting("GC Thread#0"), expected(&[("runtime.gc.jvm", 750), ("offcpu.runnable", 50)]));
    assert_eq!(waiting("writer"), expected(&[("offcpu.other", 750), ("offcpu.runnable", 50)]));
}

#[test]
fn collection_counts_below_the_waits_of_who_ended_a_wait() {
    let segment = |start: u64, ticks: u64, cause: Cause, during: Vec<Segment>| Segment {
        range: TscRange::new(Tsc(start), Tsc(start + ticks)),
        cpu: None,
        thread: None,
        cause,
        occurrence: 0,
        certainty: Certainty::Decoded,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty: Ticks(0),
        during,
        evidence: Vec::new(),
    };
    let collection = |start, ticks| segment(start, ticks, Cause::Gc("go".into()), Vec::new());
    let lock = segment(0, 500, Cause::OffCpu(OffCpu::Lock), vec![collection(0, 60)]);
    let during = [lock, collection(500, 40)];
    assert_eq!((collected(&during, "go"), collected(&during, "jvm")), (100, 0));
}
