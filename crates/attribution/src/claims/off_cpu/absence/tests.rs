//! Hand-made schedules: what a thread waited for, what ended the wait, what the waker was doing.

use model::{Attribution, Certainty, Evidence, Role, Segment, ThreadId, Tid, Tsc};
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, Script, Table, WORKER, WRITER, World, expected, record, run, told};

mod interrupts;
mod state_d;
mod timeouts;

fn table() -> Table {
    Table::new(&["entry_SYSCALL_64"], &["work"])
}

/// The worker runs on CPU 0 until 100, is off until 500 and runs on CPU 1 until 1000; the writer has CPU 0 while it
/// is off.
fn schedule(leave: LeaveReason) -> Schedule {
    Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, leave),
        run(WRITER, 0, 100, 900, LeaveReason::Slept(Some('S'))),
        run(IDLE, 1, 0, 500, LeaveReason::Preempted),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ])
}

fn world(table: &Table, leave: LeaveReason, records: Vec<SidebandEvent>) -> World<'_> {
    World { table, schedule: schedule(leave), records, items: Vec::new(), kernel_traced: true }
}

fn segments(world: &World<'_>, range: std::ops::Range<u64>) -> Attribution {
    crate::attribute_alone(&world.examine(range)).expect("a partition")
}

fn segment<'a>(attribution: &'a Attribution, cause: &str) -> &'a Segment {
    attribution
        .segments()
        .iter()
        .find(|segment| segment.cause.to_string() == cause)
        .unwrap_or_else(|| panic!("no {cause} in {:?}", told(attribution)))
}

fn call(time: u64, thread: ThreadId, number: u64, argument: u64, side: Side) -> SidebandEvent {
    record(time, 0, thread, side, EventKind::Syscall { number, arguments: vec![argument].into() })
}

fn waking(time: u64, waker: ThreadId) -> SidebandEvent {
    record(time, 0, waker, Side::Begin, EventKind::Waking { target: WORKER.tid, by_waker: true })
}

#[test]
fn preempted_names_who_ran() {
    let table = table();
    let world = world(&table, LeaveReason::Preempted, Vec::new());
    let attribution = segments(&world, 50..600);
    assert_eq!(
        told(&attribution),
        expected(&[("trace.loss", 50), ("offcpu.preempted", 400), ("trace.loss", 100)])
    );
    let preempted = segment(&attribution, "offcpu.preempted");
    assert_eq!(
        preempted.detail,
        "by writer (tid 102) for 0.4 us on CPU 0, moved from CPU 0 to CPU 1, by whom is not recorded"
    );
    assert_eq!((&*preempted.story.by, preempted.story.role), ("writer", Role::Runner));
    let offsets: Vec<_> = preempted.evidence.iter().filter_map(|e: &Evidence| e.file_offset).collect();
    assert_eq!(offsets.iter().map(|offset| offset.0).collect::<Vec<_>>(), [100, 500]);
}

/// The worker is off its CPU from 100 to 1000: the writer and others have it in turn, one for less than a quarter of the time.
#[test]
fn preempted_names_all_that_had_a_good_part() {
    let table = table();
    let named = |parts: &[(ThreadId, u64)]| {
        let mut at = 100;
        let mut runs = vec![run(WORKER, 0, 0, 100, LeaveReason::Preempted)];
        for &(thread, until) in parts {
            runs.push(run(thread, 0, at, until, LeaveReason::Preempted));
            at = until;
        }
        runs.push(run(WORKER, 0, 1000, 1200, LeaveReason::Unknown));
        let schedule = Schedule::from_runs(runs);
        let world =
            World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
        let attribution = segments(&world, 50..1100);
        let story = &segment(&attribution, "offcpu.preempted").story;
        (story.by.clone(), story.besides.clone())
    };
    let other = ThreadId { pid: WORKER.pid, tid: Tid(150) };
    let brief = ThreadId { pid: WORKER.pid, tid: Tid(151) };
    let alone = ("writer".to_owned(), Vec::new());
    assert_eq!(named(&[(WRITER, 1000)]), alone);
    assert_eq!(named(&[(WRITER, 800), (other, 1000)]), alone, "200 of 900");
    let both = ("writer".to_owned(), vec!["clerk-150".to_owned()]);
    assert_eq!(named(&[(other, 350), (WRITER, 800), (brief, 1000)]), both, "250 of 900");
}

/// `futex(0xbeef)` at 90, woken at 300 by the writer in its own `futex()`, in the run queue until 500.
#[test]
fn a_lock_has_its_address_its_waker_and_its_queue() {
    let table = table();
    let records = vec![
        call(90, WORKER, 202, 0xbeef, Side::Begin),
        call(290, WRITER, 202, 0xbeef, Side::Begin),
        waking(300, WRITER),
        call(310, WRITER, 202, 0xbeef, Side::End),
        call(510, WORKER, 202, 0xbeef, Side::End),
    ];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 50..600);
    assert_eq!(
        told(&attribution),
        expected(&[
            ("trace.loss", 40),
            ("kernel.syscall.futex", 10),
            ("offcpu.lock", 200),
            ("offcpu.runnable", 200),
            ("kernel.syscall.futex", 10),
            ("trace.loss", 90),
        ])
    );
    let lock = segment(&attribution, "offcpu.lock");
    assert_eq!(
        lock.detail,
        "in futex() on futex 0xbeef, possible lock holder writer (tid 102), which woke it in futex() on futex 0xbeef"
    );
    let story = &lock.story;
    assert_eq!((&*story.object, &*story.by, story.role), ("futex 0xbeef", "writer", Role::Waker));
    // Below it: the writer's own time from 100 to 300, and not a tick more.
    let during: Vec<_> = lock
        .during
        .iter()
        .map(|part| (part.cause.to_string(), part.range.start.0, part.range.stop.0))
        .collect();
    // The waker's call has not ended when the wait does: whether it ends later is irrelevant to this wait.
    assert_eq!(during.first().map(|part| part.1), Some(100));
    assert_eq!(during.last().map(|part| part.2), Some(300));
    assert!(lock.during.iter().all(|part| part.thread == Some(WRITER)));
}

/// The writer wakes the worker at 95, when it is about to leave; `sched_wakeup` follows on the CPU that it comes to.
#[test]
fn who_is_woken_on_the_way_out_waits_for_nothing() {
    let table = table();
    let mut wakeup = waking(120, IDLE);
    wakeup.kind = EventKind::Waking { target: WORKER.tid, by_waker: false };
    let world = world(&table, LeaveReason::Slept(Some('S')), vec![waking(95, WRITER), wakeup]);
    let attribution = segments(&world, 100..500);
    assert_eq!(told(&attribution), expected(&[("offcpu.runnable", 400)]));
    let runnable = segment(&attribution, "offcpu.runnable");
    assert!(runnable.detail.starts_with("woken by writer (tid 102)"), "{}", runnable.detail);
}

/// Woken at 90, then a sleep from 95 on: the timer's wake-up, in the idle task, is not recorded in a trace of single threads.
#[test]
fn a_wake_up_before_the_call_that_sleeps_ended_another_wait() {
    const NANOSLEEP: u64 = 35;
    let table = table();
    let records = vec![waking(90, WRITER), call(95, WORKER, NANOSLEEP, 0, Side::Begin)];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    assert_eq!(told(&segments(&world, 100..500)), expected(&[("offcpu.sleep", 400)]));
}

/// The writer wakes the worker at 300, in `sendto()`, and the CPU that it comes to records it at 340. At 350, when
/// the interval begins, the worker waits for nothing but its CPU, and the writer is in another call.
#[test]
fn a_wake_up_before_the_interval_ended_the_wait() {
    let table = table();
    let mut wakeup = waking(340, IDLE);
    wakeup.kind = EventKind::Waking { target: WORKER.tid, by_waker: false };
    let records = vec![
        call(90, WORKER, 45, 7, Side::Begin),
        call(290, WRITER, 44, 6, Side::Begin),
        waking(300, WRITER),
        call(310, WRITER, 44, 6, Side::End),
        call(320, WRITER, 45, 6, Side::Begin),
        wakeup,
    ];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 350..500);
    assert_eq!(told(&attribution), expected(&[("offcpu.runnable", 150)]));
    assert_eq!(attribution.segments()[0].detail, "woken by writer (tid 102) in sendto() on fd 6");
}

/// The worker does not come back: where others' wake-ups are recorded, its own would be, too.
#[test]
fn only_where_wake_ups_are_recorded_none_is_none() {
    let table = table();
    let others = EventKind::Waking { target: WRITER.tid, by_waker: true };
    for (records, expected) in [
        (vec![record(200, 0, IDLE, Side::Begin, others)], "not woken before the interval ended"),
        (vec![], "no record of its wake-up, and not on a CPU before the interval ended"),
    ] {
        let runs = vec![run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S')))];
        let schedule = Schedule::from_runs(runs);
        let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
        let attribution = segments(&world, 50..600);
        assert_eq!(segment(&attribution, "offcpu.other").detail, expected);
    }
}

/// The idle task never sleeps: where it leaves its CPU without the flag of a preemption, the kernel knows no such flag
/// (before 4.17), and the worker may have been preempted.
#[test]
fn without_the_flag_of_preemptions_a_wait_is_inferred() {
    let table = table();
    for (idle, certainty, told) in [
        (LeaveReason::Slept(None), Certainty::Inferred, true),
        (LeaveReason::Preempted, Certainty::Measured, false),
    ] {
        let schedule = Schedule::from_runs(vec![
            run(WORKER, 0, 0, 100, LeaveReason::Slept(None)),
            run(WRITER, 0, 100, 500, LeaveReason::Slept(None)),
            run(IDLE, 1, 0, 500, idle),
            run(WORKER, 0, 500, 1000, LeaveReason::Unknown),
        ]);
        let world =
            World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
        let attribution = segments(&world, 100..500);
        let wait = segment(&attribution, "offcpu.other");
        assert_eq!((wait.certainty, wait.detail.contains("or was preempted")), (certainty, told));
    }
}

/// No packet shows the woken CPU's first instruction, but its interrupt's record precedes the record that it is
/// awake: the exit ends there, and both boundaries have its whole length as uncertainty.
#[test]
fn an_exit_from_idle_by_records_ends_with_the_cpus_first() {
    let table = table();
    let idle = |time, side, state| record(time, 1, IDLE, side, EventKind::Idle { state });
    let vector = EventKind::Vector { name: "reschedule".into() };
    let records = vec![
        idle(150, Side::Begin, Some(1)),
        waking(300, WRITER),
        record(360, 1, IDLE, Side::Begin, vector),
        idle(450, Side::End, None),
    ];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 100..500);
    assert_eq!(
        told(&attribution),
        expected(&[("offcpu.other", 200), ("power.c-state-exit.C1", 60), ("offcpu.runnable", 140)])
    );
    let uncertain: Vec<u64> = attribution.segments().iter().map(|part| part.edge_uncertainty.0).collect();
    assert_eq!(uncertain, [0, 60, 60]);
}

/// CPU 1 entered idle at 150; the interrupt that ended that woke the worker, and its record names the CPU.
#[test]
fn a_cpu_that_does_the_waking_is_awake() {
    let table = table();
    let idle = |time, side, state| record(time, 1, IDLE, side, EventKind::Idle { state });
    let mut wake = waking(300, IDLE);
    wake.cpu = Some(model::Cpu(1));
    let woken = EventKind::Waking { target: WORKER.tid, by_waker: false };
    let records = vec![
        idle(150, Side::Begin, Some(1)),
        wake,
        record(340, 1, IDLE, Side::Begin, woken),
        idle(450, Side::End, None),
    ];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    assert_eq!(world.story(100..500), expected(&[("offcpu.other", 200), ("offcpu.runnable", 200)]));
}

/// The CPU was awake when the worker was woken at 300, and still entered idle at 320, until the interrupt at 450.
#[test]
fn a_cpu_that_goes_idle_behind_the_wake_up_is_brought_back_from_then_on() {
    let table = table();
    let idle = |time, side, state| record(time, 1, IDLE, side, EventKind::Idle { state });
    let records = vec![waking(300, WRITER), idle(320, Side::Begin, Some(1)), idle(450, Side::End, None)];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 100..500);
    assert_eq!(
        told(&attribution),
        expected(&[
            ("offcpu.other", 200),
            ("offcpu.runnable", 20),
            ("power.c-state-exit.C1", 130),
            ("offcpu.runnable", 50)
        ])
    );
    let detail = &segment(&attribution, "power.c-state-exit.C1").detail;
    assert_eq!(detail, "CPU 1 was idle, entered idle after the wake-up");
}

#[test]
fn a_timer_that_wakes_is_named_and_stands_below_the_sleep() {
    let table = table();
    let vector = |time, side| record(time, 1, IDLE, side, EventKind::Vector { name: "local_timer".into() });
    let mut wake = waking(300, IDLE);
    wake.cpu = Some(model::Cpu(1));
    let records =
        vec![call(90, WORKER, 230, 0, Side::Begin), vector(295, Side::Begin), wake, vector(310, Side::End)];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 50..600);
    let sleep = segment(&attribution, "offcpu.sleep");
    assert_eq!((sleep.range.start, sleep.range.stop), (Tsc(100), Tsc(300)));
    assert_eq!(sleep.detail, "in clock_nanosleep(), woken by kernel.timer on CPU 1");
    let below: Vec<_> =
        sleep.during.iter().map(|part| (part.cause.to_string(), part.range.ticks().0)).collect();
    assert_eq!(below, expected(&[("offcpu.sleep", 195), ("kernel.timer", 5)]));
    assert_eq!(sleep.during[0].detail, "its timer had not expired");
}

/// CPU 1 entered idle (state 2) at 50 and records at 450 that it is awake; the wake-up was at 300.
#[test]
fn leaving_an_idle_state_is_a_part_of_the_run_queue_wait() {
    let table = table();
    let idle = |time, state: Option<u32>| {
        let side = if state.is_some() { Side::Begin } else { Side::End };
        record(time, 1, IDLE, side, EventKind::Idle { state })
    };
    let records = vec![idle(50, Some(2)), waking(300, WRITER), idle(450, None)];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    assert_eq!(
        world.story(100..500),
        expected(&[("offcpu.other", 200), ("power.c-state-exit.state-2", 150), ("offcpu.runnable", 50)])
    );
    let attribution = segments(&world, 100..500);
    let detail = &segment(&attribution, "power.c-state-exit.state-2").detail;
    assert!(detail.contains("the idle driver's state 2"), "{detail}");
}

/// Its CPU ran only the idle task while it was off with the flag of a preemption: no thread preempted it.
#[test]
fn the_idle_task_preempts_nobody() {
    let table = table();
    let away = |others: &[(ThreadId, u64, u64)]| {
        let mut runs = vec![
            run(WORKER, 0, 0, 100, LeaveReason::Preempted),
            run(WORKER, 0, 500, 1000, LeaveReason::Unknown),
        ];
        runs.extend(others.iter().map(|&(who, from, to)| run(who, 0, from, to, LeaveReason::Unknown)));
        let schedule = Schedule::from_runs(runs);
        let world =
            World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
        let attribution = segments(&world, 100..500);
        let away = &attribution.segments()[0];
        (away.cause.to_string(), away.certainty, away.detail.clone())
    };
    let (cause, certainty, detail) = away(&[(IDLE, 100, 500)]);
    assert_eq!((cause.as_str(), certainty), ("offcpu.runnable", Certainty::Inferred));
    assert!(detail.contains("CPU 0 was idle for 0.4 us"), "{detail}");
    let (cause, certainty, detail) = away(&[(WRITER, 100, 300), (IDLE, 300, 500)]);
    assert_eq!((cause.as_str(), certainty), ("offcpu.preempted", Certainty::Measured));
    assert_eq!(detail, "by writer (tid 102) for 0.2 us on CPU 0, idle for 0.2 us");
}

/// `fsync(7)` and `fsync(8)` at 90: a record has the name of the first one's file.
#[test]
fn a_wait_on_an_open_file_names_it() {
    let table = table();
    for (number, expected) in [(7, "in fsync() on fd 7 (/srv/wal), "), (8, "in fsync() on fd 8, ")] {
        let records = vec![call(90, WORKER, 74, number, Side::Begin), waking(300, WRITER)];
        let world = world(&table, LeaveReason::Slept(Some('D')), records);
        let attribution = segments(&world, 50..600);
        let detail = &segment(&attribution, "offcpu.block-io").detail;
        assert!(detail.starts_with(expected), "{detail}");
    }
}

/// A fault at 90 in a mapped file, by a record or by the packet before it; at 300 the page is there.
#[test]
fn a_page_in_names_the_file_and_the_place_in_it() {
    let table = Table::new(&["asm_exc_page_fault", "filemap_fault"], &["work"]);
    let sleep = LeaveReason::Slept(Some('D'));
    let by_record =
        record(90, 0, WORKER, Side::Begin, EventKind::PageFault { address: 0xa_0010, error_code: None });
    let world_of_record = world(&table, sleep, vec![by_record, waking(300, WRITER)]);
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::FallThrough)
        .event(90, PtKind::EventData { kind: 0, payload: 0xa_0010 })
        .event(90, PtKind::ControlFlowEvent { kind: 1, vector: 14, ip: None })
        .interrupt(90, "asm_exc_page_fault")
        .block(90, "asm_exc_page_fault", 0, BlockEnd::Call)
        .block(95, "filemap_fault", 0, BlockEnd::FallThrough);
    let world_of_flow =
        World { items: script.items.clone(), ..world(&table, sleep, vec![waking(300, WRITER)]) };
    let place = "at address 0xa0010 in /srv/db+0x1010, ";
    // A thread in state D in a fault may as well wait for memory, or for the lock of its address space.
    for (world, cause, how) in [
        (world_of_record, "offcpu.other", "after a page fault"),
        (world_of_flow, "offcpu.block-io", "page-in"),
    ] {
        let attribution = segments(&world, 50..600);
        let wait = segment(&attribution, cause);
        assert!(wait.detail.starts_with(&format!("{how} {place}")), "{}", wait.detail);
    }
}

/// The interval begins when the thread has long been asleep: the call is found where it went to sleep.
#[test]
fn a_wait_that_began_before_the_interval_is_known_by_its_begin() {
    let table = table();
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WORKER, 0, 50_000_000, 60_000_000, LeaveReason::Unknown),
    ]);
    let records = vec![call(90, WORKER, 232, 5, Side::Begin)];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = segments(&world, 40_000_000..50_000_000);
    let poll = segment(&attribution, "offcpu.poll");
    assert!(poll.detail.starts_with("in epoll_wait() on fd 5"), "{}", poll.detail);
    assert!(poll.detail.contains("no record of its wake-up: "), "{}", poll.detail);
}

#[test]
fn a_thread_that_ended_waits_for_nothing() {
    let table = table();
    let world = World {
        table: &table,
        schedule: Schedule::from_runs(vec![run(WORKER, 0, 0, 100, LeaveReason::Exited)]),
        records: Vec::new(),
        items: Vec::new(),
        kernel_traced: true,
    };
    let attribution = segments(&world, 50..600);
    assert_eq!(told(&attribution), expected(&[("trace.loss", 50), ("unexplained", 500)]));
    assert_eq!(attribution.segments()[1].detail, "the thread had ended");
}

/// A and B wake each other alternately: the path back is bounded, each step lies inside the one above.
#[test]
fn a_ring_of_wakers_ends() {
    let table = table();
    let sleep = LeaveReason::Slept(Some('S'));
    let mut runs = Vec::new();
    let mut records = Vec::new();
    for turn in 0..200u64 {
        let (thread, other) = if turn % 2 == 0 { (WORKER, WRITER) } else { (WRITER, WORKER) };
        runs.push(run(thread, 0, turn * 100, turn * 100 + 100, sleep));
        let kind = EventKind::Waking { target: other.tid, by_waker: true };
        records.push(record(turn * 100 + 90, 0, thread, Side::Begin, kind));
    }
    let schedule = Schedule::from_runs(runs);
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = segments(&world, 0..20_000);
    let mut partitions = 0;
    for segment in attribution.segments() {
        partitions += count(segment, 0);
    }
    assert!((1..=24).contains(&partitions), "{partitions} partitions below one interval");
}

/// Counts the partitions below `segment`, and checks that each lies in order and fills the wait.
fn count(segment: &Segment, depth: usize) -> usize {
    assert!(depth <= 3);
    let Some(first) = segment.during.first() else { return 0 };
    assert_eq!(first.range.start, segment.range.start);
    assert_eq!(segment.during.last().map(|last| last.range.stop), Some(segment.range.stop));
    assert!(segment.during.windows(2).all(|pair| pair[0].range.stop == pair[1].range.start));
    1 + segment.during.iter().map(|part| count(part, depth + 1)).sum::<usize>()
}

/// It left CPU 0 and comes onto CPU 1: with others not recorded it may have run there. Where it comes back to the CPU that it left, nothing
/// speaks for that, and nothing excludes it.
#[test]
fn a_thread_may_run_where_nothing_is_recorded() {
    let table = table();
    let mut world = world(&table, LeaveReason::Slept(Some('S')), vec![waking(400, WRITER)]);
    let words = "unless it ran on a CPU that is not recorded";
    let of_wait = |world: &World<'_>, all: bool| {
        let examined = if all { world.examine(50..600) } else { world.examine_on_some_cpus(50..600) };
        let attribution = crate::attribute_alone(&examined).expect("a partition");
        let wait = segment(&attribution, "offcpu.other");
        (wait.certainty, wait.detail.contains(words))
    };
    let certain = of_wait(&world, true);
    assert!(!certain.1);
    assert_eq!(of_wait(&world, false), (certain.0.min(Certainty::Inferred), true));
    world.schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(IDLE, 0, 100, 500, LeaveReason::Preempted),
        run(WORKER, 0, 500, 1000, LeaveReason::Unknown),
    ]);
    assert_eq!(of_wait(&world, false), (Certainty::Inferred, false));
}
