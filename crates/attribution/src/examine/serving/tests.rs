use model::{Certainty, Story, Ticks};

use super::*;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{WORKER, WRITER, record};
use Part::{Between, NotRun, OwnWork, Waits};

pub(super) const READ: u64 = 0;
pub(super) const WRITE: u64 = 1;
pub(super) const EPOLL_WAIT: u64 = 232;

/// The writer's calls: begin, end, number, descriptor, result; and those of another thread of its process.
pub(super) fn sideband(
    calls: &[(u64, u64, u64, u64, u64)],
    of_other: &[(u64, u64, u64, u64, u64)],
) -> Sideband {
    let mut events: Vec<SidebandEvent> = Vec::new();
    for (thread, calls) in [(WRITER, calls), (WORKER, of_other)] {
        for &(begin, end, number, descriptor, result) in calls {
            let kind = |argument| EventKind::Syscall { number, arguments: vec![argument].into() };
            events.push(record(begin, 0, thread, Side::Begin, kind(descriptor)));
            events.push(record(end, 0, thread, Side::End, kind(result)));
        }
    }
    Sideband::new(events)
}

pub(super) fn segment(start: u64, stop: u64, cause: Cause) -> Segment {
    Segment {
        range: TscRange::new(Tsc(start), Tsc(stop)),
        cpu: None,
        thread: Some(WRITER),
        cause,
        occurrence: 0,
        certainty: Certainty::Measured,
        detail: String::new(),
        story: Story::default(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

/// The parts of `during`, in a wait from 100 to 200 that ended at 195.
pub(super) fn parts(
    calls: &[(u64, u64, u64, u64, u64)],
    during: &[(u64, u64, Cause)],
) -> Vec<(Option<Part>, String)> {
    parts_beside(&[], calls, during)
}

/// The same, beside the calls of another thread of its process.
fn parts_beside(
    others: &[(u64, u64, u64, u64, u64)],
    calls: &[(u64, u64, u64, u64, u64)],
    during: &[(u64, u64, Cause)],
) -> Vec<(Option<Part>, String)> {
    let segments = marked(&sideband(calls, others), during).into_iter();
    segments.map(|segment| (segment.story.part, segment.story.object)).collect()
}

/// Where the segments of `during` begin in which the request was read.
fn taken(calls: &[(u64, u64, u64, u64, u64)], during: &[(u64, u64, Cause)]) -> Vec<u64> {
    let segments = marked(&sideband(calls, &[]), during).into_iter();
    segments.filter(|segment| segment.story.takes).map(|segment| segment.range.start.0).collect()
}

/// `during` with its parts, in a wait from 100 to 200 that ended at 195.
fn marked(sideband: &Sideband, during: &[(u64, u64, Cause)]) -> Vec<Segment> {
    let wait = TscRange::new(Tsc(100), Tsc(200));
    let mut segments: Vec<Segment> =
        during.iter().map(|(start, stop, cause)| segment(*start, *stop, cause.clone())).collect();
    if let Some(serving) = Serving::of(WRITER, wait, Tsc(195), sideband) {
        serving.mark(&mut segments, wait, |_| String::new());
    }
    segments
}

pub(super) fn part(part: Part) -> (Option<Part>, String) {
    (Some(part), String::new())
}

/// It slept in `epoll_wait` until the request came, read it, worked, and answered.
#[test]
fn a_plain_answer_is_its_own_work() {
    let calls = [(50, 110, EPOLL_WAIT, 5, 1), (120, 125, READ, 7, 38), (190, 199, WRITE, 7, 8)];
    let during = [
        (100, 108, Cause::OffCpu(OffCpu::Poll)),
        (108, 110, Cause::OffCpu(OffCpu::Runnable)),
        (110, 120, Cause::UserExpected),
        (120, 125, Cause::Syscall("read".into())),
        (125, 190, Cause::UserExpected),
        (190, 200, Cause::Syscall("write".into())),
    ];
    let expected = [Between, NotRun, Between, OwnWork, OwnWork, OwnWork].map(part);
    assert_eq!(parts(&calls, &during), expected);
}

/// The client goes to sleep after the server has read the request: what the server then waits for is no longer that. After an answer it
/// is, until the next request is read, which may come in two parts.
#[test]
fn a_request_may_be_read_before_the_wait() {
    let before = [(50, 80, EPOLL_WAIT, 5, 1), (90, 95, READ, 7, 38), (97, 150, EPOLL_WAIT, 5, 1)];
    let answer = (190, 199, WRITE, 7, 8);
    let during = [(100, 150, Cause::OffCpu(OffCpu::Poll)), (150, 190, Cause::UserExpected)];
    assert_eq!(parts(&[&before[..], &[answer]].concat(), &during), [Waits, OwnWork].map(part));
    let parted = [(150, 155, READ, 7, 4), (160, 165, READ, 7, 30)];
    let next = [&before[..2], &[(96, 97, WRITE, 7, 8), (98, 150, EPOLL_WAIT, 5, 1)], &parted, &[answer]];
    let during = [(100, 150, Cause::OffCpu(OffCpu::Poll)), (156, 160, Cause::OffCpu(OffCpu::Poll))];
    assert_eq!(parts(&next.concat(), &during), [Between, Waits].map(part));
    // It comes and goes by a pair of pipes.
    let by_pipes = [(50, 55, READ, 7, 38), (60, 62, WRITE, 4, 8), (70, 150, EPOLL_WAIT, 5, 1)];
    let by_pipes = [&by_pipes[..], &parted, &[(190, 199, WRITE, 4, 8)]].concat();
    assert_eq!(parts(&by_pipes, &during), [Between, Waits].map(part));
}

/// It was busy with fd 9 when the wait began; the answers to both are written at the end.
#[test]
fn work_for_others_comes_first() {
    let calls =
        [(80, 90, READ, 9, 30), (150, 155, READ, 7, 38), (180, 185, WRITE, 9, 8190), (190, 199, WRITE, 7, 8)];
    let during = [
        (100, 150, Cause::UserExpected),
        (150, 180, Cause::UserExpected),
        (180, 186, Cause::Syscall("write".into())),
        (186, 200, Cause::UserExpected),
    ];
    let others = (Some(Part::OthersFirst), "fd 9: 8190 bytes out".to_owned());
    let expected = [others.clone(), part(OwnWork), others, part(OwnWork)];
    assert_eq!(parts(&calls, &during), expected);
}

/// A job of its pool was done, or a timer expired: it reads nothing, and works for whom it then writes to; in the second turn first for
/// another one.
#[test]
fn what_it_does_without_a_read_is_for_whom_it_writes_to() {
    let calls = [
        (80, 85, READ, 9, 30),
        (101, 103, READ, 7, 38),
        (105, 130, EPOLL_WAIT, 5, 1),
        (150, 155, WRITE, 9, 8),
        (190, 199, WRITE, 7, 8),
    ];
    let during = [
        (103, 105, Cause::UserExpected),
        (105, 130, Cause::OffCpu(OffCpu::Poll)),
        (130, 150, Cause::UserExpected),
        (155, 190, Cause::UserExpected),
    ];
    let others = (Some(Part::OthersFirst), "fd 9: 8 bytes out".to_owned());
    assert_eq!(parts(&calls, &during), [part(OwnWork), part(Waits), others, part(OwnWork)]);
}

/// Its request is a job of the pool, after one of another client: what the loop does for that one in the time delays nothing, until the
/// pool's thread writes to the eventfd that the job is done. Then another one is served first.
#[test]
fn what_it_does_while_the_pool_has_the_request_is_a_wait() {
    let calls = [
        (80, 85, READ, 9, 30),
        (101, 103, READ, 7, 38),
        (105, 120, EPOLL_WAIT, 3, 1),
        (121, 122, READ, 11, 8),
        (140, 145, WRITE, 9, 8),
        (146, 170, EPOLL_WAIT, 3, 1),
        (171, 172, READ, 11, 8),
        (173, 178, WRITE, 9, 8),
        (190, 199, WRITE, 7, 8),
    ];
    let during = [
        (103, 105, Cause::UserExpected),
        (105, 120, Cause::OffCpu(OffCpu::Poll)),
        (122, 140, Cause::UserExpected),
        (146, 170, Cause::OffCpu(OffCpu::Poll)),
        (172, 173, Cause::UserExpected),
        (178, 190, Cause::UserExpected),
    ];
    let others = (Some(Part::OthersFirst), "fd 9: 16 bytes out".to_owned());
    let pool = [(118, 119, WRITE, 11, 8), (160, 161, WRITE, 11, 8)];
    let expected = [OwnWork, Waits, Waits, Waits].map(part).into_iter();
    let expected: Vec<_> = expected.chain([others.clone(), part(OwnWork)]).collect();
    assert_eq!(parts_beside(&pool, &calls, &during), expected);
    // No thread wrote there, or it is read in the turn in which it is answered.
    assert_eq!(parts(&calls, &during)[2], others);
    let taken_late = [&calls[..1], &calls[2..7], &[(174, 175, READ, 7, 38)], &calls[8..]].concat();
    assert_eq!(parts_beside(&pool, &taken_late, &during)[2].0, Some(Part::OthersFirst));
}

/// The request is passed on to another server by fd 8, whose answer comes back there.
const PASSED_ON: [(u64, u64, u64, u64, u64); 5] = [
    (102, 104, READ, 7, 38),
    (110, 112, WRITE, 8, 38),
    (115, 160, EPOLL_WAIT, 5, 1),
    (162, 164, READ, 8, 500),
    (190, 199, WRITE, 7, 500),
];

fn check_passed_on(before: &[(u64, u64, u64, u64, u64)]) {
    let during = [
        (104, 115, Cause::UserExpected),
        (115, 160, Cause::OffCpu(OffCpu::Poll)),
        (164, 190, Cause::UserExpected),
    ];
    assert_eq!(parts(&[before, &PASSED_ON].concat(), &during), [OwnWork, Waits, OwnWork].map(part));
}

#[test]
fn what_a_request_is_passed_on_to_belongs_to_it() {
    check_passed_on(&[]);
}

/// Code without a file, such as a JIT compiler's: for whom it ran is known by the calls around it.
#[test]
fn code_that_cannot_be_decoded_is_somebody_s_work() {
    let calls = [
        (102, 104, READ, 9, 30),
        (150, 155, WRITE, 9, 400),
        (160, 162, READ, 7, 38),
        (190, 199, WRITE, 7, 8),
    ];
    let during = [(104, 150, Cause::TraceLoss), (162, 190, Cause::TraceLoss), (199, 200, Cause::Unexplained)];
    let others = (Some(Part::OthersFirst), "fd 9: 30 bytes in, 400 bytes out".to_owned());
    assert_eq!(parts(&calls, &during), [others, part(OwnWork), (None, String::new())]);
}

/// Connections to another server are kept open, and used for one client's request and then for another's.
#[test]
fn a_connection_to_a_server_is_used_for_one_request_after_another() {
    check_passed_on(&[
        (10, 12, READ, 9, 30),
        (14, 16, WRITE, 8, 30),
        (20, 30, EPOLL_WAIT, 5, 1),
        (32, 34, READ, 8, 500),
        (40, 42, WRITE, 9, 500),
        (44, 101, EPOLL_WAIT, 5, 1),
    ]);
}

/// It waits until the connection that it opens is there; during this time another client's request comes.
#[test]
fn a_connection_is_for_the_request_that_opened_it() {
    const CONNECT: u64 = 42;
    const SOCKET: u64 = 41;
    let in_progress = (-115_i64).cast_unsigned();
    let calls = [
        (102, 104, READ, 7, 38),
        (106, 107, SOCKET, 2, 12),
        (108, 109, CONNECT, 12, in_progress),
        (110, 120, EPOLL_WAIT, 5, 1),
        (122, 124, READ, 9, 30),
        (126, 127, WRITE, 12, 38),
        (128, 130, WRITE, 9, 400),
        (132, 160, EPOLL_WAIT, 5, 1),
        (162, 164, READ, 12, 500),
        (190, 199, WRITE, 7, 500),
    ];
    let during = [
        (104, 106, Cause::UserExpected),
        (124, 126, Cause::UserExpected),
        (132, 160, Cause::OffCpu(OffCpu::Poll)),
        (164, 190, Cause::UserExpected),
    ];
    let others = (Some(Part::OthersFirst), "fd 9: 30 bytes in, 400 bytes out".to_owned());
    assert_eq!(parts(&calls, &during), [part(OwnWork), others, part(Waits), part(OwnWork)]);
}

/// It connects to another server for each request, by a number that a client had before; a file is read in between.
#[test]
fn what_a_number_stands_for_is_known_by_the_calls_that_made_it() {
    const OPENAT: u64 = 257;
    const CLOSE: u64 = 3;
    const CONNECT: u64 = 42;
    const SOCKET: u64 = 41;
    let calls = [
        (10, 12, READ, 8, 30),
        (14, 16, WRITE, 8, 30),
        (17, 18, CLOSE, 8, 0),
        (102, 104, READ, 7, 38),
        (105, 106, OPENAT, 0, 9),
        (107, 108, READ, 9, 300),
        (108, 109, SOCKET, 2, 8),
        (110, 111, CONNECT, 8, 0),
        (112, 113, WRITE, 8, 38),
        (115, 160, EPOLL_WAIT, 5, 1),
        (162, 164, READ, 8, 500),
        (190, 199, WRITE, 7, 500),
    ];
    let during = [
        (109, 112, Cause::UserExpected),
        (112, 113, Cause::Syscall("write".into())),
        (115, 160, Cause::OffCpu(OffCpu::Poll)),
        (164, 190, Cause::UserExpected),
    ];
    assert_eq!(parts(&calls, &during), [OwnWork, OwnWork, Waits, OwnWork].map(part));
}

/// A server with a thread for each connection sleeps in the read itself.
#[test]
fn asleep_in_the_read_it_waits_for_the_request() {
    let calls = [(50, 120, READ, 7, 38), (190, 199, WRITE, 7, 8)];
    let during = [
        (100, 115, Cause::OffCpu(OffCpu::Socket)),
        (115, 120, Cause::Syscall("read".into())),
        (120, 150, Cause::OffCpu(OffCpu::Lock)),
        (150, 190, Cause::UserExpected),
    ];
    assert_eq!(parts(&calls, &during), [Between, OwnWork, Waits, OwnWork].map(part));
}

/// A client of a Unix socket is woken when its request is read, for its buffer is free: the server had served another one before.
#[test]
fn a_request_that_is_taken_ends_a_wait_too() {
    let calls = [(80, 90, READ, 9, 30), (150, 155, WRITE, 9, 400), (190, 199, READ, 7, 38)];
    let during = [(100, 150, Cause::UserExpected), (192, 199, Cause::Syscall("read".into()))];
    let others = (Some(Part::OthersFirst), "fd 9: 400 bytes out".to_owned());
    assert_eq!(parts(&calls, &during), [others, part(OwnWork)]);
}

/// A wake-up by a futex, and one by a thread that had read nothing, are no answers that can be divided.
#[test]
fn without_a_request_there_are_no_parts() {
    let during = [(100, 200, Cause::UserExpected)];
    for calls in [&[(102, 104, READ, 7, 38), (190, 199, 202, 7, 1)][..], &[(190, 199, WRITE, 7, 8)]] {
        assert_eq!(parts(calls, &during), [(None, String::new())]);
    }
}

/// The answer goes by another descriptor than the request came by; an eventfd is read in between.
#[test]
fn an_answer_by_another_descriptor_is_for_what_was_read_last() {
    let calls = [(102, 104, READ, 7, 38), (110, 112, READ, 10, 8), (190, 199, WRITE, 4, 8)];
    let during = [(104, 110, Cause::UserExpected), (112, 190, Cause::UserExpected)];
    assert_eq!(parts(&calls, &during), [OwnWork, OwnWork].map(part));
}

/// A database's latch: a signal comes by a signalfd in the middle of the work.
#[test]
fn events_are_no_requests() {
    let calls = [
        (102, 104, READ, 7, 38),
        (110, 150, EPOLL_WAIT, 5, 1),
        (151, 153, READ, 10, 128),
        (190, 199, WRITE, 7, 8),
    ];
    let during = [
        (104, 110, Cause::UserExpected),
        (110, 150, Cause::OffCpu(OffCpu::Poll)),
        (160, 190, Cause::OffCpu(OffCpu::Lock)),
    ];
    assert_eq!(parts(&calls, &during), [OwnWork, Waits, Waits].map(part));
}

/// It is read at 120 to 125, by a thread that slept in the read, in two pieces, or before the wait began; what another server
/// answered is not the request.
#[test]
fn a_request_is_taken_where_it_is_read() {
    let read = || Cause::Syscall("read".into());
    let during = [
        (100, 110, Cause::OffCpu(OffCpu::Poll)),
        (110, 120, Cause::UserExpected),
        (120, 122, read()),
        (122, 123, Cause::Timer),
        (123, 125, read()),
        (125, 200, Cause::UserExpected),
    ];
    let answer = (190, 199, WRITE, 7, 8);
    assert_eq!(taken(&[(50, 108, EPOLL_WAIT, 5, 1), (120, 125, READ, 7, 38), answer], &during), [120]);
    assert_eq!(taken(&[(50, 125, READ, 7, 38), answer], &during[2..]), [120]);
    assert_eq!(taken(&[(90, 95, READ, 7, 38), answer], &during), Vec::<u64>::new());
    let asked = [(80, 82, READ, 7, 38), (84, 86, WRITE, 8, 38), (120, 125, READ, 8, 500), answer];
    assert_eq!(taken(&asked, &during), Vec::<u64>::new());
}
