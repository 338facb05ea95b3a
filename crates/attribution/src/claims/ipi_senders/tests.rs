//! Hand-made records of two CPUs: who sent the IPI that the worker's CPU served.

use model::{Cpu, Pid, Role, Segment, ThreadId, Tid};
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, record, run};

const STRANGER: ThreadId = ThreadId { pid: Pid(300), tid: Tid(300) };

/// The particulars of the IPI that CPU 0 serves from 500 to 600, where the worker runs.
fn particulars(vector: &str, records: Vec<SidebandEvent>) -> String {
    served(vector, records).detail
}

fn on_two_cpus() -> Schedule {
    Schedule::from_runs(vec![
        run(WORKER, 0, 0, 1000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 1000, LeaveReason::Unknown),
    ])
}

/// That segment.
fn served(vector: &str, records: Vec<SidebandEvent>) -> Segment {
    let table = Table::new(&[], &["work"]);
    let schedule = on_two_cpus();
    let served = |time, side| record(time, 0, WORKER, side, EventKind::Vector { name: vector.into() });
    let records = records.into_iter().chain([served(500, Side::Begin), served(600, Side::End)]).collect();
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(400..700)).expect("a partition");
    let served = attribution.segments().iter().find(|part| part.cause.to_string().starts_with("kernel.ipi."));
    served.expect("an IPI").clone()
}

fn call(time: u64, of: ThreadId, number: u64) -> SidebandEvent {
    record(time, 1, of, Side::Begin, EventKind::Syscall { number, arguments: vec![].into() })
}

fn send(time: u64, of: ThreadId, to: &[u32], calls: bool) -> SidebandEvent {
    let to = to.iter().copied().map(Cpu).collect();
    record(time, 1, of, Side::Begin, EventKind::IpiSend { to, calls })
}

/// `TLB_REMOTE_SEND_IPI` is 4 in `enum tlb_flush_reason`.
fn flush(time: u64, of: ThreadId) -> SidebandEvent {
    record(time, 1, of, Side::Begin, EventKind::TlbFlush { reason: 4, pages: 1 })
}

/// System calls 11 and 324 are `munmap` and `membarrier`.
#[test]
fn an_ipi_names_its_sender_and_its_call() {
    for (number, name) in [(11, "munmap"), (324, "membarrier")] {
        let records = vec![call(400, WRITER, number), send(490, WRITER, &[0, 3], true)];
        let expected = format!("sent by writer (tid 102) on CPU 1 in {name}()");
        assert_eq!(particulars("call_function", records), expected);
    }
    let records = vec![call(400, WRITER, 11), flush(490, WRITER)];
    assert_eq!(particulars("call_function_single", records), "sent by writer (tid 102) on CPU 1 in munmap()");
}

#[test]
fn its_story_has_the_sender_in_parts() {
    let by_record =
        served("call_function", vec![call(400, WRITER, 11), send(490, WRITER, &[0, 3], true)]).story;
    assert_eq!((&*by_record.by, by_record.role, &*by_record.by_place), ("writer", Role::Sender, "munmap()"));
    let likely = served("call_function", vec![call(400, WRITER, 28)]).story;
    assert_eq!((&*likely.by, likely.role, &*likely.by_place), ("writer", Role::LikelySender, "madvise()"));
    let unknown = served("call_function", vec![send(490, WRITER, &[3], true)]).story;
    assert_eq!((&*unknown.by, unknown.role), ("", Role::None));
}

#[test]
fn what_went_elsewhere_or_may_be_anothers_is_not_named() {
    // To another CPU; of the other kind; another process's flush, whose targets are not recorded.
    assert_eq!(particulars("call_function", vec![send(490, WRITER, &[3], true)]), "");
    assert_eq!(particulars("call_function", vec![send(490, WRITER, &[0], false)]), "");
    assert_eq!(particulars("call_function", vec![flush(490, STRANGER)]), "");
    assert_eq!(particulars("irq_work", vec![send(490, WRITER, &[0], true)]), "");
    // Two senders.
    let two = vec![send(480, STRANGER, &[0], true), send(490, WRITER, &[0], true)];
    assert_eq!(particulars("call_function", two), "");
    assert_eq!(
        particulars("reschedule", vec![send(490, WRITER, &[0], false)]),
        "sent by writer (tid 102) on CPU 1"
    );
}

/// Without a record of the sending: the only thread of the process that changes mappings then; not one that reads.
#[test]
fn a_call_that_changes_mappings_is_the_likely_sender() {
    let likely = "most likely sent by writer (tid 102) on CPU 1 in madvise()";
    assert_eq!(particulars("call_function_single", vec![call(400, WRITER, 28)]), likely);
    assert_eq!(particulars("call_function_single", vec![call(400, WRITER, 0)]), "");
    assert_eq!(particulars("call_function_single", vec![call(400, STRANGER, 28)]), "");
    assert_eq!(particulars("reschedule", vec![call(400, WRITER, 28)]), "");
}

/// In a trace of user code alone the interrupt's records are in the middle of the time in which tracing was off.
#[test]
fn what_is_around_the_records_has_the_same_sender() {
    let table = Table::new(&[], &["work"]);
    let schedule = on_two_cpus();
    let served =
        |time, side| record(time, 0, WORKER, side, EventKind::Vector { name: "call_function_single".into() });
    let returned =
        record(520, 1, WRITER, Side::End, EventKind::Syscall { number: 324, arguments: vec![0].into() });
    let records = vec![call(400, WRITER, 324), served(500, Side::Begin), returned, served(600, Side::End)];
    let mut script = Script::new(&table);
    script
        .block(410, "work", 0, BlockEnd::ConditionalBranch)
        .event(450, PtKind::Disabled { ip: None, from: Some(table.start("work") + 0x20) })
        .event(680, PtKind::Enabled { ip: table.start("work") + 0x20, resumed: true })
        .block(680, "work", 0x20, BlockEnd::Jump);
    let world = World { table: &table, schedule, records, items: script.items.clone(), kernel_traced: false };
    let attribution = crate::attribute_alone(&world.examine(410..700)).expect("a partition");
    let parts =
        attribution.segments().iter().filter(|part| part.cause.to_string().starts_with("kernel.ipi."));
    let found: Vec<_> = parts.map(|part| (&*part.story.by, part.story.role, &*part.story.by_place)).collect();
    assert_eq!(found, [("writer", Role::LikelySender, "membarrier()"); 3]);
}
