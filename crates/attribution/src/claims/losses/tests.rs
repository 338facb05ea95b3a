//! Records of lost trace and lost records, beside flows and schedules that lack them.

use model::Certainty;
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side};
use crate::testing::script::{Script, Table, WORKER, World, expected, record, run, told};

/// Tracing goes off at 300 and comes back elsewhere at 60,300.
fn world<'t>(table: &'t Table, script: &mut Script<'_>) -> World<'t> {
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .event(300, PtKind::Disabled { ip: None, from: None })
        .event(60_300, PtKind::Enabled { ip: 0x1020, resumed: false })
        .block(60_300, "work", 0x20, BlockEnd::Jump)
        .block(60_400, "work", 0x40, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 100_000, LeaveReason::Unknown)]);
    World { table, schedule, records: Vec::new(), items: script.items.clone(), kernel_traced: true }
}

#[test]
fn a_truncated_buffer_makes_a_loss_of_tracing_off() {
    let table = Table::new(&[], &["work"]);
    let mut script = Script::new(&table);
    let mut capture = world(&table, &mut script);
    let asked_for = expected(&[("user.expected", 300), ("trace.filtered", 60_000), ("user.expected", 100)]);
    assert_eq!(capture.story(0..60_400), asked_for);
    let truncated = EventKind::TraceLost { how: "truncated".into() };
    capture.records.push(record(310, 0, WORKER, Side::Begin, truncated));
    let attribution = crate::attribute_alone(&capture.examine(0..60_400)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[("user.expected", 300), ("trace.loss", 60_000), ("user.expected", 100)])
    );
    let loss = &attribution.segments()[1];
    assert_eq!(loss.certainty, Certainty::Measured);
    assert_eq!(loss.detail, "tracing was off, AUX record: truncated");
    assert_eq!(loss.evidence[0].file_offset.map(|offset| offset.0), Some(310));
    // Another CPU's buffer is not this one's.
    capture.records[0].cpu = Some(model::Cpu(1));
    assert_eq!(capture.story(0..60_400), asked_for);
}

/// The switches between 100 and 500 are missing, and LOST says that three records are.
#[test]
fn lost_records_leave_it_open_where_the_thread_was() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Unknown),
        run(WORKER, 0, 500, 1000, LeaveReason::Unknown),
    ]);
    let records = vec![record(480, 0, WORKER, Side::Begin, EventKind::RecordsLost { count: 3 })];
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(50..600)).expect("a partition");
    assert!(told(&attribution).iter().all(|(cause, _)| cause == "trace.loss"), "{:?}", told(&attribution));
    let open = attribution.segments().iter().find(|segment| segment.range.start.0 == 100).expect("a segment");
    assert_eq!(open.detail, "the place of the thread is unknown, LOST record: 3 records");
}
