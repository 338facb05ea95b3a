//! Traces that another event pauses, beside losses and silences that it does not explain.

use model::{Cpu, FileOffset, PerfTime};
use perfdata::{LeaveReason, Pauses, Schedule, TraceOf, Turn};
use pt::{BlockEnd, EventKind as PtKind};

use super::*;
use crate::testing::script::{Script, Table, WORKER, World, expected, run, told};

fn turn(since: u64, pauses: bool) -> (TraceOf, Turn) {
    let event = if pauses { "sched:sched_switch/aux-action=pause/" } else { "resume" }.to_owned();
    (TraceOf::Cpu(Cpu(0)), Turn { since: PerfTime(since), pauses, event, record: FileOffset(since) })
}

/// The trace is off from 300 to 60,300; the worker is on CPU 0 until 100,000.
fn world<'t>(table: &'t Table, script: &mut Script<'_>, resumed: bool) -> World<'t> {
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .event(300, PtKind::Disabled { ip: None, from: None })
        .event(60_300, PtKind::Enabled { ip: 0x1020, resumed })
        .block(60_300, "work", 0x20, BlockEnd::Jump)
        .block(60_400, "work", 0x40, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 100_000, LeaveReason::Unknown)]);
    World { table, schedule, records: Vec::new(), items: script.items.clone(), kernel_traced: true }
}

/// Even at one instruction: an SMI is invisible in a pause.
#[test]
fn a_pause_is_measured_and_names_what_paused() {
    let table = Table::new(&[], &["work"]);
    for resumed in [false, true] {
        let world = world(&table, &mut Script::new(&table), resumed);
        let pauses = Pauses::from_turns(false, [turn(310, true), turn(60_290, false)]);
        let attribution =
            crate::attribute_alone(&world.examine_paused(0..60_400, &pauses)).expect("a partition");
        assert_eq!(
            told(&attribution),
            expected(&[("user.expected", 300), ("trace.filtered", 60_000), ("user.expected", 100)])
        );
        let pause = &attribution.segments()[1];
        assert_eq!(pause.certainty, Certainty::Measured);
        assert_eq!(pause.detail, "the trace was paused by sched:sched_switch/aux-action=pause/");
        assert_eq!(pause.evidence[0].file_offset, Some(FileOffset(310)));
    }
}

#[test]
fn a_silence_outside_of_all_pauses_stays_what_it_was() {
    let table = Table::new(&[], &["work"]);
    let world = world(&table, &mut Script::new(&table), false);
    let pauses = Pauses::from_turns(false, [turn(70_000, true)]);
    let attribution = crate::attribute_alone(&world.examine_paused(0..60_400, &pauses)).expect("a partition");
    let off = &attribution.segments()[1];
    assert_eq!((off.cause.to_string().as_str(), off.certainty), ("trace.filtered", Certainty::Decoded));
    assert_eq!(off.detail, "tracing was off");
}

/// Without a packet, a loss of unknown reason; but for the time in which it was paused.
#[test]
fn time_without_any_packet_is_paused_or_lost() {
    let table = Table::new(&[], &["work"]);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 100_000, LeaveReason::Unknown)]);
    let world =
        World { table: &table, schedule, records: Vec::new(), items: Vec::new(), kernel_traced: true };
    let story = |pauses: &Pauses| {
        let attribution =
            crate::attribute_alone(&world.examine_paused(1_000..9_000, pauses)).expect("a partition");
        let certainties: Vec<Certainty> =
            attribution.segments().iter().map(|segment| segment.certainty).collect();
        (told(&attribution), certainties)
    };
    let (measured, unknown) = (Certainty::Measured, Certainty::Unknown);
    assert_eq!(story(&Pauses::default()), (expected(&[("trace.loss", 8_000)]), vec![unknown]));
    let begun = Pauses::from_turns(true, [turn(6_000, false)]);
    let parts = expected(&[("trace.filtered", 5_000), ("trace.loss", 3_000)]);
    assert_eq!(story(&begun), (parts, vec![measured, unknown]));
    let within = Pauses::from_turns(false, [turn(2_000, true), turn(3_000, false)]);
    let parts = expected(&[("trace.loss", 1_000), ("trace.filtered", 1_000), ("trace.loss", 6_000)]);
    assert_eq!(story(&within), (parts, vec![unknown, measured, unknown]));
}

/// Of user code alone: the kernel's time is the kernel's, however much of it was paused; what was paused on the way back to the
/// program is not.
#[test]
fn where_only_user_code_is_traced_a_call_that_holds_the_pause_is_the_kernels() {
    let table = Table::new(&[], &["work"]);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(200, "work", 0x10, BlockEnd::FarCall)
        .event(300, PtKind::Disabled { ip: None, from: None })
        .event(60_300, PtKind::Enabled { ip: 0x1020, resumed: false })
        .block(60_300, "work", 0x20, BlockEnd::Jump)
        .block(60_400, "work", 0x40, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 100_000, LeaveReason::Unknown)]);
    let world = World {
        table: &table,
        schedule,
        records: Vec::new(),
        items: script.items.clone(),
        kernel_traced: false,
    };
    let cause = |pauses: &Pauses| {
        let attribution =
            crate::attribute_alone(&world.examine_paused(0..60_400, pauses)).expect("a partition");
        attribution
            .segments()
            .iter()
            .find(|segment| segment.range.stop.0 == 60_300)
            .expect("it")
            .cause
            .to_string()
    };
    let in_call = Pauses::from_turns(false, [turn(310, true), turn(60_290, false)]);
    assert!(cause(&in_call).starts_with("kernel.syscall"), "{}", cause(&in_call));
    let before_it = Pauses::from_turns(true, [turn(60_290, false)]);
    assert_eq!(cause(&before_it), "trace.filtered");
}
