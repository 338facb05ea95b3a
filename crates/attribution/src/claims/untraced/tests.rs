//! A trace of user code alone: what the kernel did in between, by records. Times by hand: one tick is one nanosecond.

use model::Certainty;
use perfdata::{LeaveReason, Run, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{IDLE, Script, Table, WORKER, WRITER, World, expected, record, run};

const ON: PtKind = PtKind::Enabled { ip: 0x1020, resumed: false };
const OFF: PtKind = PtKind::Disabled { ip: None, from: None };

fn table() -> Table {
    Table::new(&["entry_SYSCALL_64"], &["work"])
}

/// User code until 100 that ends as `end` says, the kernel until 1000, user code again.
fn entered(table: &Table, end: BlockEnd) -> Script<'_> {
    let mut script = Script::new(table);
    script.block(0, "work", 0, end).event(100, OFF).event(1000, ON).block(1000, "work", 0x20, BlockEnd::Jump);
    script
}

fn fault(time: u64) -> SidebandEvent {
    record(time, 0, WORKER, Side::Begin, EventKind::PageFault { address: 0xabc0, error_code: None })
}

fn vector(time: u64, name: &str, side: Side) -> SidebandEvent {
    record(time, 0, WORKER, side, EventKind::Vector { name: name.into() })
}

/// The records of an interrupt.
fn pair(from: u64, to: u64, name: &str) -> [SidebandEvent; 2] {
    [vector(from, name, Side::Begin), vector(to, name, Side::End)]
}

/// On CPU 0 all the time.
fn stays_there() -> Vec<Run> {
    vec![run(WORKER, 0, 0, 10_000, LeaveReason::Unknown)]
}

/// Off CPU 0 between 400 and 600.
fn leaves(reason: LeaveReason, other: Run) -> Vec<Run> {
    vec![run(WORKER, 0, 0, 400, reason), other, run(WORKER, 0, 600, 10_000, LeaveReason::Unknown)]
}

fn world<'t>(
    table: &'t Table,
    script: &Script<'_>,
    runs: Vec<Run>,
    records: impl IntoIterator<Item = SidebandEvent>,
) -> World<'t> {
    let schedule = Schedule::from_runs(runs);
    let records = records.into_iter().collect();
    World { table, schedule, records, items: script.items.clone(), kernel_traced: false }
}

fn story(runs: Vec<Run>, records: impl IntoIterator<Item = SidebandEvent>) -> Vec<(String, u64)> {
    let table = table();
    world(&table, &entered(&table, BlockEnd::Jump), runs, records).story(0..1100)
}

/// The number of occurrences of each cause.
fn happenings(world: &World<'_>, cause: &str) -> usize {
    let attribution = crate::attribute_alone(&world.examine(0..1100)).expect("a partition");
    let of_cause = attribution.segments().iter().filter(|segment| segment.cause.to_string() == cause);
    of_cause.map(|segment| segment.occurrence).collect::<std::collections::HashSet<_>>().len()
}

/// Bits 0 and 1 of the error code: the page was there, and it was written.
#[test]
fn a_write_to_a_page_that_is_there_says_so() {
    let table = table();
    let words = |error_code| {
        let kind = EventKind::PageFault { address: 0xabc0, error_code };
        let fault = record(150, 0, WORKER, Side::Begin, kind);
        let world = world(&table, &entered(&table, BlockEnd::Jump), stays_there(), [fault]);
        let attribution = crate::attribute_alone(&world.examine(0..1100)).expect("a partition");
        let mut faults = attribution.segments().iter();
        let found = faults.find(|part| part.cause.to_string() == "kernel.page-fault.minor").expect("a fault");
        found.story.object.clone()
    };
    assert_eq!(words(Some(7)), "writes to pages that were not writable, such as copies on write");
    assert_eq!((words(Some(6)), words(None)), (String::new(), String::new()));
}

/// The time after the sleep belongs to the same fault, and that is one. State D alone does not show what it slept for.
#[test]
fn a_fault_that_slept_is_major_on_both_sides_of_the_sleep() {
    let table = table();
    let idle = run(IDLE, 0, 400, 600, LeaveReason::Unknown);
    let runs = leaves(LeaveReason::Slept(Some('D')), idle);
    let world = world(&table, &entered(&table, BlockEnd::Jump), runs, [fault(150)]);
    assert_eq!(
        world.story(0..1100),
        expected(&[
            ("user.expected", 100),
            ("kernel.page-fault.major", 300),
            ("offcpu.other", 200),
            ("kernel.page-fault.major", 400),
            ("user.expected", 100),
        ])
    );
    assert_eq!(happenings(&world, "kernel.page-fault.major"), 1);
}

/// What an interrupt takes before its first record and after its last is attributed to the interrupted fault.
#[test]
fn a_fault_with_an_interrupt_in_it_is_inferred() {
    let table = table();
    let ipi = pair(400, 450, "call_function_single");
    for (records, certainty) in [
        (vec![fault(150)], Certainty::Decoded),
        ([fault(150)].into_iter().chain(ipi).collect(), Certainty::Inferred),
    ] {
        let world = world(&table, &entered(&table, BlockEnd::Jump), stays_there(), records);
        let attribution = crate::attribute_alone(&world.examine(0..1100)).expect("a partition");
        let faults =
            attribution.segments().iter().filter(|part| part.cause.to_string().contains("page-fault"));
        let mut found: Vec<Certainty> = faults.map(|part| part.certainty).collect();
        found.dedup();
        assert_eq!(found, [certainty]);
    }
}

/// `rep stos` into fresh memory: between two faults no instruction retires, so there is no block.
#[test]
fn user_code_that_faults_at_once_is_user_code() {
    let table = table();
    let mut script = entered(&table, BlockEnd::Jump);
    script.items.pop();
    script.event(1040, OFF).event(1140, ON).block(1140, "work", 0x20, BlockEnd::Jump);
    let world = world(&table, &script, stays_there(), [fault(150), fault(1045)]);
    assert_eq!(
        world.story(0..1200),
        expected(&[
            ("user.expected", 100),
            ("kernel.page-fault.minor", 900),
            ("user.expected", 40),
            ("kernel.page-fault.minor", 100),
            ("user.expected", 60),
        ])
    );
}

/// There was no time packet between 50 and 1000: what the thread ran before its sleep is seen again after it.
#[test]
fn what_is_met_twice_does_not_cut_the_silence() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::FarCall).event(100, OFF);
    let before = script.items.clone();
    for item in before {
        // The same bytes, their time as late as it may be.
        let mut again = item;
        match &mut again {
            pt::FlowItem::Block(block) => block.time.not_before = model::Tsc(600),
            pt::FlowItem::Event(event) => event.time.not_before = model::Tsc(600),
            pt::FlowItem::Gap(_) => {}
        }
        script.items.push(again);
    }
    script.event(1000, ON).block(1000, "work", 0x20, BlockEnd::Jump);
    let idle = run(IDLE, 0, 400, 600, LeaveReason::Unknown);
    let call = |time, side| {
        record(time, 0, WORKER, side, EventKind::Syscall { number: 0, arguments: vec![].into() })
    };
    let runs = leaves(LeaveReason::Slept(Some('S')), idle);
    let world = world(&table, &script, runs, [call(150, Side::Begin), call(950, Side::End)]);
    assert_eq!(
        world.story(0..1100),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.read", 50),
            ("kernel.syscall.read", 250),
            ("offcpu.other", 200),
            ("kernel.syscall.read", 350),
            ("kernel.syscall.read", 50),
            ("user.expected", 100),
        ])
    );
    assert_eq!(happenings(&world, "kernel.syscall.read"), 1);
}

/// After the sleep comes code, but tracing did not resume: the trace lacks what was in between.
#[test]
fn a_flow_that_begins_anew_says_nothing_of_the_time_before() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::FarCall).event(100, OFF).block(1000, "work", 0x20, BlockEnd::Jump);
    let idle = run(IDLE, 0, 400, 600, LeaveReason::Unknown);
    let world = world(&table, &script, leaves(LeaveReason::Slept(Some('S')), idle), []);
    assert_eq!(world.story(0..1100)[3], ("trace.loss".to_owned(), 400));
}

#[test]
fn the_only_interrupt_in_a_silence_has_all_of_it() {
    for (name, cause) in [
        ("local_timer", "kernel.timer"),
        ("reschedule", "kernel.ipi.reschedule"),
        ("call_function_single", "kernel.ipi.call-function-single"),
    ] {
        let story = story(stays_there(), pair(200, 800, name));
        let parts =
            [("user.expected", 100), (cause, 100), (cause, 600), (cause, 200), ("user.expected", 100)];
        assert_eq!(story, expected(&parts));
        let table = table();
        let script = entered(&table, BlockEnd::Jump);
        assert_eq!(happenings(&world(&table, &script, stays_there(), pair(200, 800, name)), cause), 1);
    }
}

/// A softirq at the interrupt's end has its own time; nothing else in the silence is an entry.
#[test]
fn what_nests_in_the_interrupt_is_not_its_time() {
    let softirq = |time, side| record(time, 0, WORKER, side, EventKind::Softirq { vector: 9 });
    let records = pair(200, 300, "local_timer").into_iter();
    let records = records.chain([softirq(350, Side::Begin), softirq(700, Side::End)]);
    assert_eq!(
        story(stays_there(), records)[1..6],
        expected(&[
            ("kernel.timer", 100),
            ("kernel.timer", 100),
            ("kernel.timer", 50),
            ("kernel.softirq.rcu", 350),
            ("kernel.timer", 300),
        ])
    );
}

/// No record shows where the exit from one ends and the entry into the other begins, nor which of them continued
/// after both.
#[test]
fn two_interrupts_in_a_silence_share_what_no_record_tells() {
    let records = pair(200, 300, "local_timer").into_iter().chain(pair(500, 600, "reschedule"));
    assert_eq!(
        story(stays_there(), records)[1..6],
        expected(&[
            ("kernel.timer", 100),
            ("kernel.timer", 100),
            ("kernel.unknown", 200),
            ("kernel.ipi.reschedule", 100),
            ("kernel.unknown", 400),
        ])
    );
}

#[test]
fn faults_in_a_row_and_two_interrupts_of_one_kind_are_as_many() {
    let table = table();
    let script = entered(&table, BlockEnd::Jump);
    let faults = world(&table, &script, stays_there(), [fault(150), fault(450), fault(800)]);
    assert_eq!(happenings(&faults, "kernel.page-fault.minor"), 3);
    let minor = |ticks| ("kernel.page-fault.minor", ticks);
    assert_eq!(faults.story(0..1100)[1..4], expected(&[minor(350), minor(350), minor(200)]));
    let records = pair(200, 300, "reschedule").into_iter().chain(pair(500, 600, "reschedule"));
    let interrupts = world(&table, &script, stays_there(), records);
    assert_eq!(happenings(&interrupts, "kernel.ipi.reschedule"), 2);
    assert!(interrupts.story(0..1100).iter().all(|(cause, _)| cause != "kernel.unknown"));
}

/// An interrupt that interrupts a page fault has its own time, what follows it belongs to the fault.
#[test]
fn a_fault_goes_on_behind_the_interrupt_in_it() {
    let records = std::iter::once(fault(150)).chain(pair(500, 600, "local_timer"));
    assert_eq!(
        story(stays_there(), records)[1..4],
        expected(&[
            ("kernel.page-fault.minor", 400),
            ("kernel.timer", 100),
            ("kernel.page-fault.minor", 400)
        ])
    );
}

/// The interrupt requests a switch: after its record the time is the scheduler's, and again when the thread is back.
#[test]
fn behind_an_interrupt_that_preempts_the_scheduler_has_the_time() {
    let writer = run(WRITER, 0, 400, 600, LeaveReason::Unknown);
    assert_eq!(
        story(leaves(LeaveReason::Preempted, writer), pair(200, 300, "reschedule"))[1..6],
        expected(&[
            ("kernel.ipi.reschedule", 100),
            ("kernel.ipi.reschedule", 100),
            ("kernel.schedule", 100),
            ("offcpu.preempted", 200),
            ("kernel.schedule", 400),
        ])
    );
}

/// No interrupt sleeps: the entry has no record, and the interrupt only arrived during it.
#[test]
fn an_interrupt_does_not_name_what_sleeps() {
    let idle = run(IDLE, 0, 400, 600, LeaveReason::Unknown);
    let unknown = |ticks| ("kernel.unknown", ticks);
    assert_eq!(
        story(leaves(LeaveReason::Slept(Some('D')), idle), pair(200, 300, "local_timer"))[1..6],
        expected(&[unknown(100), ("kernel.timer", 100), unknown(100), ("offcpu.other", 200), unknown(400)])
    );
}

/// Records without ends: each shows an entry, and the time between two of them is unknown.
#[test]
fn entries_without_records_of_their_ends() {
    let begins = [vector(200, "local_timer", Side::Begin), vector(500, "reschedule", Side::Begin)];
    assert_eq!(
        story(stays_there(), begins)[1..4],
        expected(&[("kernel.timer", 100), ("kernel.unknown", 300), ("kernel.ipi.reschedule", 500)])
    );
}

#[test]
fn without_records_the_kernel_is_unknown_and_a_call_says_how_many_faults_it_held() {
    let table = table();
    let kernel = |told: Vec<(String, u64)>| told[1].clone();
    assert_eq!(kernel(story(stays_there(), [])), ("kernel.unknown".to_owned(), 900));
    let call = world(&table, &entered(&table, BlockEnd::FarCall), stays_there(), [fault(300), fault(500)]);
    let attribution = crate::attribute_alone(&call.examine(0..1100)).expect("a partition");
    let segment = &attribution.segments()[1];
    assert_eq!(segment.cause.to_string(), "kernel.syscall.unknown");
    assert!(segment.detail.contains("page faults in it: 2"), "{}", segment.detail);
}

/// Event Trace announces vector 3: a breakpoint, and no page fault, whatever is recorded in it.
#[test]
fn an_exception_without_a_cause_is_named_in_the_particulars() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .event(100, PtKind::ControlFlowEvent { kind: 1, vector: 3, ip: None })
        .event(100, OFF)
        .event(1000, ON)
        .block(1000, "work", 0x20, BlockEnd::Jump);
    let attribution =
        crate::attribute_alone(&world(&table, &script, stays_there(), [fault(300)]).examine(0..1100));
    let attribution = attribution.expect("a partition");
    let segment = &attribution.segments()[1];
    assert_eq!((segment.cause.to_string().as_str(), segment.range.ticks().0), ("kernel.unknown", 900));
    assert!(segment.detail.contains("entered by #BP"), "{}", segment.detail);
}

/// On CPU 0 all the time, as far as a record shows it there: there are no switch records.
fn seen_there() -> Vec<Run> {
    stays_there().into_iter().map(|run| Run { start_record: None, stop_record: None, ..run }).collect()
}

const RESUMED: PtKind = PtKind::Enabled { ip: 0x1020, resumed: true };

/// A system call of 900 ns, in which no thread sleeps and comes back, and one of 2,000, in which a thread may.
#[test]
fn without_switch_records_a_long_call_may_be_a_wait() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .event(100, OFF)
        .event(1000, RESUMED)
        .block(1000, "work", 0x20, BlockEnd::FarCall)
        .event(1100, OFF)
        .event(3100, RESUMED)
        .block(3100, "work", 0x40, BlockEnd::Jump);
    let write = |time, side| {
        record(time, 0, WORKER, side, EventKind::Syscall { number: 1, arguments: vec![].into() })
    };
    let records =
        [write(150, Side::Begin), write(950, Side::End), write(1150, Side::Begin), write(3000, Side::End)];
    let world = world(&table, &script, seen_there(), records);
    let attribution = crate::attribute_alone(&world.examine(0..3200)).expect("a partition");
    let told = crate::testing::script::told(&attribution);
    assert_eq!(told.last(), Some(&("user.expected".to_owned(), 100)));
    let of = |cause: &str| told.iter().filter(|(told, _)| told == cause).map(|(_, ticks)| ticks).sum::<u64>();
    assert_eq!(
        (of("user.expected"), of("kernel.syscall.write"), of("unexplained")),
        (300, 900, 2000),
        "{told:?}"
    );
    let unexplained =
        attribution.segments().iter().find(|segment| segment.cause.to_string() == "unexplained");
    let detail = &unexplained.expect("a segment").detail;
    assert!(detail.contains("kernel.syscall.write or off its CPU: no switch record"), "{detail}");
    // Only the marks show whose code it is.
    assert_eq!(attribution.segments()[0].certainty, Certainty::Inferred);
}

/// After the first silence other code runs: the time of the thread's return is unknown, except that it is there at
/// the end.
#[test]
fn without_switch_records_others_code_is_nobodys() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .event(100, OFF)
        .event(2100, ON)
        .block(2100, "work", 0x80, BlockEnd::FarCall)
        .event(2200, OFF)
        .event(4200, RESUMED)
        .block(4200, "work", 0x20, BlockEnd::Jump);
    let alone = world(&table, &script, seen_there(), []);
    assert_eq!(
        alone.story(0..4300),
        expected(&[("user.expected", 100), ("unexplained", 4100), ("user.expected", 100)])
    );
    // With switch records, they show that it never left: a signal is handled.
    let told = world(&table, &script, stays_there(), []);
    assert_eq!(
        told.story(0..4300),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.unknown", 2000),
            ("user.expected", 100),
            ("kernel.syscall.unknown", 2000),
            ("user.expected", 100),
        ])
    );
}
