//! Hand-made records: a reader that waits because a writer is queued, and ones that do not.

use model::{Pid, ThreadId, Tid};
use perfdata::{LeaveReason, Schedule};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Table, WORKER, WRITER, World, record, run};

const OTHER: ThreadId = ThreadId { pid: Pid(300), tid: Tid(301) };

const KERNEL: &[&str] = &[
    "schedule",
    "rwsem_down_read_slowpath",
    "down_read",
    "lock_mm_and_find_vma",
    "rwsem_down_write_slowpath",
    "down_write_killable",
    "vm_mmap_pgoff",
    "futex_wait_queue",
];
const USER: &[&str] = &["work", "__pthread_rwlock_rdlock", "__pthread_rwlock_wrlock"];

/// System calls: `mmap` is 9, `futex` 202.
const MMAP: u64 = 9;
const FUTEX: u64 = 202;

struct Sleeper {
    thread: ThreadId,
    cpu: u32,
    call: Option<(u64, u64)>,
    path: &'static [&'static str],
}

/// The sleeper leaves its CPU at `at`, with a callchain.
fn records_of(table: &Table, at: u64, sleeper: &Sleeper) -> Vec<SidebandEvent> {
    let mut left = record(at, sleeper.cpu, sleeper.thread, Side::Begin, EventKind::SwitchOut);
    left.chain = sleeper.path.iter().map(|function| table.start(function) + 8).collect();
    let call = sleeper.call.map(|(number, argument)| {
        let kind = EventKind::Syscall { number, arguments: vec![argument].into() };
        record(at - 10, sleeper.cpu, sleeper.thread, Side::Begin, kind)
    });
    call.into_iter().chain([left]).collect()
}

/// The particulars of the wait of `reader` from 200 on; `writer` goes to sleep at 100.
fn told(reader: &Sleeper, writer: &Sleeper) -> String {
    told_in('D', reader, writer)
}

/// The same where both sleep in this state.
fn told_in(state: char, reader: &Sleeper, writer: &Sleeper) -> String {
    let table = Table::new(KERNEL, USER);
    let sleep = LeaveReason::Slept(Some(state));
    let schedule = Schedule::from_runs(vec![
        run(reader.thread, reader.cpu, 0, 200, sleep),
        run(reader.thread, reader.cpu, 900, 1200, LeaveReason::Unknown),
        run(writer.thread, writer.cpu, 0, 100, sleep),
        run(writer.thread, writer.cpu, 950, 1200, LeaveReason::Unknown),
    ]);
    let mut records = records_of(&table, 200, reader);
    records.extend(records_of(&table, 100, writer));
    let wake = EventKind::Waking { target: reader.thread.tid, by_waker: true };
    records.push(record(890, 2, OTHER, Side::Begin, wake));
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(200..1000)).expect("a partition");
    let wait = &attribution.segments()[0];
    assert_eq!(wait.cause.to_string(), "offcpu.lock");
    let in_headline = wait.story.object.ends_with(" (queued after writer, which waited to write)");
    assert_eq!(in_headline, wait.detail.contains("queued after"), "{}", wait.story.object);
    wait.detail.clone()
}

const FAULT: &[&str] = &["schedule", "rwsem_down_read_slowpath", "down_read", "lock_mm_and_find_vma"];
const MAP: &[&str] = &["schedule", "rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"];

fn sleeper(thread: ThreadId, cpu: u32, call: Option<(u64, u64)>, path: &'static [&'static str]) -> Sleeper {
    Sleeper { thread, cpu, call, path }
}

/// A fault waits for `mmap_lock` since another thread of the process has been waiting for it in `mmap()`.
#[test]
fn a_reader_waits_because_a_writer_is_queued() {
    let reader = sleeper(WORKER, 0, None, FAULT);
    let found = told(&reader, &sleeper(WRITER, 1, Some((MMAP, 0)), MAP));
    assert!(
        found.contains("queued after the writer writer (tid 102), which had waited for it for 0.1 us then"),
        "{found}"
    );
}

/// Another process has another address space; another reader is no writer.
#[test]
fn only_a_writer_of_the_same_lock_counts() {
    let reader = sleeper(WORKER, 0, None, FAULT);
    for other in [
        sleeper(ThreadId { pid: Pid(300), tid: Tid(300) }, 1, Some((MMAP, 0)), MAP),
        sleeper(WRITER, 1, Some((MMAP, 0)), FAULT),
    ] {
        let found = told(&reader, &other);
        assert!(!found.contains("queued after"), "{found}");
    }
}

/// `pthread_rwlock_t` has one futex word for readers and one for writers: both lie within 56 bytes.
#[test]
fn two_futex_words_of_one_lock_are_one_lock() {
    const READ: &[&str] = &["schedule", "futex_wait_queue", "__pthread_rwlock_rdlock", "work"];
    const WRITE: &[&str] = &["schedule", "futex_wait_queue", "__pthread_rwlock_wrlock", "work"];
    let reader = sleeper(WORKER, 0, Some((FUTEX, 0x1008)), READ);
    for (word, is_same) in [(0x100c, true), (0x1008, true), (0x1100, false)] {
        let found = told(&reader, &sleeper(WRITER, 1, Some((FUTEX, word)), WRITE));
        assert_eq!(found.contains("queued after"), is_same, "{word:#x}: {found}");
    }
}

/// The paths of a trace of user code alone end where the kernel begins.
#[test]
fn the_kernels_functions_are_not_needed() {
    const WRITE: &[&str] = &["__pthread_rwlock_wrlock", "work"];
    const READ: &[&str] = &["__pthread_rwlock_rdlock", "work"];
    let reader = sleeper(WORKER, 0, Some((FUTEX, 0x1008)), READ);
    for (path, is_writer) in [(WRITE, true), (READ, false)] {
        let found = told_in('S', &reader, &sleeper(WRITER, 1, Some((FUTEX, 0x100c)), path));
        assert_eq!(found.contains("queued after"), is_writer, "{path:?}: {found}");
    }
}
