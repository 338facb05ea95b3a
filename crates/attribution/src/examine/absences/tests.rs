//! Hand-made records: waits for a lock that a timer ends, of `CPython`'s interpreter and between attempts.

use model::{Certainty, Role, Segment};
use perfdata::{LeaveReason, Schedule};

use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::testing::script::{IDLE, Table, WORKER, WRITER, World, made_within, record, run};

const KERNEL: &[&str] = &["schedule", "futex_wait_queue", "hrtimer_wakeup", "do_nanosleep"];
const USER: &[&str] = &[
    "PyEval_RestoreThread",
    "take_gil",
    "pthread_cond_timedwait",
    "main",
    "flush",
    "core.internal.spinlock.SpinLock.lock",
    "nanosleep",
];

/// The worker waits from 100 to 600; the writer, of the same process, runs on CPU 1 `until` then. The record of the wake-up is made there.
fn wait(path: &[&str], until: u64, interrupt: Option<Within>) -> Segment {
    let table = Table::new(KERNEL, USER);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(IDLE, 0, 100, 610, LeaveReason::Preempted),
        run(WORKER, 0, 610, 1200, LeaveReason::Unknown),
        run(WRITER, 1, 0, until, LeaveReason::Preempted),
        run(IDLE, 1, until, 1200, LeaveReason::Unknown),
    ]);
    let mut left = record(100, 0, WORKER, Side::Begin, EventKind::SwitchOut);
    left.chain = path.iter().map(|function| table.start(function) + 8).collect();
    let woken = EventKind::Waking { target: WORKER.tid, by_waker: true };
    let by = if interrupt.is_some() { IDLE } else { WRITER };
    let cpu = u32::from(interrupt.is_none());
    let woken = record(600, cpu, by, Side::Begin, woken);
    let timer = |time, side| record(time, 0, IDLE, side, EventKind::Vector { name: "local_timer".into() });
    let records: Vec<SidebandEvent> = match interrupt {
        Some(within) => vec![
            left,
            made_within(Within::Thread, timer(590, Side::Begin)),
            made_within(within, woken),
            timer(605, Side::End),
        ],
        None => vec![left, woken],
    };
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..1000)).expect("a partition");
    attribution.segments()[0].clone()
}

const GIL: &[&str] =
    &["schedule", "futex_wait_queue", "pthread_cond_timedwait", "take_gil", "PyEval_RestoreThread"];
const OTHER: &[&str] = &["schedule", "futex_wait_queue", "pthread_cond_timedwait", "flush", "main"];

#[test]
fn a_wait_for_the_gil_that_timed_out_has_the_holder_that_ran() {
    let timed_out = wait(GIL, 700, Some(Within::Interrupt));
    assert_eq!((&*timed_out.story.object, &*timed_out.story.by), ("the GIL", "writer"), "{timed_out:?}");
    assert_eq!((timed_out.story.role, timed_out.certainty), (Role::Beside, Certainty::Inferred));
    let expected = "writer (tid 102), which ran during this time, may have held it";
    assert!(timed_out.detail.contains(expected), "{}", timed_out.detail);
}

const BETWEEN: &[&str] =
    &["schedule", "do_nanosleep", "nanosleep", "core.internal.spinlock.SpinLock.lock", "flush"];

/// The lock may be let go long before the sleep is over.
#[test]
fn a_sleep_between_two_attempts_waits_for_the_lock() {
    for until in [120, 700] {
        let slept = wait(BETWEEN, until, Some(Within::Interrupt));
        assert_eq!((slept.cause.to_string(), slept.certainty), ("offcpu.lock".into(), Certainty::Inferred));
        assert_eq!((&*slept.story.by, slept.story.role), ("writer", Role::Beside), "{slept:?}");
        assert!(slept.detail.contains("between two attempts to take a lock"), "{}", slept.detail);
    }
    // What runs later runs without the lock, or took it when this thread slept.
    let later = wait(BETWEEN, 0, Some(Within::Interrupt));
    assert_eq!(later.story.by, "kernel.timer", "{later:?}");
    let slept = wait(&["schedule", "do_nanosleep", "nanosleep", "flush"], 300, Some(Within::Interrupt));
    assert_eq!(slept.cause.to_string(), "offcpu.sleep");
    assert!(!slept.detail.contains("have held it"), "{}", slept.detail);
}

/// Where no thread ran for most of the wait, where it is another lock, and where its holder ended the wait.
#[test]
fn other_waits_have_no_such_holder() {
    for other in [
        wait(GIL, 300, Some(Within::Interrupt)),
        wait(OTHER, 700, Some(Within::Interrupt)),
        wait(GIL, 700, None),
    ] {
        assert!(!other.detail.contains("have held it"), "{}", other.detail);
    }
}
