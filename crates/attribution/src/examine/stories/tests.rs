//! Hand-made flows: whose code an exception of any runtime is, and a runtime's handler of a signal.

use model::Segment;
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use crate::compare::attribute;
use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, record, run};

const KERNEL: &[&str] = &["asm_exc_page_fault"];
const USER: &[&str] = &[
    "scan",
    "read_label",
    "__gnat_raise",
    "_Unwind_RaiseException",
    "__gnat_error_handler",
    "__gnat_begin_handler",
    "open_label",
    "close_label",
    "fpc_pushexceptaddr",
    "fpc_raiseexception",
    "fpc_reraise",
    "fpc_doneexception",
    "raiseExceptionEx",
    "popCurrentException",
    "calloc",
];

/// Place, what the place had called, and object of each segment of user code from 0 to `until`.
fn places(script: &Script<'_>, table: &Table, until: u64) -> Vec<(String, String, String)> {
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 2 * until, LeaveReason::Unknown)]);
    let world =
        World { table, schedule, records: Vec::new(), items: script.items.clone(), kernel_traced: true };
    let attribution = attribute(&world.examine(0..until), &[], table).expect("a partition");
    let user = attribution.segments().iter().filter(|segment| !segment.cause.is_kernel());
    user.map(|segment| {
        let story = &segment.story;
        (story.place.clone(), story.through.clone(), story.object.clone())
    })
    .collect()
}

fn named(place: &str, through: &str, object: &str) -> (String, String, String) {
    (place.to_owned(), through.to_owned(), object.to_owned())
}

/// `read_label` raises, in the words of no runtime that is known: what it calls unwinds.
#[test]
fn what_mostly_unwinds_throws() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "scan", 0, BlockEnd::Call)
        .block(10, "read_label", 0, BlockEnd::Call)
        .block(20, "__gnat_raise", 0, BlockEnd::Call)
        .block(30, "_Unwind_RaiseException", 0, BlockEnd::Return)
        .block(900, "scan", Script::AFTER, BlockEnd::Call)
        .block(910, "__gnat_begin_handler", 0, BlockEnd::Return)
        .block(920, "scan", 2 * Script::AFTER, BlockEnd::Jump);
    let thrown = named("read_label()", "__gnat_raise()", "an exception, caught in scan()");
    assert_eq!(places(&script, &table, 930), [thrown]);
}

/// A function of a library that has a small part of its time in the unwinder did something else.
#[test]
fn what_throws_now_and_then_is_no_exception() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "scan", 0, BlockEnd::Call)
        .block(10, "__gnat_raise", 0, BlockEnd::Call)
        .block(700, "_Unwind_RaiseException", 0, BlockEnd::Return)
        .block(900, "__gnat_raise", Script::AFTER, BlockEnd::Jump);
    assert_eq!(places(&script, &table, 930), [named("scan()", "__gnat_raise()", "")]);
}

/// `scan` enters a handler, `open_label` another one, `read_label` raises: each has a small part of the work. Where nothing is raised, entering handlers is
/// what it is.
#[test]
fn what_raises_again_and_again_is_one_exception() {
    let table = Table::new(KERNEL, USER);
    let flow = |raises: bool| {
        let mut script = Script::new(&table);
        script
            .block(0, "scan", 0, BlockEnd::Call)
            .block(10, "open_label", 0, BlockEnd::Call)
            .block(20, "fpc_pushexceptaddr", 0, BlockEnd::Return)
            .block(300, "open_label", Script::AFTER, BlockEnd::Call);
        if raises {
            script
                .block(310, "read_label", 0, BlockEnd::Call)
                .block(320, "fpc_raiseexception", 0, BlockEnd::Jump)
                .block(420, "open_label", 2 * Script::AFTER, BlockEnd::Call)
                .block(430, "fpc_reraise", 0, BlockEnd::Jump)
                .block(800, "scan", Script::AFTER, BlockEnd::Call)
                .block(810, "fpc_doneexception", 0, BlockEnd::Return)
                .block(900, "scan", 2 * Script::AFTER, BlockEnd::Jump);
        } else {
            script.block(310, "close_label", 0, BlockEnd::Jump);
        }
        places(&script, &table, 930)
    };
    assert_eq!(flow(true), [named("read_label()", "fpc_raiseexception()", "an exception, caught in scan()")]);
    assert_eq!(flow(false), [named("close_label()", "", "")]);
}

/// Most below the handler is an exception's; what else it calls afterwards is not. A part of a segment that has less than its exceptions is.
#[test]
fn what_a_handler_calls_besides_is_no_exception() {
    let table = Table::new(KERNEL, USER);
    let flow = |raised: u64, fault: Option<u64>| {
        let mut script = Script::new(&table);
        script
            .block(0, "scan", 0, BlockEnd::Call)
            .block(10, "read_label", 0, BlockEnd::Call)
            .block(20, "fpc_raiseexception", 0, BlockEnd::Jump)
            .block(20 + raised, "scan", Script::AFTER, BlockEnd::Call)
            .block(30 + raised, "fpc_doneexception", 0, BlockEnd::Return)
            .block(600, "scan", 2 * Script::AFTER, BlockEnd::Call)
            .block(610, "close_label", 0, BlockEnd::ConditionalBranch);
        if let Some(at) = fault {
            script
                .interrupt_of(at, "close_label", 0x20, "asm_exc_page_fault")
                .block(at, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
                .block(at + 10, "close_label", 0x20, BlockEnd::ConditionalBranch);
        }
        places(&script, &table, 930)
    };
    let thrown = named("read_label()", "fpc_raiseexception()", "an exception, caught in scan()");
    assert_eq!(flow(560, Some(620)), [thrown.clone(), named("close_label()", "", "")]);
    // 300 and 270 ticks of exceptions, 320 of `close_label`.
    assert_eq!(flow(300, None), [thrown]);
}

/// Of two handlers, one in what the other calls, each has its own exception.
#[test]
fn each_handler_has_its_exception() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "scan", 0, BlockEnd::Call)
        .block(10, "open_label", 0, BlockEnd::Call)
        .block(20, "read_label", 0, BlockEnd::Call)
        .block(30, "fpc_raiseexception", 0, BlockEnd::Jump)
        .block(200, "open_label", Script::AFTER, BlockEnd::Call)
        .block(210, "fpc_doneexception", 0, BlockEnd::Return)
        .block(250, "open_label", 2 * Script::AFTER, BlockEnd::Return)
        .interrupt_of(260, "scan", Script::AFTER, "asm_exc_page_fault")
        .block(260, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(270, "scan", Script::AFTER, BlockEnd::Call)
        .block(280, "close_label", 0, BlockEnd::Call)
        .block(290, "fpc_raiseexception", 0, BlockEnd::Jump)
        .block(800, "scan", 2 * Script::AFTER, BlockEnd::Call)
        .block(810, "fpc_doneexception", 0, BlockEnd::Return)
        .block(900, "scan", 3 * Script::AFTER, BlockEnd::Jump);
    let places: Vec<String> = places(&script, &table, 930).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(places, ["read_label()", "close_label()"]);
}

/// `read_label` makes an exception, sets a flag and returns, as `open_label` does; `scan` takes it off a list, in a call or by code that was inlined.
/// Where it raises in one of three calls, or does much more than make one, what it does besides is no exception.
#[test]
fn what_returns_an_error_raises_an_exception() {
    const AFTER: u64 = Script::AFTER;
    let flow_of = |table: &Table, calls: &[bool], pops: bool, rounds: u64| {
        let mut script = Script::new(table);
        script.block(0, "scan", 0, BlockEnd::Call);
        for (at, &raises) in (10..).step_by(300).zip(calls) {
            script
                .block(at, "open_label", 0, BlockEnd::Call)
                .block(at + 10, "read_label", 0, BlockEnd::Call)
                .block(at + 20, "calloc", 0, BlockEnd::ConditionalBranch);
            for round in 0..rounds {
                script.block(at + 20 + 200 * round / rounds, "calloc", 0x20, BlockEnd::ConditionalBranch);
            }
            script.block(at + 240, "calloc", 0x40, BlockEnd::Return);
            if raises {
                script.block(at + 250, "read_label", AFTER, BlockEnd::Call);
                script.block(at + 255, "raiseExceptionEx", 0, BlockEnd::Return);
            }
            script.block(at + 260, "read_label", 2 * AFTER, BlockEnd::Return);
            script.block(at + 270, "open_label", AFTER, BlockEnd::Return);
            if pops {
                script.block(at + 280, "scan", AFTER, BlockEnd::Call);
                script.block(at + 285, "popCurrentException", 0, BlockEnd::Return);
            }
            script.block(at + 290, "scan", 2 * AFTER, BlockEnd::Call);
        }
        places(&script, table, 300 * calls.len() as u64 + 5)
    };
    let flow = |table: &Table, calls: &[bool], pops: bool| flow_of(table, calls, pops, 10);
    let table = Table::new(KERNEL, USER);
    let inlined =
        Table::new(KERNEL, USER).with_inlined(("scan", 2 * AFTER, 3 * AFTER, &["popCurrentException"]));
    let did = |object| [named("read_label()", "calloc()", object)];
    assert_eq!(flow(&table, &[true], true), did("an exception, caught in scan()"));
    assert_eq!(flow(&table, &[true], false), did("an exception"));
    assert_eq!(flow(&inlined, &[true], false), did("an exception, caught in scan()"));
    assert_eq!(flow(&inlined, &[false], false), did(""));
    assert_eq!(flow(&table, &[true, false, false], true), did(""));
    assert_eq!(flow_of(&table, &[true], true, 600), did(""));
}

/// A fault in `read_label`, of which the runtime's handler makes an exception.
#[test]
fn a_runtimes_handler_stands_for_what_was_interrupted() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "scan", 0, BlockEnd::Call)
        .block(10, "read_label", 0, BlockEnd::ConditionalBranch)
        .interrupt_of(20, "read_label", 0x20, "asm_exc_page_fault")
        .block(20, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(30, "__gnat_error_handler", 0, BlockEnd::Call)
        .block(40, "_Unwind_RaiseException", 0, BlockEnd::Jump);
    let object = "an exception for its own page fault";
    let thrown = named("read_label()", "__gnat_error_handler()", object);
    assert_eq!(places(&script, &table, 930).last(), Some(&thrown));
}

/// What the writer, whose flow `script` is, did first while the worker waited from 100 to 890, when the writer woke it.
fn below_a_wait(table: &Table, script: Script<'_>, earlier: Option<SidebandEvent>) -> Segment {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WORKER, 0, 900, 2000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 2000, LeaveReason::Unknown),
    ]);
    let wake = EventKind::Waking { target: WORKER.tid, by_waker: true };
    let records = earlier.into_iter().chain([record(890, 1, WRITER, Side::Begin, wake)]).collect();
    let world = World { table, schedule, records, items: script.items, kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..1000)).expect("a partition");
    attribution.segments()[0].during[0].clone()
}

/// The writer ends the worker's wait while it is in a library that its own function called before the trace of the wait begins: it returns there
/// afterwards.
#[test]
fn whose_call_a_library_worked_for_shows_when_it_returns() {
    let table = Table::new(&[], &["work", "qsort", "report", "serve"]);
    for (returns, place) in [(true, "report() called by serve()"), (false, "qsort()")] {
        let mut script = Script::of(&table, WRITER);
        for at in (0..900).step_by(100) {
            script.block(at, "qsort", 0x40, BlockEnd::ConditionalBranch);
        }
        if returns {
            script
                .block(920, "qsort", 0x80, BlockEnd::Return)
                .block(930, "report", Script::AFTER, BlockEnd::Return)
                .block(940, "serve", Script::AFTER, BlockEnd::ConditionalBranch);
        }
        let below = below_a_wait(&table, script, None);
        assert_eq!(below.story.place, place, "{below:?}");
    }
}

/// The same, while it is in a system call all the time.
#[test]
fn whose_system_call_it_was_shows_when_it_returns() {
    let table = Table::new(&["do_syscall_64"], &["work", "report", "serve"]);
    let mut script = Script::of(&table, WRITER);
    for at in (0..900).step_by(100) {
        script.block(at, "do_syscall_64", 0x40, BlockEnd::ConditionalBranch);
    }
    script
        .block(920, "do_syscall_64", 0x80, BlockEnd::FarReturn)
        .block(930, "report", Script::AFTER, BlockEnd::Return)
        .block(940, "serve", Script::AFTER, BlockEnd::ConditionalBranch);
    let write = EventKind::Syscall { number: 1, arguments: vec![3].into() };
    let below = below_a_wait(&table, script, Some(record(10, 1, WRITER, Side::Begin, write)));
    assert_eq!((below.cause.to_string(), &*below.story.place), ("kernel.syscall.write".into(), "report()"));
}
