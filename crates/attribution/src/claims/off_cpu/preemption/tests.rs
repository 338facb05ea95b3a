//! Hand-made schedules: a thread that was preempted on one CPU and runs on another one.

use model::{Cpu, Segment, ThreadId, Tid};
use perfdata::{LeaveReason, Run, Schedule};

use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::testing::script::{IDLE, Table, WORKER, WRITER, World, made_within, record, run};

/// Another thread, of another process.
const CONFIG: ThreadId = ThreadId { pid: model::Pid(300), tid: Tid(300) };

/// One that runs on the new CPU.
const OTHER: ThreadId = ThreadId { pid: model::Pid(9), tid: Tid(9) };

/// The worker is preempted on CPU 0 at 100 and runs on CPU 1 from 500 on. Between 100 and 500 the CPUs run these.
fn segments(others: Vec<Run>, records: Vec<SidebandEvent>) -> Vec<Segment> {
    let table = Table::new(&[], &["work"]);
    let mut runs =
        vec![run(WORKER, 0, 0, 100, LeaveReason::Preempted), run(WORKER, 1, 500, 1000, LeaveReason::Unknown)];
    runs.extend(others);
    let schedule = Schedule::from_runs(runs);
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    crate::attribute_alone(&world.examine(100..500)).expect("a partition").segments().to_vec()
}

fn told(segments: &[Segment]) -> Vec<(String, u64, String)> {
    let tell = |part: &Segment| (part.cause.to_string(), part.range.ticks().0, part.detail.clone());
    segments.iter().map(tell).collect()
}

fn ran(thread: ThreadId, cpu: u32, start: u64, stop: u64) -> Run {
    run(thread, cpu, start, stop, LeaveReason::Preempted)
}

fn migration(time: u64, cpu: u32, by: ThreadId) -> SidebandEvent {
    let kind = EventKind::Migration { target: WORKER.tid, from: Cpu(0), to: Cpu(1) };
    record(time, cpu, by, Side::Begin, kind)
}

/// The writer preempts the worker; CPU 0 becomes idle at 300, so the worker is no longer on its run queue.
#[test]
fn idle_time_of_a_cpu_that_the_thread_has_left_is_not_its_wait() {
    let others = || vec![ran(WRITER, 0, 100, 300), ran(IDLE, 0, 300, 500), ran(CONFIG, 1, 0, 500)];
    let found = told(&segments(others(), Vec::new()));
    assert_eq!(found.len(), 1, "{found:?}");
    let (cause, _, detail) = &found[0];
    assert_eq!(cause, "offcpu.preempted");
    assert_eq!(
        detail,
        "by writer (tid 102) for 0.2 us on CPU 0, moved from CPU 0 to CPU 1, by whom is not recorded, runnable \
         behind writer (tid 300) for 0.2 us on CPU 1"
    );
}

/// CPU 0 is idle as soon as the worker has left it: no thread preempted the worker there.
#[test]
fn a_thread_that_was_moved_at_once_was_behind_who_ran_on_the_new_cpu() {
    let others = vec![ran(IDLE, 0, 100, 500), ran(CONFIG, 1, 0, 500)];
    let found = told(&segments(others, Vec::new()));
    assert_eq!(found[0].0, "offcpu.runnable");
    assert!(!found[0].2.contains("idle"), "{found:?}");
    assert!(found[0].2.ends_with("runnable behind writer (tid 300) for 0.4 us on CPU 1"), "{found:?}");
}

/// A record of the migration divides the time: CPU 1 pulls the worker at 260, in its softirq or when it has nothing
/// else to run; or another thread changes the CPUs on which the worker may run.
#[test]
fn a_recorded_migration_names_its_reason_and_divides_the_time() {
    let affinity = |of, whom| {
        let kind = EventKind::Syscall { number: 203, arguments: vec![whom, 8].into() };
        record(250, 2, of, Side::Begin, kind)
    };
    let balanced = made_within(Within::Softirq, migration(260, 1, CONFIG));
    for (records, by) in [
        (vec![balanced], "by load balancing on CPU 1"),
        (
            vec![made_within(Within::Thread, migration(260, 1, IDLE))],
            "by load balancing on CPU 1, which became idle",
        ),
        (
            vec![affinity(CONFIG, 101), migration(260, 0, WRITER)],
            "by sched_setaffinity() of writer (tid 300)",
        ),
        (vec![affinity(WORKER, 0), migration(260, 0, WRITER)], "by its own sched_setaffinity()"),
        (vec![affinity(CONFIG, 7), migration(260, 0, WRITER)], "by writer (tid 102)"),
    ] {
        let others = vec![ran(WRITER, 0, 100, 300), ran(IDLE, 0, 300, 500), ran(CONFIG, 1, 0, 500)];
        let behind = "runnable behind writer (tid 300) for 0.2 us on CPU 1";
        let found = segments(others, records);
        let short = by.split(", ").next().unwrap_or(by);
        let without_number = short.split(" (").next().unwrap_or(short);
        assert_eq!(found[1].story.object, format!("moved to CPU 1 {without_number}"));
        assert_eq!(
            told(&found),
            [
                ("offcpu.preempted".to_owned(), 160, "by writer (tid 102) for 0.2 us on CPU 0".to_owned()),
                ("offcpu.runnable".to_owned(), 240, format!("moved from CPU 0 to CPU 1 {by}, {behind}")),
            ]
        );
    }
}

/// A thread that stays on its CPU is not moved.
#[test]
fn who_comes_back_to_its_cpu_was_not_moved() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Preempted),
        ran(WRITER, 0, 100, 500),
        run(WORKER, 0, 500, 1000, LeaveReason::Unknown),
    ]);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..500)).expect("a partition");
    assert_eq!(attribution.segments()[0].detail, "by writer (tid 102) for 0.4 us on CPU 0");
}

/// The worker waits for CPU 0 from 100 to 500. It ran on CPU 1 before, and again afterwards where it `comes_back`; CPU 1 is idle from
/// `idle_from` on.
#[test]
fn an_idle_cpu_that_it_might_have_used_is_named() {
    let table = Table::new(&[], &["work"]);
    let detail = |comes_back: bool, idle_from: u64| {
        let mut runs = vec![
            run(WORKER, 1, 0, 40, LeaveReason::Preempted),
            run(WORKER, 0, 50, 100, LeaveReason::Preempted),
            ran(WRITER, 0, 100, 500),
            run(WORKER, 0, 500, 1000, LeaveReason::Preempted),
            ran(CONFIG, 1, 50, idle_from),
            ran(IDLE, 1, idle_from, 1000),
        ];
        runs.extend(comes_back.then(|| run(WORKER, 1, 1100, 1200, LeaveReason::Unknown)));
        let schedule = Schedule::from_runs(runs);
        let world =
            World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
        let attribution = crate::attribute_alone(&world.examine(100..500)).expect("a partition");
        attribution.segments()[0].detail.clone()
    };
    let by = "by writer (tid 102) for 0.4 us on CPU 0";
    assert_eq!(
        detail(true, 100),
        format!("{by}, while CPU 1, on which the waiting thread runs, too, was idle for 0.4 us")
    );
    // It may no longer have been allowed to; and most of the time another thread ran there.
    assert_eq!(detail(false, 100), by);
    assert_eq!(detail(true, 350), by);
}

/// The worker sleeps on CPU 0, is woken there at 200 by the writer on CPU 2, which first places it (from CPU 3, where it
/// had been, to CPU 0), and waits there for another thread to leave until CPU 1 pulls it at 100,300; it runs there at 100,500.
#[test]
fn a_woken_thread_that_is_moved_waits_on_two_run_queues() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        ran(CONFIG, 0, 100, 200_000),
        ran(WRITER, 2, 0, 200_000),
        ran(OTHER, 1, 0, 100_500),
        run(WORKER, 1, 100_500, 101_000, LeaveReason::Unknown),
    ]);
    let moved = |time, cpu, by, from, to| {
        let kind = EventKind::Migration { target: WORKER.tid, from: Cpu(from), to: Cpu(to) };
        record(time, cpu, by, Side::Begin, kind)
    };
    let wake = EventKind::Waking { target: WORKER.tid, by_waker: true };
    let records = vec![
        record(200, 2, WRITER, Side::Begin, wake),
        moved(201, 2, WRITER, 3, 0),
        made_within(Within::Softirq, moved(100_300, 1, OTHER, 0, 1)),
    ];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..100_500)).expect("a partition");
    let behind = "moved from CPU 0 to CPU 1 by load balancing on CPU 1, runnable behind writer (tid 9) for 0.2 us on CPU 1";
    assert_eq!(
        told(&attribution.segments()[1..]),
        [
            (
                "offcpu.runnable".to_owned(),
                100_100,
                "woken by writer (tid 102), runnable behind writer (tid 300) for 100.1 us on CPU 0"
                    .to_owned()
            ),
            ("offcpu.runnable".to_owned(), 200, behind.to_owned()),
        ]
    );
}
