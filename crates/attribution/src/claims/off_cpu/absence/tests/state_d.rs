//! Threads in state D: what they wait for, by the path, by requests to a block device, by what ended the wait.

use model::Certainty;
use perfdata::LeaveReason;

use super::{call, segments, waking, world};
use crate::records::event::{BlockStep, EventKind, Request, Side, SidebandEvent};
use crate::testing::script::{IDLE, Table, WORKER, WRITER, record};

/// The worker sleeps in state D from 100 to 300, by this path (innermost first; none: not recorded), with these records.
fn uninterruptible(path: &[&str], mut records: Vec<SidebandEvent>) -> (String, Certainty, String) {
    let table = Table::new(DEEP, &["work"]);
    let mut left = record(100, 0, WORKER, Side::Begin, EventKind::SwitchOut);
    left.chain = path.iter().map(|function| table.start(function) + 8).collect();
    if !path.is_empty() {
        records.push(left);
    }
    let world = world(&table, LeaveReason::Slept(Some('D')), records);
    let attribution = segments(&world, 100..600);
    let wait = &attribution.segments()[0];
    (wait.cause.to_string(), wait.certainty, wait.detail.clone())
}

const DEEP: &[&str] = &[
    "io_schedule",
    "io_schedule_timeout",
    "folio_wait_bit_common",
    "balance_dirty_pages",
    "__mem_cgroup_handle_over_high",
    "rwsem_down_read_slowpath",
    "down_read",
    "lock_mm_and_find_vma",
    "schedule",
];

fn request(time: u64, of: model::ThreadId, step: BlockStep) -> SidebandEvent {
    let device = model::Device::new(259, 1);
    let request = Request { device, name: None, sector: 8, sectors: 8, letters: "R".into() };
    record(time, 0, of, Side::Begin, EventKind::Block { step, request })
}

fn interrupt(time: u64, side: Side) -> SidebandEvent {
    record(time, 0, WRITER, side, EventKind::Irq { number: 24, name: Some("nvme0q1".into()) })
}

/// Memory, locks, a freezer and a server are waited for in state D, too: it is a disk where a request shows it, the
/// thread's own or one that completed in the interrupt of the wake-up.
#[test]
fn state_d_alone_is_no_disk() {
    let unknown = ("offcpu.other".to_owned(), Certainty::Inferred);
    let of = |records| {
        let (cause, certainty, detail) = uninterruptible(&[], records);
        ((cause, certainty), detail)
    };
    let (cause, detail) = of(vec![waking(300, WRITER)]);
    assert_eq!((cause, detail.contains("state D")), (unknown.clone(), true), "{detail}");
    let read = call(90, WORKER, 0, 7, Side::Begin);
    assert_eq!(of(vec![read.clone(), waking(300, WRITER)]).0, unknown);
    // futex() sleeps so that signals wake it: in state D the thread waits for something else there.
    assert_eq!(of(vec![call(90, WORKER, 202, 0xbeef, Side::Begin), waking(300, WRITER)]).0, unknown);
    let disk = ("offcpu.block-io".to_owned(), Certainty::Measured);
    let own = vec![
        request(95, WORKER, BlockStep::Issue),
        request(290, IDLE, BlockStep::Complete),
        waking(300, IDLE),
    ];
    assert_eq!(of(own).0, disk);
    let others = |complete| {
        vec![
            request(95, WRITER, BlockStep::Issue),
            interrupt(280, Side::Begin),
            request(complete, IDLE, BlockStep::Complete),
            waking(300, IDLE),
            interrupt(310, Side::End),
        ]
    };
    assert_eq!(of(others(290)).0, disk);
    assert_eq!(of(others(270)).0, unknown, "completed before that interrupt");
}

#[test]
fn the_path_shows_what_state_d_is_for() {
    for (path, cause, what) in [
        (
            &["schedule", "rwsem_down_read_slowpath", "down_read", "lock_mm_and_find_vma"][..],
            "offcpu.lock",
            "mmap_lock",
        ),
        (&["schedule", "__mem_cgroup_handle_over_high"], "offcpu.other", "memory.high"),
        (&["io_schedule_timeout", "balance_dirty_pages"], "offcpu.other", "dirty pages"),
        (&["io_schedule", "folio_wait_bit_common"], "offcpu.block-io", ""),
    ] {
        let (found, certainty, detail) = uninterruptible(path, vec![waking(300, WRITER)]);
        assert_eq!((found.as_str(), certainty), (cause, Certainty::Decoded), "{path:?}");
        assert!(detail.contains(what), "{path:?}: {detail}");
    }
    // A request of its own that completes in between does not make a disk of another wait.
    let records = vec![
        request(95, WORKER, BlockStep::Issue),
        request(200, IDLE, BlockStep::Complete),
        waking(300, WRITER),
    ];
    assert_eq!(uninterruptible(&["io_schedule_timeout", "balance_dirty_pages"], records).0, "offcpu.other");
}

/// The same path, ended by a timer and no request.
#[test]
fn a_wait_that_a_timer_ends_is_no_disks() {
    let timer = |time, side| record(time, 0, IDLE, side, EventKind::Vector { name: "local_timer".into() });
    let records = vec![timer(290, Side::Begin), waking(300, IDLE), timer(310, Side::End)];
    let (cause, certainty, detail) = uninterruptible(&["io_schedule_timeout"], records);
    assert_eq!((cause.as_str(), certainty), ("offcpu.other", Certainty::Inferred), "{detail}");
}

/// Neither completion nor wake-up has a record, as in the idle tasks of some guests: the request that the thread issued in this
/// call is what it waited for, by inference.
#[test]
fn a_request_that_no_record_ends_is_inferred() {
    let write = |time, side| call(time, WORKER, 18, 5, side);
    let of = |records| {
        let (cause, certainty, detail) = uninterruptible(&[], records);
        ((cause, certainty), detail)
    };
    let disk = ("offcpu.block-io".to_owned(), Certainty::Inferred);
    let unknown = ("offcpu.other".to_owned(), Certainty::Inferred);
    let (cause, detail) = of(vec![write(90, Side::Begin), request(95, WORKER, BlockStep::Issue)]);
    assert_eq!((cause, detail.contains("whose completion has no record")), (disk, true), "{detail}");
    // Another thread's, one of an earlier call, and one that completed while the thread slept on.
    assert_eq!(of(vec![write(90, Side::Begin), request(95, WRITER, BlockStep::Issue)]).0, unknown);
    let earlier = vec![
        write(50, Side::Begin),
        request(55, WORKER, BlockStep::Issue),
        write(60, Side::End),
        write(90, Side::Begin),
    ];
    assert_eq!(of(earlier).0, unknown);
    let completed = vec![
        write(90, Side::Begin),
        request(95, WORKER, BlockStep::Issue),
        request(150, WRITER, BlockStep::Complete),
    ];
    assert_eq!(of(completed).0, unknown);
}
