//! Waits that end because their own time is up: `pthread_cond_timedwait`, `poll` with a limit.

use model::Certainty;
use perfdata::{LeaveReason, Schedule};

use super::{call, segment, segments, table, waking, world};
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, WORKER, WRITER, record, run};

const FUTEX: u64 = 202;
const POLL: u64 = 7;
/// -110, as a register has it.
const ETIMEDOUT: u64 = 0xffff_ffff_ffff_ff92;

/// The worker's call of `number` from 90 on, which returns `result` at 510.
fn calls(number: u64, arguments: &[u64], result: u64) -> Vec<SidebandEvent> {
    let begin = EventKind::Syscall { number, arguments: arguments.to_vec().into() };
    vec![record(90, 0, WORKER, Side::Begin, begin), call(510, WORKER, number, result, Side::End)]
}

fn waits(records: Vec<SidebandEvent>) -> (String, String, Certainty) {
    let table = table();
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 50..600);
    let is_wait = |cause: &str| cause.starts_with("offcpu.") && cause != "offcpu.runnable";
    let wait = attribution.segments().iter().find(|part| is_wait(&part.cause.to_string())).expect("a wait");
    (wait.cause.to_string(), wait.detail.clone(), wait.certainty)
}

/// The wake-up was in the idle task, and has no record.
#[test]
fn a_futex_call_that_says_so_slept() {
    let (cause, detail, certainty) = waits(calls(FUTEX, &[0xbeef, 137], ETIMEDOUT));
    assert_eq!((&*cause, certainty), ("offcpu.sleep", Certainty::Measured));
    assert!(
        detail.starts_with(
            "in futex(FUTEX_WAIT_BITSET_PRIVATE) on futex 0xbeef, until its timeout expired, no record"
        ),
        "{detail}"
    );
}

#[test]
fn a_futex_call_that_was_woken_waited() {
    for result in [0, 0xffff_ffff_ffff_fff5] {
        let (cause, detail, _) = waits(calls(FUTEX, &[0xbeef, 137], result));
        assert_eq!(cause, "offcpu.lock");
        assert!(!detail.contains("timeout"), "{detail}");
    }
}

/// `FUTEX_LOCK_PI` takes a lock or gives it up.
#[test]
fn who_gives_up_a_lock_waited_for_it() {
    let (cause, detail, _) = waits(calls(FUTEX, &[0xbeef, 6], ETIMEDOUT));
    assert_eq!(cause, "offcpu.lock");
    assert!(detail.contains("until its timeout expired"), "{detail}");
}

/// No calls are recorded but the begin: the timer's interrupt made the wake-up.
#[test]
fn a_timer_wakes_no_one_else_from_a_futex() {
    let vector = |time, side| record(time, 1, IDLE, side, EventKind::Vector { name: "local_timer".into() });
    let mut wake = waking(300, IDLE);
    wake.cpu = Some(model::Cpu(1));
    let begin = call(90, WORKER, FUTEX, 0xbeef, Side::Begin);
    let (cause, _, certainty) = waits(vec![begin, vector(295, Side::Begin), wake, vector(310, Side::End)]);
    assert_eq!((&*cause, certainty), ("offcpu.sleep", Certainty::Inferred));
}

/// Without a descriptor `poll` only sleeps; with one it waited for it.
#[test]
fn poll_sleeps_where_it_watches_no_file() {
    for (files, result, expected, timed_out) in [
        (0, 0, "offcpu.sleep", true),
        (2, 0, "offcpu.poll", true),
        (2, 1, "offcpu.poll", false),
        // Interrupted by a signal.
        (0, 0xffff_ffff_ffff_fffc, "offcpu.poll", false),
    ] {
        let (cause, detail, _) = waits(calls(POLL, &[0x7000, files, 10], result));
        assert_eq!(cause, expected, "{files} {result}");
        assert_eq!(detail.contains("until its timeout expired"), timed_out, "{detail}");
    }
}

/// Woken for nothing at 300 by the writer, the worker sleeps again, from 60,500 to 60,700: only then is its time up.
#[test]
fn only_the_last_sleep_of_a_call_ends_with_its_time() {
    let table = table();
    let records = vec![
        call(90, WORKER, FUTEX, 0xbeef, Side::Begin),
        waking(300, WRITER),
        call(60_710, WORKER, FUTEX, ETIMEDOUT, Side::End),
    ];
    let mut world = world(&table, LeaveReason::Slept(Some('S')), records);
    world.schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WRITER, 0, 100, 61_000, LeaveReason::Slept(Some('S'))),
        run(WORKER, 1, 500, 60_500, LeaveReason::Slept(Some('S'))),
        run(WORKER, 1, 60_700, 61_000, LeaveReason::Unknown),
    ]);
    let attribution = segments(&world, 50..60_800);
    let lock = segment(&attribution, "offcpu.lock");
    assert_eq!((lock.range.start.0, lock.range.stop.0), (100, 300));
    let sleep = segment(&attribution, "offcpu.sleep");
    assert_eq!((sleep.range.start.0, sleep.range.stop.0), (60_500, 60_700));
}
