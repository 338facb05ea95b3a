//! Tests that waits and accesses are known by records alone, on schedules made by hand.

use model::{Cpu, Device, OffCpu, Pid, Tsc, TscRange};
use perfdata::{LeaveReason, Schedule};

use super::access::{Book, Direction};
use super::ran_on;
use super::scene::with_scene;
use super::waits::{ObjectWait, WaitObject, wait_within};
use crate::claims::off_cpu::context::Context;
use crate::inputs::files::NoFiles;
use crate::records::event::{BlockStep, EventKind, Request, Side, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::testing::script::{Table, WORKER, WRITER, conversion, interval, record, run};
use crate::threads::stays::stays;

/// The worker runs on CPU 0 until 100, sleeps until 500 and runs on CPU 1 until 1000; the writer has CPU 0 while it
/// sleeps.
fn schedule() -> Schedule {
    Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WRITER, 0, 100, 900, LeaveReason::Slept(Some('S'))),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ])
}

/// What the worker waits for between 50 and 600.
fn wait(records: Vec<SidebandEvent>) -> ObjectWait {
    let (schedule, sideband) = (schedule(), Sideband::new(records));
    let stays = stays(&interval(50..600), &schedule, Some(conversion()));
    with_scene(&schedule, conversion(), &names(), &NoFiles, |scene| {
        let known = Context::new(scene, &sideband, &[]).expect("a clock");
        let mut waits = stays.iter().filter_map(|stay| wait_within(stay, &known));
        let found = waits.next().expect("the worker sleeps");
        assert_eq!(waits.next(), None, "once");
        found
    })
}

/// The kernel functions of callchains.
fn names() -> Table {
    Table::new(&["schedule", "rwsem_down_read_slowpath", "down_read", "lock_mm_and_find_vma"], &[])
}

fn call(time: u64, number: u64, argument: u64) -> SidebandEvent {
    let kind = EventKind::Syscall { number, arguments: vec![argument].into() };
    record(time, 0, WORKER, Side::Begin, kind)
}

fn waking(time: u64) -> SidebandEvent {
    let kind = EventKind::Waking { target: WORKER.tid, by_waker: true };
    record(time, 0, WRITER, Side::Begin, kind)
}

fn block(time: u64, step: BlockStep, sector: u64, letters: &str) -> SidebandEvent {
    let request =
        Request { device: Device::new(259, 1), name: None, sector, sectors: 8, letters: letters.to_owned() };
    record(time, 0, WORKER, Side::Begin, EventKind::Block { step, request })
}

/// `futex(0xbeef)` at 90, woken at 300 on CPU 0.
#[test]
fn a_wait_has_its_object_and_ends_with_the_wake_up() {
    let found = wait(vec![call(90, 202, 0xbeef), waking(300)]);
    assert_eq!(found.object, WaitObject::Futex { pid: Pid(100), address: 0xbeef });
    assert_eq!(found.object.to_string(), "futex 0xbeef of pid 100");
    assert_eq!((found.kind, found.range), (OffCpu::Lock, TscRange::new(Tsc(100), Tsc(300))));
    assert_eq!((found.cpu, found.ended_on), (Some(Cpu(0)), Some(Cpu(0))));
}

#[test]
fn without_records_the_wait_is_there_and_its_object_is_not() {
    let found = wait(Vec::new());
    assert_eq!((found.object, found.kind), (WaitObject::Unknown, OffCpu::Other));
    assert_eq!(found.range, TscRange::new(Tsc(100), Tsc(500)));
}

/// `pread64(4)` at 80, its request issued at 95 and completed at 290.
#[test]
fn a_request_of_its_own_names_the_device() {
    let records = vec![
        call(80, 17, 4),
        block(95, BlockStep::Issue, 2048, "R"),
        block(290, BlockStep::Complete, 2048, "R"),
        waking(300),
    ];
    let found = wait(records);
    assert_eq!((found.kind, found.object.to_string()), (OffCpu::BlockIo, "device 259:1".to_owned()));
}

/// `fsync(7)` at 80, on a file whose name a record has.
#[test]
fn an_open_file_is_an_object_with_its_name() {
    let (schedule, sideband) = (schedule(), Sideband::new(vec![call(80, 74, 7), waking(300)]));
    let files = Table::new(&[], &[]);
    let stays = stays(&interval(50..600), &schedule, Some(conversion()));
    let waited = with_scene(&schedule, conversion(), &files, &files, |scene| {
        let known = Context::new(scene, &sideband, &[]).expect("a clock");
        stays.iter().find_map(|stay| wait_within(stay, &known))
    });
    let object = waited.expect("the worker sleeps").object;
    let of = Some("/srv/wal".to_owned());
    assert_eq!(object, WaitObject::Descriptor { pid: Pid(100), number: 7, of });
    assert_eq!(object.to_string(), "fd 7 of pid 100 (/srv/wal)");
}

/// `read(4)` in state D: the view says what the verdict on the same wait says.
#[test]
fn state_d_alone_is_no_disk_in_the_view_either() {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('D'))),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ]);
    let sideband = Sideband::new(vec![call(80, 0, 4), waking(300)]);
    let stays = stays(&interval(50..600), &schedule, Some(conversion()));
    let waited = with_scene(&schedule, conversion(), &names(), &NoFiles, |scene| {
        let known = Context::new(scene, &sideband, &[]).expect("a clock");
        stays.iter().find_map(|stay| wait_within(stay, &known))
    });
    assert_eq!(waited.expect("the worker sleeps").kind, OffCpu::Other);
}

/// The thread leaves in state D, and its switch record has a callchain: `mmap_lock`, as the verdict on that wait says.
#[test]
fn the_view_reads_callchains_by_the_table_of_the_verdicts() {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('D'))),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ]);
    let mut left = record(100, 0, WORKER, Side::Begin, EventKind::SwitchOut);
    let path = ["schedule", "rwsem_down_read_slowpath", "down_read", "lock_mm_and_find_vma"];
    left.chain = path.iter().map(|function| names().start(function) + 8).collect();
    let sideband = Sideband::new(vec![left, waking(300)]);
    let stays = stays(&interval(50..600), &schedule, Some(conversion()));
    let waited = with_scene(&schedule, conversion(), &names(), &NoFiles, |scene| {
        let known = Context::new(scene, &sideband, &[]).expect("a clock");
        stays.iter().find_map(|stay| wait_within(stay, &known))
    });
    assert_eq!(waited.expect("the worker sleeps").kind, OffCpu::Lock);
}

/// Two requests cross; one completes that was never issued, one is issued and never completes.
#[test]
fn accesses_last_from_issue_to_completion() {
    let mut book = Book::default();
    for event in [
        block(10, BlockStep::Issue, 1, "R"),
        block(20, BlockStep::Issue, 2, "FWS"),
        block(25, BlockStep::Complete, 7, "R"),
        block(50, BlockStep::Complete, 2, "FWS"),
        block(90, BlockStep::Complete, 1, "R"),
        block(95, BlockStep::Issue, 3, "D"),
    ] {
        book.enter(&event);
    }
    let told: Vec<(Direction, TscRange)> =
        book.done.iter().map(|access| (access.direction, access.range)).collect();
    let expected = [
        (Direction::Write, TscRange::new(Tsc(20), Tsc(50))),
        (Direction::Read, TscRange::new(Tsc(10), Tsc(90))),
    ];
    assert_eq!(told, expected);
}

/// Between 50 and 200 the worker has CPU 0 for 50 ns and the writer for 100.
#[test]
fn who_ran_is_cut_to_the_range() {
    let ran = ran_on(&schedule(), Cpu(0), TscRange::new(Tsc(50), Tsc(200)), conversion());
    assert_eq!(ran, [(WORKER, 50), (WRITER, 100)]);
}
