//! Hand-made records: the worker's event loop reads a request and sleeps until the writer, a thread of its pool, has done a job.

use model::Segment;
use perfdata::{LeaveReason, Schedule};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, Table, WORKER, WRITER, World, record, run};

const KERNEL: &[&str] = &["schedule", "ep_poll", "do_epoll_wait", "eventfd_write"];
const USER: &[&str] = &["uv_async_send", "uv_run", "epoll_wait", "write", "other_send"];

const READ: u64 = 0;
const WRITE: u64 = 1;
const EPOLL_WAIT: u64 = 232;

fn call(
    thread: model::ThreadId,
    begin: u64,
    end: u64,
    (number, descriptor, result): (u64, u64, u64),
) -> [SidebandEvent; 2] {
    let kind = |argument| EventKind::Syscall { number, arguments: vec![argument].into() };
    [record(begin, 1, thread, Side::Begin, kind(descriptor)), record(end, 1, thread, Side::End, kind(result))]
}

/// The loop's wait from 100 to 600. It had read a request at 40; the pool's thread was woken at `woken`, said at `done` that a job was done,
/// and again at 600 in `sends`.
fn wait(woken: u64, done: Option<u64>, sends: &str) -> Segment {
    let table = Table::new(KERNEL, USER);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(IDLE, 0, 100, 610, LeaveReason::Preempted),
        run(WORKER, 0, 610, 1200, LeaveReason::Unknown),
        run(WRITER, 1, woken, 1200, LeaveReason::Preempted),
    ]);
    let chain = |functions: &[&str]| functions.iter().map(|function| table.start(function) + 8).collect();
    let waking = |time, cpu, by, target: model::ThreadId| {
        record(time, cpu, by, Side::Begin, EventKind::Waking { target: target.tid, by_waker: true })
    };
    let mut left = record(100, 0, WORKER, Side::Begin, EventKind::SwitchOut);
    left.chain = chain(&["schedule", "ep_poll", "do_epoll_wait", "epoll_wait", "uv_run"]);
    let mut ended = waking(600, 1, WRITER, WORKER);
    ended.chain = chain(&["eventfd_write", "write", sends]);
    let mut records = vec![waking(woken, 0, WORKER, WRITER), left, ended];
    records.extend(call(WORKER, 40, 45, (READ, 7, 6)));
    records.extend(call(WORKER, 90, 620, (EPOLL_WAIT, 5, 1)));
    records.extend(done.into_iter().flat_map(|at| call(WRITER, at - 10, at, (WRITE, 9, 8))));
    records.extend(call(WRITER, 590, 605, (WRITE, 9, 8)));
    records.sort_by_key(|record| record.time);
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..1000)).expect("a partition");
    attribution.segments()[0].clone()
}

#[test]
fn the_loop_waits_for_its_own_job_or_after_others() {
    let own = wait(50, None, "uv_async_send");
    assert_eq!((&*own.story.object, &*own.story.by), ("a job of its thread pool", "writer"), "{own:?}");
    // At another job when the request came, which was done at 300.
    let queued = wait(20, Some(300), "uv_async_send");
    assert_eq!(queued.story.object, "a job of its thread pool, queued after others");
    assert!(queued.detail.contains("whose thread was at another one for"), "{}", queued.detail);
    // It has been at this job since 20: no job of the request's.
    let earlier = wait(20, None, "uv_async_send");
    assert_eq!(earlier.story.object, "its thread pool, busy with an earlier job");
}

/// A thread that wakes the loop otherwise is no pool's.
#[test]
fn other_wake_ups_are_no_jobs() {
    let other = wait(20, Some(300), "other_send");
    assert!(!other.detail.contains("pool") && !other.story.object.contains("pool"), "{other:?}");
}
