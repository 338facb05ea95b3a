//! A wait for an answer in parts: a server that first worked for another client, and asked a server of its own.

use model::Part;

use super::*;

const STORE: ThreadId = ThreadId { pid: model::Pid(209), tid: model::Tid(210) };
const DISK: ThreadId = ThreadId { pid: model::Pid(309), tid: model::Tid(310) };

/// A piece below a wait.
fn piece(thread: ThreadId, (start, stop): (u64, u64), cause: Cause, part: Part) -> Segment {
    let is_off = matches!(cause, Cause::OffCpu(_));
    let mut story = Story::default();
    story.part = Some(part);
    let cpu = if thread == STORE { Cpu(2) } else { Cpu(3) };
    Segment {
        thread: Some(thread),
        cpu: (!is_off).then_some(cpu),
        story,
        ..segment(start, stop, cause, Certainty::Measured, "")
    }
}

fn wait(range: (u64, u64), by: &str, during: Vec<Segment>) -> Segment {
    let mut wait = segment(range.0, range.1, Cause::OffCpu(OffCpu::Socket), Certainty::Measured, "");
    wait.cpu = None;
    wait.story = story("data from a TCP socket", "ask() client.c:8", by, Role::Waker);
    wait.during = during;
    wait
}

/// What `disk` did of `store`'s wait from 60 to 160 us: it was runnable for 10 us, read the question for 5 us, worked for 80 us and
/// answered for 5 us.
fn below_disk() -> Vec<Segment> {
    let call = |name: &str| Cause::Syscall(name.to_owned());
    let mut read = piece(DISK, (70_000, 75_000), call("read"), Part::OwnWork);
    read.story.takes = true;
    vec![
        piece(DISK, (60_000, 70_000), Cause::OffCpu(OffCpu::Runnable), Part::NotRun),
        read,
        piece(DISK, (75_000, 155_000), Cause::UserExpected, Part::OwnWork),
        piece(DISK, (155_000, 160_000), call("write"), Part::OwnWork),
    ]
}

/// What `store` did of the wait from 20 to 220 us, of which it worked for `rival` in the first 10.
fn below_store() -> Vec<Segment> {
    let call = |name: &str| Cause::Syscall(name.to_owned());
    let mut rival = piece(STORE, (20_000, 30_000), Cause::UserExpected, Part::OthersFirst);
    "fd 9: 30 bytes in".clone_into(&mut rival.story.object);
    "rival".clone_into(&mut rival.story.by);
    let mut read = piece(STORE, (35_000, 40_000), call("read"), Part::OwnWork);
    read.story.takes = true;
    let mut asked = wait((60_000, 160_000), "disk", below_disk());
    (asked.thread, asked.story.part) = (Some(STORE), Some(Part::Waits));
    let mut rehash = piece(STORE, (170_000, 210_000), Cause::UserExpected, Part::OwnWork);
    "rehash()".clone_into(&mut rehash.story.place);
    rehash.story.unusual = true;
    vec![
        rival,
        piece(STORE, (30_000, 35_000), call("epoll_wait"), Part::Between),
        read,
        piece(STORE, (40_000, 60_000), Cause::UserExpected, Part::OwnWork),
        asked,
        piece(STORE, (160_000, 170_000), Cause::OffCpu(OffCpu::Runnable), Part::NotRun),
        rehash,
        piece(STORE, (210_000, 220_000), call("write"), Part::OwnWork),
    ]
}

/// 240 us, of which `engine` waited 200 for `store`. By part: 100 us waits, 75 own work (of which 40 in `rehash()`), 10 others first, 10
/// not run, 5 between. Typical: 60 us, of which 40 us wait: 30 us own work and 10 us between.
pub fn served() -> Report {
    let call = |name: &str| Cause::Syscall(name.to_owned());
    let own = |start, stop, cause| segment(start, stop, cause, Certainty::Decoded, "");
    let outlier = attribution(
        90,
        vec![
            own(0, 15_000, Cause::UserExpected),
            own(15_000, 20_000, call("recvfrom")),
            wait((20_000, 220_000), "store", below_store()),
            Segment { cpu: None, ..own(220_000, 225_000, Cause::OffCpu(OffCpu::Runnable)) },
            own(225_000, 240_000, Cause::UserExpected),
        ],
    );
    let usual = vec![
        piece(STORE, (10_000, 20_000), call("epoll_wait"), Part::Between),
        piece(STORE, (20_000, 50_000), Cause::UserExpected, Part::OwnWork),
    ];
    let typical = attribution(
        7,
        vec![
            own(0, 10_000, Cause::UserExpected),
            wait((10_000, 50_000), "store", usual),
            own(50_000, 60_000, Cause::UserExpected),
        ],
    );
    let name = |thread: ThreadId, at: Tsc| match thread.tid.0 {
        210 => Some("store".to_owned()),
        310 => Some("disk".to_owned()),
        _ => comm(thread, at),
    };
    let mut outlier = OutlierReport::new(&outlier, &[typical], one_to_one(), name)
        .with_perf_script("/captures/engine/perf.data");
    outlier.checks = good_checks();
    report(vec![outlier])
}
