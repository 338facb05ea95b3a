//! Hand-made records: the worker's event loop reads a request, hands it to the writer, a thread of its pool, and serves another client.

use model::{Details, Segment};
use perfdata::{LeaveReason, Schedule};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Table, WORKER, WRITER, World, interval, record, run};

const READ: u64 = 0;
const WRITE: u64 = 1;
const EPOLL_WAIT: u64 = 232;

/// Begin, end, number, descriptor and result of a call.
type Called = (u64, u64, u64, u64, u64);

fn calls(thread: model::ThreadId, calls: &[Called]) -> Vec<SidebandEvent> {
    let kind = |number, argument| EventKind::Syscall { number, arguments: vec![argument].into() };
    let both = |&(begin, end, number, descriptor, result): &Called| {
        [
            record(begin, 0, thread, Side::Begin, kind(number, descriptor)),
            record(end, 0, thread, Side::End, kind(number, result)),
        ]
    };
    calls.iter().flat_map(both).collect()
}

/// The waits for events of the request by descriptor 7, read at 45, where the loop and the pool's thread made these calls; the loop's last
/// one ends the request.
fn waits(of_loop: &[Called], of_pool: &[Called], connection: Option<u32>) -> Vec<Segment> {
    let records = [calls(WORKER, of_loop), calls(WRITER, of_pool)].concat();
    waits_by(records, of_loop.last().expect("a call").1, connection)
}

/// The same, of a request that was answered at `stop`.
fn waits_by(records: Vec<SidebandEvent>, stop: u64, connection: Option<u32>) -> Vec<Segment> {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 2000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 2000, LeaveReason::Unknown),
    ]);
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let request = interval(45..stop).with(Details { connection, ..Details::default() });
    let attribution = crate::attribute_alone(&world.examine_interval(&request)).expect("a partition");
    let polls = attribution.segments().iter().filter(|segment| segment.cause.to_string() == "offcpu.poll");
    polls.cloned().collect()
}

/// The other client's request is read at 115 and answered at 595; the job is done at 600.
const ONE_JOB: [Called; 7] = [
    (40, 45, READ, 7, 36),
    (100, 110, EPOLL_WAIT, 5, 1),
    (112, 115, READ, 8, 7),
    (590, 595, WRITE, 8, 9),
    (596, 610, EPOLL_WAIT, 5, 1),
    (611, 613, READ, 9, 8),
    (700, 720, WRITE, 7, 65),
];
const DONE: [Called; 1] = [(600, 605, WRITE, 9, 8)];

#[test]
fn what_the_loop_does_while_the_pool_has_the_request_is_a_wait() {
    let waits_of = |connection| waits(&ONE_JOB, &DONE, connection);
    let [wait] = &waits_of(Some(7))[..] else { panic!("not one wait") };
    assert_eq!((wait.range.start.0, wait.range.stop.0), (100, 600));
    assert_eq!((&*wait.story.object, &*wait.story.by), ("a job of its thread pool", "writer"));
    assert!(wait.detail.contains("its event loop ran for 0.5 us of it"), "{}", wait.detail);
    assert!(!wait.during.is_empty());
    // The same time as an interval of the program's own, and the request of another descriptor.
    assert!(waits_of(None).is_empty() && waits_of(Some(8)).is_empty());
    // No thread of the pool wrote there.
    assert!(waits(&ONE_JOB, &[], Some(7)).is_empty());
}

/// Two jobs of one request, by the same thread, one after the other: the first part of the answer is written while the second job is done.
#[test]
fn two_jobs_of_a_request_follow_each_other() {
    let of_loop = [
        (40, 45, READ, 7, 36),
        (100, 310, EPOLL_WAIT, 5, 1),
        (311, 313, READ, 9, 8),
        (350, 380, WRITE, 7, 65),
        (390, 620, EPOLL_WAIT, 5, 1),
        (621, 623, READ, 9, 8),
        (700, 720, WRITE, 7, 65),
    ];
    let of_pool = [(300, 305, WRITE, 9, 8), (600, 605, WRITE, 9, 8)];
    let found = |woken: Option<u64>| {
        let waking = EventKind::Waking { target: WRITER.tid, by_waker: true };
        let woken = woken.map(|at| record(at, 0, WORKER, Side::Begin, waking));
        let records =
            [calls(WORKER, &of_loop), calls(WRITER, &of_pool), woken.into_iter().collect()].concat();
        let found = waits_by(records, 720, Some(7)).into_iter();
        found.map(|wait| (wait.range.start.0, wait.range.stop.0, wait.story.object)).collect::<Vec<_>>()
    };
    let (own, queued) = ("a job of its thread pool", "a job of its thread pool, queued after others");
    assert_eq!(found(None), [(100, 300, own.to_owned()), (300, 600, queued.to_owned())]);
    // The thread slept until the first part was written: the loop is at the request until it waits again.
    assert_eq!(found(Some(385)), [(100, 300, own.to_owned()), (390, 600, own.to_owned())]);
}
