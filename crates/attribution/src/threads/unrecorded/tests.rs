//! By the records the worker is on its CPU from 0 to 1000; the flow shows otherwise.

use model::{Certainty, Interval, Segment, Tsc};
use perfdata::{LeaveReason, Run, Schedule};
use pt::BlockEnd;

use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, interval, run, told};

/// `syscall` at byte 11 of a block returns to byte 13.
const AFTER_SYSCALL: u64 = 13;

fn table() -> Table {
    let kernel = &[
        "entry_SYSCALL_64",
        "__x64_sys_futex",
        "futex_wait_queue",
        "asm_sysvec_apic_timer_interrupt",
        "preempt_schedule_irq",
        "__schedule",
        "__switch_to_asm",
        "default_idle",
    ];
    Table::new(kernel, &["work", "other"])
}

fn segments(script: &Script<'_>, table: &Table) -> (Vec<Segment>, Vec<(String, u64)>, bool) {
    segments_of(&interval(100..700), script, table, true)
}

/// Where no switches are recorded, another record has shown the worker on its CPU.
fn segments_of(
    interval: &Interval,
    script: &Script<'_>,
    table: &Table,
    records_tell: bool,
) -> (Vec<Segment>, Vec<(String, u64)>, bool) {
    let run = run(WORKER, 0, 0, 1000, LeaveReason::Unknown);
    let run = if records_tell { run } else { Run { start_record: None, stop_record: None, ..run } };
    let schedule = Schedule::from_runs(vec![run]);
    let items = script.items.clone();
    let world = World { table, schedule, records: Vec::new(), items, kernel_traced: true };
    let examined = world.examine_interval(interval);
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    (attribution.segments().to_vec(), told(&attribution), examined.is_consistent())
}

/// From the system call at 100 until the kernel switches at 140.
fn falls_asleep(script: &mut Script<'_>) {
    script
        .block(100, "work", 0, BlockEnd::FarCall)
        .block(110, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(115, "__x64_sys_futex", 0, BlockEnd::Call)
        .block(120, "futex_wait_queue", 0, BlockEnd::Call)
        .block(130, "__schedule", 0, BlockEnd::Call)
        .block(140, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(150, "default_idle", 0, BlockEnd::Jump);
}

/// Out of the scheduler into user code at byte `from` of `function`, at 440.
fn wakes_up(script: &mut Script<'_>, function: &str, from: u64) {
    script
        .block(390, "__schedule", 0, BlockEnd::Call)
        .block(400, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(410, "__schedule", Script::AFTER, BlockEnd::Return)
        .block(420, "futex_wait_queue", Script::AFTER, BlockEnd::Return)
        .block(425, "__x64_sys_futex", Script::AFTER, BlockEnd::Return)
        .block(430, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(440, function, from, BlockEnd::Jump)
        .block(650, function, from, BlockEnd::Jump);
}

#[test]
fn a_wait_without_records_is_a_wait() {
    let table = table();
    let mut script = Script::new(&table);
    falls_asleep(&mut script);
    wakes_up(&mut script, "work", AFTER_SYSCALL);
    let (segments, story, is_consistent) = segments(&script, &table);
    let parts = [
        ("user.expected", 10),
        ("kernel.syscall.futex", 20),
        ("kernel.schedule", 10),
        ("offcpu.lock", 260),
        ("kernel.schedule", 20),
        ("kernel.syscall.futex", 20),
        ("user.expected", 260),
    ];
    assert_eq!(story, expected(&parts));
    assert_eq!(segments[3].certainty, Certainty::Inferred);
    assert!(
        segments[3].detail.ends_with("by the trace: the switch is not recorded"),
        "{}",
        segments[3].detail
    );
    assert!(!is_consistent);
    // The scheduler had run for 10 ticks when it switched, both times.
    assert_eq!(segments[3].edge_uncertainty.0, 10);
}

/// Without any switch record there is no contradiction, and the same is known.
#[test]
fn without_any_record_the_same_is_known() {
    let table = table();
    let mut script = Script::new(&table);
    falls_asleep(&mut script);
    wakes_up(&mut script, "work", AFTER_SYSCALL);
    let (_, with, _) = segments(&script, &table);
    let (_, without, is_consistent) = segments_of(&interval(100..700), &script, &table, false);
    assert_eq!(with, without);
    assert!(is_consistent);
}

/// The thread that received the work may have slept until the last switch.
#[test]
fn who_did_not_begin_it_may_have_slept() {
    let table = table();
    let mut script = Script::new(&table);
    falls_asleep(&mut script);
    wakes_up(&mut script, "work", AFTER_SYSCALL);
    let mut given = interval(100..700);
    (given.start_thread, given.publish) = (Some(WRITER), Some(Tsc(105)));
    let (segments, ..) = segments_of(&given, &script, &table, false);
    let found = segments.iter().find(|segment| segment.range.contains(Tsc(200))).expect("no hole");
    let told = (found.cause.to_string(), found.range.start.0, found.range.stop.0);
    assert_eq!(told, ("unexplained".to_owned(), 105, 400));
}

/// Another thread's code runs in between, at 300.
#[test]
fn who_is_taken_off_is_preempted() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(100, "work", 0, BlockEnd::Jump)
        .interrupt_of(200, "work", 5, "asm_sysvec_apic_timer_interrupt")
        .block(200, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::Call)
        .block(210, "preempt_schedule_irq", 0, BlockEnd::Call)
        .block(220, "__schedule", 0, BlockEnd::Call)
        .block(240, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(300, "other", 0, BlockEnd::FarCall)
        .block(350, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(380, "__schedule", 0, BlockEnd::Call)
        .block(400, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(410, "__schedule", Script::AFTER, BlockEnd::Return)
        .block(420, "preempt_schedule_irq", Script::AFTER, BlockEnd::Return)
        .block(430, "asm_sysvec_apic_timer_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(440, "work", 5, BlockEnd::Jump)
        .block(650, "work", 0, BlockEnd::Jump);
    let parts = [
        ("user.expected", 100),
        ("kernel.timer", 20),
        ("kernel.schedule", 20),
        ("offcpu.preempted", 160),
        ("kernel.schedule", 20),
        ("kernel.timer", 20),
        ("user.expected", 260),
    ];
    assert_eq!(segments(&script, &table).1, expected(&parts));
}

/// Between more switches others ran, maybe at the very instruction where the worker had left. Whether the worker ran
/// in between, too, is unknown. After the last one it is there.
#[test]
fn what_ran_between_more_switches_is_not_known() {
    let table = table();
    for (other, from) in [("other", 0), ("work", AFTER_SYSCALL)] {
        let mut script = Script::new(&table);
        falls_asleep(&mut script);
        script
            .block(200, "__switch_to_asm", 0, BlockEnd::Jump)
            .block(210, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
            .block(220, "other", 0, BlockEnd::FarCall)
            .block(230, "entry_SYSCALL_64", 0, BlockEnd::Call)
            .block(240, "__switch_to_asm", 0, BlockEnd::Jump)
            .block(250, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
            .block(260, other, from, BlockEnd::FarCall)
            .block(270, "entry_SYSCALL_64", 0, BlockEnd::Call);
        wakes_up(&mut script, "work", AFTER_SYSCALL);
        let (segments, ..) = segments(&script, &table);
        let told = (segments[3].cause.to_string(), segments[3].range.start.0, segments[3].range.stop.0);
        assert_eq!(told, ("unexplained".to_owned(), 140, 400), "{other}");
        assert_eq!(segments[3].certainty, Certainty::Unknown);
    }
}

/// The path onto the CPU before any user code, and the path off it after all: those are the records' own switches.
#[test]
fn ways_in_and_out_are_recorded() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(100, "__switch_to_asm", 0, BlockEnd::Jump)
        .block(110, "__schedule", Script::AFTER, BlockEnd::Return)
        .block(120, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(130, "work", AFTER_SYSCALL, BlockEnd::FarCall)
        .block(600, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(650, "__schedule", 0, BlockEnd::Call)
        .block(690, "__switch_to_asm", 0, BlockEnd::Jump);
    let (_, story, is_consistent) = segments(&script, &table);
    assert!(is_consistent && story.iter().all(|(cause, _)| !cause.starts_with("offcpu")), "{story:?}");
}
