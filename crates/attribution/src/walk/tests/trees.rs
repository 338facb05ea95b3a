//! The tree of user calls where no return shows the way: tail calls, exceptions, signals, callers that are not known at first.

use super::*;
use crate::walk::call_path::CallPath;
use crate::walk::roots;

const NAMES: &[&str] = &[
    "loop",
    "work",
    "outer",
    "inner",
    "throw",
    "unwinder",
    "on_signal",
    "restorer",
    "handler",
    "other",
    "outer.cold",
];

fn table() -> Table {
    Table::new(KERNEL, NAMES)
}

/// The path to each run of `function`, innermost first.
fn paths<'a>(activity: &'a Activity, function: &'a str) -> Vec<String> {
    let of = activity.runs.iter().filter(|run| run.function.as_deref() == Some(function));
    of.map(|run| activity.code.path(run.node)).collect()
}

/// Two functions that take turns by jumps: neither is below the other's last turn.
#[test]
fn functions_that_take_turns_do_not_grow() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(10, "work", 0, BlockEnd::Call);
    for turn in 0..100 {
        script.block(20 + turn * 20, "outer", 0, BlockEnd::Jump).block(
            30 + turn * 20,
            "inner",
            0,
            BlockEnd::Jump,
        );
    }
    let activity = walk(&table, &script, 5000);
    assert!(paths(&activity, "inner").iter().all(|path| path == "inner < outer < work"));
    assert!(paths(&activity, "outer").iter().all(|path| path == "outer < work"));
}

/// `throw` is called by `inner`, which `outer` called; the unwinder returns to a landing pad that the compiler split off `outer`.
#[test]
fn an_exception_may_be_caught_in_a_part_of_its_own() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .block(20, "outer", 0, BlockEnd::Call)
        .block(30, "inner", 0, BlockEnd::Call)
        .block(40, "throw", 0, BlockEnd::Call)
        .block(50, "unwinder", 0, BlockEnd::Return)
        .block(60, "outer.cold", 0, BlockEnd::Call)
        .block(70, "handler", 0, BlockEnd::Return)
        .block(80, "outer", 0x50, BlockEnd::Return)
        .block(90, "work", Script::AFTER, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(paths(&activity, "throw"), ["throw < inner < outer"]);
    assert_eq!(paths(&activity, "handler"), ["handler < outer < work"]);
    assert_eq!(paths(&activity, "outer.cold"), ["outer < work"]);
    assert_eq!(paths(&activity, "work"), ["work", "work"]);
}

/// An interrupt in `outer`; the kernel resumes the thread in a signal's handler, and then where it was interrupted.
#[test]
fn a_handler_stands_below_the_signal() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .block(20, "outer", 0, BlockEnd::ConditionalBranch)
        .interrupt_of(30, "outer", 0x20, "asm_sysvec_apic_timer_interrupt")
        .block(30, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::FarReturn)
        .block(40, "on_signal", 0, BlockEnd::Call)
        .block(50, "inner", 0, BlockEnd::Return)
        .block(60, "on_signal", Script::AFTER, BlockEnd::Return)
        .block(70, "restorer", 0, BlockEnd::FarCall)
        .block(80, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(90, "outer", 0x20, BlockEnd::Call)
        .block(95, "other", 0, BlockEnd::Return);
    let activity = walk(&table, &script, 100);
    assert_eq!(paths(&activity, "inner"), ["inner < on_signal < <signal handler called>"]);
    assert_eq!(paths(&activity, "outer"), ["outer < work", "outer < work"]);
    assert_eq!(paths(&activity, "other"), ["other < outer < work"]);
}

/// The same by user code alone: the kernel is not traced, whose interrupt broke `outer` off.
#[test]
fn a_handler_is_known_where_only_user_code_is_traced() {
    let table = table();
    let (hit, handler) = (table.start("outer") + 0x20, table.start("on_signal"));
    let broken_off = EventKind::Disabled { ip: None, from: Some(hit) };
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .block(20, "outer", 0, BlockEnd::ConditionalBranch)
        .event(30, broken_off)
        .event(40, EventKind::Enabled { ip: handler, resumed: false })
        .block(40, "on_signal", 0, BlockEnd::Call)
        .block(50, "inner", 0, BlockEnd::Return)
        .block(60, "on_signal", Script::AFTER, BlockEnd::Return)
        .block(70, "restorer", 0, BlockEnd::FarCall)
        .event(75, EventKind::Disabled { ip: None, from: None })
        .event(90, EventKind::Enabled { ip: hit, resumed: false })
        .block(90, "outer", 0x20, BlockEnd::Call)
        .block(95, "other", 0, BlockEnd::Return);
    let activity = walk(&table, &script, 100);
    assert_eq!(paths(&activity, "inner"), ["inner < on_signal < <signal handler called>"]);
    assert_eq!(paths(&activity, "outer"), ["outer < work", "outer < work"]);
    assert_eq!(paths(&activity, "other"), ["other < outer < work"]);
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .event(20, EventKind::Disabled { ip: None, from: Some(table.start("outer")) })
        .event(30, EventKind::Enabled { ip: table.start("outer"), resumed: true })
        .block(30, "outer", 0, BlockEnd::Return);
    assert_eq!(
        paths(&walk(&table, &script, 100), "outer"),
        ["outer < work"],
        "a fault at its first instruction"
    );
}

/// `work` is broken off at 1000, and `on_signal` runs first from 5000 on.
fn broken_off<'t>(table: &'t Table, between: &[(u64, EventKind)]) -> Script<'t> {
    let handler = table.start("on_signal");
    let mut script = Script::new(table);
    script
        .block(10, "work", 0, BlockEnd::ConditionalBranch)
        .event(1000, EventKind::Disabled { ip: None, from: Some(table.start("work") + 0x20) });
    for &(at, event) in between {
        script.event(at, event);
    }
    script.event(5000, EventKind::Enabled { ip: handler, resumed: false }).block(
        5000,
        "on_signal",
        0,
        BlockEnd::Jump,
    );
    script
}

/// The page of the handler's first instruction has to be brought in: the thread stands there before it runs.
#[test]
fn a_handler_that_faults_first_is_one() {
    let table = table();
    let handler = table.start("on_signal");
    let faults = [
        (2000, EventKind::Enabled { ip: handler, resumed: false }),
        (2010, EventKind::Disabled { ip: None, from: Some(handler) }),
    ];
    for between in [&[][..], &faults] {
        let activity = walk(&table, &broken_off(&table, between), 6000);
        let runs = paths(&activity, "on_signal");
        assert_eq!(
            runs.last().map(String::as_str),
            Some("on_signal < <signal handler called> < work"),
            "{between:?}"
        );
    }
}

/// Any code may have run in between.
#[test]
fn where_a_paused_trace_goes_on_says_nothing_of_a_signal() {
    let table = table();
    let pause = TscRange::new(Tsc(1010), Tsc(4990));
    let activity = walk_paused(&table, &broken_off(&table, &[]), 6000, vec![pause]);
    assert!(
        !paths(&activity, "on_signal")[0].contains("signal handler"),
        "{:?}",
        paths(&activity, "on_signal")
    );
}

/// A page fault at a function's first instruction resumes there: that is no signal.
#[test]
fn a_fault_at_a_first_instruction_is_no_signal() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Call)
        .interrupt_of(20, "outer", 0, "asm_exc_page_fault")
        .block(20, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(30, "outer", 0, BlockEnd::Return);
    let activity = walk(&table, &script, 100);
    assert_eq!(paths(&activity, "outer"), ["outer < work"]);
}

/// The interval begins at 20, in `work`. Where the sync point lies decides whether `loop`'s call is known: the trees are the same.
#[test]
fn callers_that_did_not_run_change_no_tree() {
    let table = table();
    let walked = |knows_caller: bool| {
        let mut script = Script::new(&table);
        if knows_caller {
            script.block(10, "loop", 0, BlockEnd::Call);
        }
        script.block(20, "work", 0, BlockEnd::Call).block(30, "inner", 0, BlockEnd::Return).block(
            40,
            "work",
            Script::AFTER,
            BlockEnd::Jump,
        );
        let mut activity = walk(&table, &script, 100);
        roots::settle(&mut activity, TscRange::new(Tsc(20), Tsc(100)));
        let nodes = activity.runs.iter().filter(|run| run.range.start >= Tsc(20)).map(|run| run.node);
        (nodes.collect::<Vec<_>>(), paths(&activity, "inner"))
    };
    assert_eq!(walked(true), walked(false));
    assert_eq!(walked(true).1, ["inner < work"]);
}

/// A function without a known caller returned to `work`: that is its caller.
#[test]
fn a_return_shows_the_caller() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(10, "inner", 0x40, BlockEnd::Return).block(20, "work", 0x40, BlockEnd::Call).block(
        30,
        "other",
        0,
        BlockEnd::Return,
    );
    let mut activity = walk(&table, &script, 100);
    roots::settle(&mut activity, TscRange::new(Tsc(0), Tsc(100)));
    assert_eq!(paths(&activity, "inner"), ["inner < work"]);
    assert_eq!(paths(&activity, "other"), ["other < work"]);
}

/// The flow begins in the kernel, where the thread goes away at 50; later it returns through `other` to `work`.
#[test]
fn returns_show_who_called_what_slept() {
    let table = table();
    let mut away = Script::new(&table);
    away.block(10, "__schedule", 0x20, BlockEnd::FallThrough);
    let mut back = Script::new(&table);
    back.block(107, "__schedule", 0x20, BlockEnd::FarReturn)
        .block(110, "inner", 0x40, BlockEnd::Return)
        .block(115, "other", 0x40, BlockEnd::Return)
        .block(120, "work", 0x40, BlockEnd::Call)
        .block(125, "inner", 0, BlockEnd::Return);
    let mut walker = Walker::new(&table, STALL);
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    away.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(50));
    walker.switch_in(Some(Cpu(0)), Tsc(100));
    back.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(130));
    let activity = walker.finish(Tsc(130));
    let path = CallPath::at_end(&activity.paths, Tsc(50)).expect("a path");
    let user: Vec<&str> = path.user.iter().map(|site| &*site.function).collect();
    assert_eq!(user, ["work", "other", "inner"]);
    assert_eq!(path.kernel.len(), 1);
}
