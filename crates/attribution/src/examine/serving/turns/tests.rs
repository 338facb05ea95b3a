use model::{Cause, Cpu, Part, Segment, Tsc, TscRange};

use crate::examine::serving::Serving;
use crate::examine::serving::tests::{EPOLL_WAIT, READ, WRITE, part, parts, segment, sideband};
use crate::testing::script::WRITER;
use Part::{Between, OwnWork, Waits};

/// The records of a call lie within it: the time before the first and after the last is the call's, as the flow has it.
#[test]
fn a_turn_has_the_edges_of_the_flow() {
    let calls = [
        (80, 85, READ, 9, 30),
        (109, 111, EPOLL_WAIT, 5, 1),
        (139, 141, READ, 7, 38),
        (190, 199, WRITE, 7, 8),
    ];
    let call = |name: &str| Cause::Syscall(name.to_owned());
    let during = [
        (100, 110, call("epoll_wait")),
        (110, 112, Cause::Timer),
        (112, 130, call("epoll_wait")),
        (130, 132, Cause::UserExpected),
        (132, 142, call("read")),
        (142, 145, Cause::UserExpected),
    ];
    let found = parts(&calls, &during);
    assert_eq!(found[..4], [Between, Between, Between, Between].map(part));
    assert_eq!(found[4..], [OwnWork, OwnWork].map(part));
}

/// What was answered to another client is older than what was searched, and the log is older too: neither was a question to a server,
/// for the request was answered without a word from there.
#[test]
fn what_is_written_first_need_not_be_a_question() {
    const LOG: u64 = 6;
    let calls = [
        (20, 25, READ, 7, 38),
        (30, 32, WRITE, 9, 8),
        (35, 40, WRITE, 7, 8),
        (41, 43, WRITE, LOG, 80),
        (50, 60, EPOLL_WAIT, 5, 1),
        (62, 64, READ, 7, 38),
        (70, 75, WRITE, 7, 8),
        (76, 78, WRITE, LOG, 80),
        (80, 90, EPOLL_WAIT, 5, 1),
        (95, 101, READ, 9, 19),
        (110, 112, WRITE, LOG, 80),
        (120, 125, WRITE, 9, 8),
        (130, 140, EPOLL_WAIT, 5, 1),
        (150, 155, READ, 7, 38),
        (190, 199, WRITE, 7, 8),
    ];
    let during = [
        (101, 110, Cause::UserExpected),
        (110, 112, Cause::Syscall("write".to_owned())),
        (112, 120, Cause::UserExpected),
        (155, 190, Cause::UserExpected),
    ];
    let others = (Some(Part::OthersFirst), "fd 9: 19 bytes in, 8 bytes out".to_owned());
    assert_eq!(parts(&calls, &during), [others.clone(), others.clone(), others, part(OwnWork)]);
}

/// A collector's thread helps: asleep for it, the server waits.
#[test]
fn asleep_in_a_collection_it_waits() {
    let calls = [(101, 103, READ, 7, 38), (190, 199, WRITE, 7, 8)];
    let mut segments = vec![
        Segment { cpu: Some(Cpu(0)), ..segment(103, 120, Cause::Gc("v8".to_owned())) },
        segment(120, 190, Cause::Gc("v8".to_owned())),
    ];
    let wait = TscRange::new(Tsc(100), Tsc(200));
    let serving = Serving::of(WRITER, wait, Tsc(195), &sideband(&calls, &[])).expect("it answers");
    serving.mark(&mut segments, wait, |_| String::new());
    assert_eq!([segments[0].story.part, segments[1].story.part], [Some(OwnWork), Some(Waits)]);
}
