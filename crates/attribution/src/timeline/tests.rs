//! Absences in a capture without switch records, by the kernel's switches in the flow of the CPU.

use model::{Certainty, Interval, Segment, Ticks};
use perfdata::{LeaveReason, Run, Schedule};
use pt::BlockEnd;

use crate::script::{Script, Table, WORKER, WRITER, World, interval, run};

fn table() -> Table {
    Table::new(
        &[
            "entry_SYSCALL_64",
            "futex_wait_queue",
            "preempt_schedule",
            "__schedule",
            "__switch_to_asm",
            "do_idle",
        ],
        &["work", "compete"],
    )
}

/// Into the scheduler from the system call at 100, through `way`; `between` runs from 140 on; the way back at 900.
fn script<'t>(table: &'t Table, way: &str, between: impl Fn(&mut Script<'t>)) -> Script<'t> {
    let mut script = Script::new(table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(120, way, 0, BlockEnd::Call)
        .block(130, "__schedule", 0, BlockEnd::Call)
        .block(140, "__switch_to_asm", 0, BlockEnd::Jump);
    between(&mut script);
    script
        .block(890, "__schedule", 0, BlockEnd::Call)
        .block(900, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(910, "__schedule", Script::BEHIND, BlockEnd::Return)
        .block(920, way, Script::BEHIND, BlockEnd::Return)
        .block(930, "entry_SYSCALL_64", Script::BEHIND, BlockEnd::FarReturn)
        .block(940, "work", Script::BEHIND, BlockEnd::Jump);
    script
}

fn segments(table: &Table, script: &Script<'_>, interval: &Interval) -> Vec<Segment> {
    // A record showed the worker on CPU 0 once; no record of a switch.
    let seen = run(WORKER, 0, 0, 2000, LeaveReason::Unknown);
    let schedule = Schedule::from_runs(vec![Run { start_record: None, stop_record: None, ..seen }]);
    let (records, items) = (Vec::new(), script.items.clone());
    let world = World { table, schedule, records, items, kernel_traced: true };
    crate::attribute_alone(&world.examine_interval(interval)).expect("a partition").segments().to_vec()
}

/// The cause that covers the time from 140 to 900, and how far its edges may be off.
fn absence(table: &Table, script: &Script<'_>, interval: &Interval) -> (String, Certainty, Ticks) {
    let segments = segments(table, script, interval);
    assert!(!segments.iter().any(|segment| segment.detail.contains("compete")), "{segments:?}");
    let found = segments.iter().find(|segment| segment.range.contains(model::Tsc(500))).expect("no hole");
    assert_eq!(found.range.stop.0, 900, "{segments:?}");
    (found.cause.to_string(), found.certainty, found.edge_uncertainty)
}

fn idle(script: &mut Script<'_>) {
    script.block(200, "do_idle", 0, BlockEnd::Jump);
}

/// The scheduler began at 130 and at 890: its decisions lie up to 10 ticks before the switches.
#[test]
fn two_switches_are_one_absence() {
    let table = table();
    for (way, cause) in [("futex_wait_queue", "offcpu.lock"), ("preempt_schedule", "offcpu.preempted")] {
        let script = script(&table, way, idle);
        let told = absence(&table, &script, &interval(50..1000));
        assert_eq!(told, (cause.to_owned(), Certainty::Decoded, Ticks(10)));
    }
}

/// Between more switches others ran, and nothing tells whether the worker did, too. It is not blamed for theirs.
#[test]
fn more_switches_leave_the_time_unexplained() {
    let table = table();
    let script = script(&table, "futex_wait_queue", |script| {
        idle(script);
        script
            .block(300, "__switch_to_asm", 0, BlockEnd::FarReturn)
            .block(310, "compete", 0, BlockEnd::FarCall)
            .block(600, "__switch_to_asm", 0, BlockEnd::Jump);
    });
    let (cause, certainty, _) = absence(&table, &script, &interval(50..1000));
    assert_eq!((cause.as_str(), certainty), ("unexplained", Certainty::Unknown));
}

/// Who was given the work may not have been on the CPU before the first switch.
#[test]
fn who_did_not_begin_it_may_have_slept() {
    let table = table();
    let script = script(&table, "futex_wait_queue", idle);
    let mut given = interval(50..1000);
    (given.start_thread, given.publish) = (Some(WRITER), Some(model::Tsc(60)));
    let told = segments(&table, &script, &given);
    let found = told.iter().find(|segment| segment.range.contains(model::Tsc(100))).expect("no hole");
    assert_eq!((found.cause.to_string().as_str(), found.range.start.0), ("unexplained", 60), "{told:?}");
}
