//! Each rule on system calls written by hand.

use model::{Pid, Tid};
use proptest::prelude::*;

use super::*;

const READ: u64 = 0;
const WRITE: u64 = 1;
const CLOSE: u64 = 3;
const SOCKET: u64 = 41;
const CONNECT: u64 = 42;
const SENDTO: u64 = 44;
const RECVFROM: u64 = 45;
const EXECVE: u64 = 59;
const EPOLL_WAIT: u64 = 232;
const OPENAT: u64 = 257;
const ACCEPT4: u64 = 288;
const EVENTFD2: u64 = 290;
const IO_URING_ENTER: u64 = 426;

/// The server's only thread, and others of its process.
const MAIN: ThreadId = ThreadId { pid: Pid(10), tid: Tid(10) };
const FIRST: ThreadId = ThreadId { pid: Pid(10), tid: Tid(11) };
const SECOND: ThreadId = ThreadId { pid: Pid(10), tid: Tid(12) };

/// Calls one after the other; each lasts from its time to five ticks later.
struct Calls<'m>(Processes<'m>);

impl Calls<'_> {
    fn enter(&mut self, at: u64, thread: ThreadId, number: u64, argument: u64) -> &mut Self {
        self.0.entered(thread, Tsc(at), number, Some(argument));
        self
    }

    fn exit(&mut self, at: u64, thread: ThreadId, number: u64, result: i64) -> &mut Self {
        self.0.returned(thread, Tsc(at), number, result, FileOffset(at));
        self
    }

    fn call(&mut self, at: u64, thread: ThreadId, number: u64, argument: u64, result: i64) -> &mut Self {
        self.enter(at, thread, number, argument).exit(at + 5, thread, number, result)
    }
}

/// The requests of `calls`, whoever reads them.
fn found(calls: impl FnOnce(&mut Calls<'_>)) -> Requests {
    let mut following = Calls(Processes::new(&|_, _| true));
    calls(&mut following);
    following.0.finish()
}

/// Begin, end, bytes read and written of each.
fn turns(found: &Requests) -> Vec<(u64, u64, u64, u64)> {
    let turn = |one: &AnsweredRequest| (one.range.start.0, one.range.stop.0, one.bytes.0, one.bytes.1);
    found.answered.iter().map(turn).collect()
}

/// The calls of one thread: time, number, first argument, result.
fn of_thread(calls: &[(u64, u64, u64, i64)]) -> Requests {
    found(|script| {
        for &(at, number, argument, result) in calls {
            script.call(at, MAIN, number, argument, result);
        }
    })
}

#[test]
fn a_request_lasts_from_the_return_of_its_read_to_the_return_of_the_write() {
    let found = of_thread(&[
        (10, ACCEPT4, 3, 7),
        (20, EPOLL_WAIT, 5, 1),
        (30, READ, 7, 38),
        (50, WRITE, 7, 12),
        (60, EPOLL_WAIT, 5, 1),
    ]);
    let expected = AnsweredRequest {
        range: TscRange::new(Tsc(35), Tsc(55)),
        reader: MAIN,
        writer: MAIN,
        descriptor: 7,
        listening: Some(3),
        bytes: (38, 12),
        record: FileOffset(55),
    };
    assert_eq!(found.answered, [expected]);
    assert_eq!(found.left_out, LeftOut::default());
    assert_eq!(found.readers, BTreeMap::from([(MAIN, (1, Tsc(35)))]));
}

/// Three reads, two writes, the next request; reads and writes that would block move nothing.
#[test]
fn several_reads_are_one_request_and_several_writes_one_answer() {
    let found = of_thread(&[
        (10, READ, 7, 100),
        (20, READ, 7, 50),
        (30, READ, 7, -11),
        (40, EPOLL_WAIT, 5, 1),
        (50, RECVFROM, 7, 5),
        (60, WRITE, 7, 1000),
        (70, WRITE, 7, -11),
        (80, EPOLL_WAIT, 5, 1),
        (90, SENDTO, 7, 24),
        (100, READ, 7, 10),
        (110, WRITE, 7, 9),
    ]);
    assert_eq!(turns(&found), [(15, 95, 155, 1024), (105, 115, 10, 9)]);
}

/// Two clients' requests are read before either is answered.
#[test]
fn requests_of_two_connections_overlap() {
    let found = of_thread(&[(10, READ, 7, 30), (20, READ, 8, 31), (30, WRITE, 7, 9), (40, WRITE, 8, 10)]);
    assert_eq!(turns(&found), [(15, 35, 30, 9), (25, 45, 31, 10)]);
}

/// The answer of the second was not written, and the number then stands for a third client's connection.
#[test]
fn a_close_ends_and_what_is_not_answered_is_counted() {
    let found = of_thread(&[
        (10, ACCEPT4, 3, 7),
        (20, READ, 7, 30),
        (30, WRITE, 7, 9),
        (40, CLOSE, 7, 0),
        (50, ACCEPT4, 3, 7),
        (60, READ, 7, 31),
        (70, CLOSE, 7, 0),
        (80, ACCEPT4, 4, 7),
        (90, READ, 7, 32),
        (95, READ, 7, 0),
        (100, WRITE, 7, 11),
        (110, ACCEPT4, 4, 8),
        (120, READ, 8, 33),
    ]);
    assert_eq!(turns(&found), [(25, 35, 30, 9), (95, 105, 32, 11)]);
    assert_eq!(found.answered[1].listening, Some(4));
    assert_eq!(found.left_out, LeftOut { closed: 1, at_end: 1, ..LeftOut::default() });
}

/// After the client has closed its side, nothing lengthens the answer that was written before.
#[test]
fn a_read_of_nothing_ends_an_answered_request() {
    let found = of_thread(&[
        (10, ACCEPT4, 3, 7),
        (20, READ, 7, 30),
        (30, WRITE, 7, 9),
        (40, READ, 7, 0),
        (50, WRITE, 7, 1),
    ]);
    assert_eq!(turns(&found), [(25, 35, 30, 9)]);
}

/// A server that it connects to, and one that was connected before the recording: it sends questions to both for the request.
#[test]
fn what_is_asked_of_other_servers_is_no_request() {
    let found = of_thread(&[
        (10, SOCKET, 2, 9),
        (20, CONNECT, 9, -115),
        (30, READ, 7, 38),
        (40, WRITE, 9, 20),
        (50, EPOLL_WAIT, 5, 1),
        (60, READ, 9, 500),
        (70, WRITE, 8, 21),
        (80, EPOLL_WAIT, 5, 1),
        (90, READ, 8, 501),
        (100, WRITE, 7, 400),
        (110, EPOLL_WAIT, 5, 1),
        (120, READ, 7, 39),
        (130, WRITE, 8, 22),
        (140, EPOLL_WAIT, 5, 1),
        (150, READ, 8, 502),
        (160, WRITE, 9, 23),
        (170, EPOLL_WAIT, 5, 1),
        (180, READ, 9, 503),
        (190, WRITE, 7, 401),
    ]);
    assert_eq!(turns(&found), [(35, 105, 38, 400), (125, 195, 39, 401)]);
    assert_eq!(found.left_out, LeftOut::default());
}

/// A socket that the process makes and writes to first is its own question, also where it works for no request.
#[test]
fn a_client_is_no_server() {
    let found = of_thread(&[
        (10, SOCKET, 16, 9),
        (20, SENDTO, 9, 20),
        (30, RECVFROM, 9, 500),
        (40, SENDTO, 9, 21),
        (50, RECVFROM, 9, 501),
    ]);
    assert_eq!(found, Requests::default());
}

/// A file, a pipe that is only read, an eventfd, and one from before the recording that two threads use.
#[test]
fn files_pipes_and_events_are_no_requests() {
    let found = found(|script| {
        script.call(10, MAIN, OPENAT, 0, 6).call(20, MAIN, READ, 6, 100).call(30, MAIN, WRITE, 6, 100);
        script.call(40, MAIN, READ, 4, 77).call(50, MAIN, EVENTFD2, 0, 8).call(60, MAIN, READ, 8, 8);
        script.call(70, MAIN, WRITE, 8, 8);
        for at in [100, 200, 300] {
            script.call(at, FIRST, WRITE, 12, 8).call(at + 50, MAIN, READ, 12, 8);
        }
    });
    assert_eq!(found, Requests::default());
}

/// An event comes, and the thread writes to a client whose request it read before the recording.
#[test]
fn after_an_event_no_request_is_worked_for() {
    let found = of_thread(&[
        (10, READ, 12, 8),
        (20, WRITE, 7, 100),
        (30, EPOLL_WAIT, 5, 1),
        (40, READ, 7, 38),
        (50, WRITE, 7, 12),
    ]);
    assert_eq!(turns(&found), [(45, 55, 38, 12)]);
    assert_eq!(found.left_out, LeftOut { begun_before: 1, ..LeftOut::default() });
}

/// One thread reads and another one answers; a third reads the next request before the write has returned.
#[test]
fn threads_of_a_process_share_its_connections() {
    let found = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).call(20, FIRST, READ, 7, 38);
        script.enter(30, SECOND, WRITE, 7).call(32, FIRST, READ, 7, 39).exit(40, SECOND, WRITE, 12);
        script.call(50, SECOND, WRITE, 7, 13);
    });
    assert_eq!(turns(&found), [(25, 40, 38, 12), (37, 55, 39, 13)]);
    assert_eq!((found.answered[0].reader, found.answered[0].writer), (FIRST, SECOND));
}

/// What one thread sends by itself while another one reads a request is no answer to it.
#[test]
fn a_write_answers_nothing_that_was_read_after_its_begin() {
    let found = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).enter(20, SECOND, WRITE, 7).call(30, FIRST, READ, 7, 38);
        script.exit(40, SECOND, WRITE, 12).call(50, FIRST, WRITE, 7, 13);
    });
    assert_eq!(turns(&found), [(35, 55, 38, 13)]);
}

/// The write that the second read came in between fails: both reads are one request.
#[test]
fn a_write_that_fails_separates_nothing() {
    let found = found(|script| {
        script.call(20, FIRST, READ, 7, 38);
        script.enter(30, SECOND, WRITE, 7).call(32, FIRST, READ, 7, 39).exit(40, SECOND, WRITE, -11);
        script.call(50, SECOND, WRITE, 7, 13);
    });
    assert_eq!(turns(&found), [(25, 55, 77, 13)]);
}

/// At the end of the recording it is still being written, or its thread has ended in the call.
#[test]
fn an_answer_that_has_not_returned_is_none() {
    let open = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).call(20, MAIN, READ, 7, 38).enter(30, MAIN, WRITE, 7);
    });
    assert_eq!((turns(&open), open.left_out.at_end), (vec![], 1));
    let ended = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).call(20, FIRST, READ, 7, 38).enter(30, FIRST, WRITE, 7);
        script.0.thread_ended(FIRST);
        script.call(40, SECOND, WRITE, 7, 12);
    });
    assert_eq!(turns(&ended), [(25, 45, 38, 12)]);
}

/// Of three requests one is answered before records are lost, one is open, and one is read and answered afterwards.
#[test]
fn no_request_crosses_lost_records() {
    let found = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).call(20, MAIN, READ, 7, 38).call(30, MAIN, WRITE, 7, 12);
        script.call(40, MAIN, READ, 7, 39).0.records_lost();
        script.call(50, MAIN, WRITE, 7, 13).call(60, MAIN, READ, 7, 40).call(70, MAIN, WRITE, 7, 14);
    });
    assert_eq!(turns(&found), [(25, 35, 38, 12), (65, 75, 40, 14)]);
    assert_eq!(found.left_out.across_loss, 1);
    assert_eq!(found.answered[1].listening, None, "a close and another call may be among the lost ones");
}

/// A process' number is used again, and one runs another program.
#[test]
fn a_new_process_has_no_connections_of_the_old_one() {
    let found = found(|script| {
        script.call(10, MAIN, ACCEPT4, 3, 7).call(20, MAIN, READ, 7, 38);
        script.enter(30, MAIN, EXECVE, 0).0.process_ended(MAIN.pid);
        script.exit(40, MAIN, EXECVE, 0).call(50, MAIN, WRITE, 7, 12);
        script.call(60, MAIN, READ, 7, 40).call(70, MAIN, WRITE, 7, 14);
    });
    assert_eq!(turns(&found), [(65, 75, 40, 14)]);
    assert_eq!((found.left_out.closed, found.answered[0].listening), (1, None));
}

/// An exit record without its enter record, and two enter records in a row: what is known stays.
#[test]
fn calls_without_one_of_their_records_move_nothing() {
    let found = found(|script| {
        script.exit(5, MAIN, READ, 100).call(10, MAIN, READ, 7, 38).enter(20, MAIN, WRITE, 7);
        script.call(30, MAIN, WRITE, 7, 12).exit(40, MAIN, READ, 9);
    });
    assert_eq!(turns(&found), [(15, 35, 38, 12)]);
}

/// Only the second thread is meant; the first one is named for whom it may concern.
#[test]
fn requests_are_those_of_who_read_them() {
    let mut script = Calls(Processes::new(&|thread, _| thread == SECOND));
    for (at, thread, descriptor) in [(10, FIRST, 7), (110, SECOND, 8), (210, FIRST, 9)] {
        script.call(at, MAIN, ACCEPT4, 3, descriptor).call(
            at + 10,
            thread,
            READ,
            descriptor.cast_unsigned(),
            38,
        );
        script.call(at + 20, thread, WRITE, descriptor.cast_unsigned(), 12);
        script.call(at + 30, thread, READ, descriptor.cast_unsigned(), 38);
        script.call(at + 40, thread, IO_URING_ENTER, 4, 1);
    }
    let found = script.0.finish();
    assert_eq!(turns(&found), [(125, 135, 38, 12)]);
    assert_eq!(found.left_out, LeftOut { at_end: 1, ..LeftOut::default() });
    assert_eq!(found.readers, BTreeMap::from([(FIRST, (2, Tsc(225))), (SECOND, (1, Tsc(125)))]));
    assert_eq!(found.unseen, BTreeMap::from([("io_uring_enter", 1)]));
}

const NUMBERS: [u64; 8] = [READ, WRITE, CLOSE, CONNECT, ACCEPT4, SENDTO, RECVFROM, EPOLL_WAIT];

proptest! {
    /// Whatever calls begin and end in whatever order: every request lies in its order, moved bytes, and is one of a read that returned.
    #[test]
    fn any_calls_make_requests_that_hold_together(
        steps in prop::collection::vec((0..9u8, 0..3i32, prop::sample::select(&NUMBERS[..]), 0..4u64, -1..300i64), 0..200),
    ) {
        let mut reads = std::collections::HashSet::new();
        let mut at = 0;
        let found = found(|script| {
            for &(what, tid, number, descriptor, result) in &steps {
                at += 10;
                let thread = ThreadId { tid: Tid(10 + tid), ..MAIN };
                match what {
                    0..5 => {
                        script.call(at, thread, number, descriptor, result);
                    }
                    5 => {
                        script.enter(at, thread, number, descriptor);
                    }
                    6 => {
                        script.exit(at + 5, thread, number, result);
                    }
                    7 => script.0.thread_ended(thread),
                    _ => script.0.records_lost(),
                }
                if matches!(number, READ | RECVFROM) && result > 0 {
                    reads.insert((at + 5, result.cast_unsigned()));
                }
            }
        });
        let mut last = 0;
        for request in &found.answered {
            prop_assert!(request.range.start < request.range.stop && request.range.start.0 >= last);
            prop_assert!(request.bytes.0 > 0 && request.bytes.1 > 0);
            prop_assert!(reads.iter().any(|&(at, bytes)| at == request.range.start.0 && bytes <= request.bytes.0));
            last = request.range.start.0;
        }
    }
}
