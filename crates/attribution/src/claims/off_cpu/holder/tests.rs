//! Hand-made schedules: a thread that holds a lock and cannot run.

use model::{Pid, ThreadId, Tid};
use perfdata::{LeaveReason, Priority, Run, Schedule};

use crate::records::event::{EventKind, Side};
use crate::testing::script::{Table, WORKER, WRITER, World, record, run};

const HOG: ThreadId = ThreadId { pid: Pid(9), tid: Tid(9) };

fn with_priority(mut run: Run, prio: Option<i32>) -> Run {
    run.priority = prio.map(Priority);
    run
}

/// The worker waits for a futex from 100 to 1000 on CPU 1. The writer holds it: on CPU 0 until 200, off until 900
/// because the hog runs, and back to release the lock at 1000. Priorities of worker, hog and writer.
fn told(priorities: [Option<i32>; 3], hog_ran_until: u64) -> String {
    let table = Table::new(&[], &["work"]);
    let [of_worker, of_hog, of_writer] = priorities;
    let schedule = Schedule::from_runs(vec![
        with_priority(run(WORKER, 1, 0, 100, LeaveReason::Slept(Some('S'))), of_worker),
        with_priority(run(WORKER, 1, 1000, 1200, LeaveReason::Unknown), of_worker),
        with_priority(run(WRITER, 0, 0, 200, LeaveReason::Preempted), of_writer),
        with_priority(run(HOG, 0, 200, hog_ran_until, LeaveReason::Slept(Some('S'))), of_hog),
        with_priority(run(WRITER, 0, hog_ran_until, 1200, LeaveReason::Unknown), of_writer),
    ]);
    let call = EventKind::Syscall { number: 202, arguments: vec![0xbeef, 0].into() };
    let wake = EventKind::Waking { target: WORKER.tid, by_waker: true };
    let records = vec![record(90, 1, WORKER, Side::Begin, call), record(999, 0, WRITER, Side::Begin, wake)];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..1000)).expect("a partition");
    let wait = &attribution.segments()[0];
    assert_eq!(wait.cause.to_string(), "offcpu.lock");
    wait.detail.clone()
}

/// Real-time priority 50 (`prio` 49) waits for nice 0 (120), which real-time priority 10 (89) keeps off its CPU.
#[test]
fn a_priority_inversion_names_who_kept_the_holder_off_its_cpu() {
    let told = told([Some(49), Some(89), Some(120)], 900);
    let expected = "the waking thread was kept off CPU 0 for 0.7 us by writer (tid 9, real-time priority 10): priority \
                    inversion, for the waiting thread has real-time priority 50, the waking one nice 0";
    assert!(told.ends_with(expected), "{told}");
}

/// Of equal priority, less urgent than the holder, or unknown: it kept the holder off its CPU, and that is all.
#[test]
fn without_an_inversion_only_who_ran_is_said() {
    for (priorities, class) in [
        ([Some(120), Some(120), Some(120)], ", nice 0"),
        ([Some(89), Some(49), Some(120)], ", real-time priority 50"),
        ([None, None, None], ""),
    ] {
        let told = told(priorities, 900);
        let expected = format!("the waking thread was kept off CPU 0 for 0.7 us by writer (tid 9{class})");
        assert!(told.ends_with(&expected), "{told}");
    }
}

/// 0.02 of 0.9 us is no reason.
#[test]
fn a_moment_off_its_cpu_is_not_worth_a_word() {
    let told = told([Some(49), Some(89), Some(120)], 220);
    assert!(!told.contains("kept off"), "{told}");
}
