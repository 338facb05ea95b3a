//! The call tree of user code, with flows worked out by hand: who called whom, and how often.

use std::collections::BTreeMap;

use pt::BlockEnd;

use super::walk;
use crate::testing::script::{Script, Table};
use crate::walk::activity::Activity;

const USER: &[&str] = &[
    "main",
    "parse",
    "fail",
    "longjmp",
    "catch",
    "resume",
    "swapcontext",
    "runtime.gogo",
    "gogo",
    "runtime.mcall",
    "runtime.stoplockedm",
    "runtime.morestack",
    "runtime.newstack",
    "runtime.recovery",
    "runtime.goexit.abi0",
    "runtime.newstack.abi0",
    "memmove",
    "step",
];

fn table() -> Table {
    Table::new(&["entry_SYSCALL_64", "asm_exc_page_fault"], USER)
}

/// Calls by the path of the function, those that ran without a call too.
fn tree(activity: &Activity) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for run in &activity.runs {
        *calls.entry(activity.code.path(run.node)).or_default() += run.calls;
    }
    calls
}

fn expected(paths: &[(&str, u64)]) -> BTreeMap<String, u64> {
    paths.iter().map(|&(path, calls)| (path.to_owned(), calls)).collect()
}

/// All between two time packets: each call counts, though no time passes in it.
#[test]
fn calls_without_time_count() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(10, "main", 0x100, BlockEnd::Jump);
    for _ in 0..5 {
        script
            .block(10, "main", 0x20, BlockEnd::Call)
            .block(10, "parse", 0, BlockEnd::Call)
            .block(10, "step", 0, BlockEnd::Return)
            .block(10, "parse", Script::AFTER, BlockEnd::Return)
            .block(10, "main", 0x30, BlockEnd::Jump);
    }
    script.block(50, "main", 0x60, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    assert_eq!(tree, expected(&[("main", 0), ("parse < main", 5), ("step < parse < main", 5)]));
}

/// `parse` ends in a jump to `step`, which returns to `main`.
#[test]
fn a_tail_call_is_a_call() {
    let table = table();
    let mut script = Script::new(&table);
    for at in [10, 110] {
        script
            .block(at, "main", 0x20, BlockEnd::Call)
            .block(at + 10, "parse", 0, BlockEnd::Jump)
            .block(at + 20, "step", 0, BlockEnd::Return)
            .block(at + 30, "main", 0x30, BlockEnd::Jump);
    }
    let tree = tree(&walk(&table, &script, 200));
    assert_eq!(tree, expected(&[("main", 0), ("parse < main", 2), ("step < parse < main", 2)]));
}

/// A template's functions for two types have one name, and one goes on in the other by a jump: both are called.
#[test]
fn a_jump_to_another_function_of_the_name_is_a_call() {
    let table = Table::new(&[], &["main", "store", "store", "store.cold"]);
    let mut script = Script::new(&table);
    for at in [10, 110] {
        script
            .block(at, "main", 0x20, BlockEnd::Call)
            .block(at + 10, "store", 0, BlockEnd::Jump)
            .block(at + 20, "store", 0x1000, BlockEnd::ConditionalBranch)
            // A loop, and a part that the compiler moved away.
            .block(at + 22, "store", 0x1000, BlockEnd::ConditionalBranch)
            .block(at + 25, "store.cold", 0, BlockEnd::Jump)
            .block(at + 27, "store", 0x1000, BlockEnd::Return)
            .block(at + 30, "main", 0x30, BlockEnd::Jump);
    }
    assert_eq!(tree(&walk(&table, &script, 200)), expected(&[("main", 0), ("store < main", 4)]));
}

/// The same, and `step` makes a system call in which the thread leaves its CPU.
#[test]
fn where_a_thread_was_holds_tail_calls() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Jump)
        .block(30, "step", 0, BlockEnd::Call)
        .block(40, "memmove", 0, BlockEnd::FarCall)
        .block(50, "entry_SYSCALL_64", 0, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    let path: Vec<&str> = activity.paths[0].user.iter().map(|site| &*site.function).collect();
    assert_eq!(path, ["main", "parse", "step", "memmove"]);
}

/// `main` calls `parse`, that `fail`, that `longjmp`, which jumps into the middle of `main`. What `main` calls then is called by
/// `main` alone.
#[test]
fn longjmp_cuts_the_stack() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Call)
        .block(30, "fail", 0, BlockEnd::Call)
        .block(40, "longjmp", 0, BlockEnd::Jump)
        .block(50, "main", 0x80, BlockEnd::Call)
        .block(60, "step", 0, BlockEnd::Return)
        .block(70, "main", 0x90, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    let paths = [
        ("main", 0),
        ("parse < main", 1),
        ("fail < parse < main", 1),
        ("longjmp < fail < parse", 1),
        ("step < main", 1),
    ];
    assert_eq!(tree, expected(&paths));
}

/// The unwinder returns to a landing pad in the middle of `parse`, which then returns to `main`.
#[test]
fn an_exception_cuts_the_stack_where_it_is_caught() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Call)
        .block(30, "fail", 0, BlockEnd::Call)
        .block(40, "resume", 0, BlockEnd::Return)
        .block(50, "parse", 0x80, BlockEnd::Call)
        .block(60, "catch", 0, BlockEnd::Return)
        .block(70, "parse", 0x90, BlockEnd::Return)
        .block(80, "main", 0x30, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    let paths = [
        ("main", 0),
        ("parse < main", 1),
        ("fail < parse < main", 1),
        ("resume < fail < parse", 1),
        ("catch < parse < main", 1),
    ];
    assert_eq!(tree, expected(&paths));
}

/// `main` changes to the stack of a coroutine, which stands in `parse`; that calls `step` and changes back.
#[test]
fn a_coroutine_has_a_stack_of_its_own() {
    let table = table();
    let mut script = Script::new(&table);
    for at in [10, 110] {
        script
            .block(at, "main", 0x20, BlockEnd::Call)
            .block(at + 10, "swapcontext", 0, BlockEnd::Return)
            .block(at + 20, "parse", 0x80, BlockEnd::Call)
            .block(at + 30, "step", 0, BlockEnd::Return)
            .block(at + 40, "parse", 0x90, BlockEnd::Call)
            .block(at + 50, "swapcontext", 0, BlockEnd::Return)
            .block(at + 60, "main", 0x30, BlockEnd::Jump);
    }
    let tree = tree(&walk(&table, &script, 300));
    let paths = [
        ("main", 0),
        ("swapcontext < main", 2),
        ("parse", 0),
        ("step < parse", 2),
        ("swapcontext < parse", 2),
    ];
    assert_eq!(tree, expected(&paths));
}

/// Go's scheduler jumps to where a goroutine stood.
#[test]
fn a_goroutine_has_a_stack_of_its_own() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "runtime.gogo", 0, BlockEnd::Jump)
        .block(30, "parse", 0x80, BlockEnd::Call)
        .block(40, "step", 0, BlockEnd::Return)
        .block(50, "parse", 0x90, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    assert_eq!(tree, expected(&[("main", 0), ("runtime.gogo < main", 1), ("parse", 0), ("step < parse", 1)]));
}

/// `runtime.gogo` jumps to `gogo`, as to any function: only that one leaves the stack.
#[test]
fn the_scheduler_s_jump_is_in_two_functions() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "runtime.gogo", 0, BlockEnd::Jump)
        .block(25, "gogo", 0, BlockEnd::Jump)
        .block(30, "parse", 0x80, BlockEnd::Call)
        .block(40, "step", 0, BlockEnd::Return)
        .block(50, "parse", 0x90, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    let paths = [
        ("main", 0),
        ("runtime.gogo < main", 1),
        ("gogo < runtime.gogo < main", 1),
        ("parse", 0),
        ("step < parse", 1),
    ];
    assert_eq!(tree, expected(&paths));
}

/// A new one begins where its function does, and has no caller.
#[test]
fn a_new_goroutine_has_no_caller() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "runtime.gogo", 0, BlockEnd::Jump)
        .block(30, "parse", 0, BlockEnd::Call)
        .block(40, "step", 0, BlockEnd::Return)
        .block(50, "parse", Script::AFTER, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    assert_eq!(tree, expected(&[("main", 0), ("runtime.gogo < main", 1), ("parse", 1), ("step < parse", 1)]));
}

/// A goroutine's function returns to where all of them end: that has called none of them.
#[test]
fn the_end_of_a_goroutine_is_no_caller() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "parse", 0x20, BlockEnd::Return)
        .block(20, "runtime.goexit.abi0", 0x10, BlockEnd::Call)
        .block(30, "fail", 0, BlockEnd::Return);
    let tree = tree(&walk(&table, &script, 100));
    assert_eq!(tree, expected(&[("parse", 0), ("runtime.goexit", 0), ("fail < runtime.goexit", 1)]));
}

/// Go's functions have a second name for calls from assembly, which is not shown.
#[test]
fn a_function_under_two_names_of_go_is_one() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "runtime.morestack", 0x20, BlockEnd::Call)
        .block(20, "runtime.newstack.abi0", 0, BlockEnd::Call)
        .block(30, "runtime.newstack", 0, BlockEnd::Return);
    let activity = walk(&table, &script, 100);
    let paths: Vec<String> = activity.runs.iter().map(|run| activity.code.path(run.node)).collect();
    let newstack = "runtime.newstack < runtime.morestack";
    assert_eq!(paths, ["runtime.morestack", newstack, newstack]);
}

/// `step`, which `parse` called, needs more stack: `newstack` copies the stack and jumps back into `step`, whose callers are the same.
#[test]
fn a_stack_that_is_moved_is_the_same_stack() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Call)
        .block(30, "step", 0, BlockEnd::Call)
        .block(40, "runtime.morestack", 0, BlockEnd::Call)
        .block(50, "runtime.newstack", 0, BlockEnd::Call)
        .block(60, "runtime.gogo", 0, BlockEnd::Jump)
        .block(70, "step", Script::AFTER, BlockEnd::Jump)
        .block(80, "step", 0x40, BlockEnd::Call)
        .block(90, "fail", 0, BlockEnd::Return)
        .block(100, "step", 0x40 + Script::AFTER, BlockEnd::Return)
        .block(110, "parse", Script::AFTER, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 200));
    let paths = [
        ("main", 0),
        ("parse < main", 1),
        ("step < parse < main", 1),
        ("runtime.morestack < step < parse", 1),
        ("runtime.newstack < runtime.morestack < step", 1),
        ("runtime.gogo < runtime.newstack < runtime.morestack", 1),
        ("fail < step < parse", 1),
    ];
    assert_eq!(tree, expected(&paths));
}

/// `step` panics, and what `parse` deferred recovers: `parse` goes on after its call of `step`.
#[test]
fn a_panic_that_is_recovered_ends_what_it_left() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Call)
        .block(30, "step", 0, BlockEnd::Call)
        .block(40, "runtime.mcall", 0, BlockEnd::Call)
        .block(50, "runtime.recovery", 0, BlockEnd::Call)
        .block(60, "runtime.gogo", 0, BlockEnd::Jump)
        .block(70, "parse", 0x60, BlockEnd::Call)
        .block(80, "fail", 0, BlockEnd::Return)
        .block(90, "parse", 0x60 + Script::AFTER, BlockEnd::Return)
        .block(100, "main", Script::AFTER + 0x20, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 200));
    assert!(tree.contains_key("fail < parse < main"), "{tree:?}");
}

/// A thread that is kept for one goroutine goes on with it after a wait.
#[test]
fn a_thread_comes_back_to_the_goroutine_that_it_is_kept_for() {
    let resumed = |between: &'static str| {
        let table = table();
        let mut script = Script::new(&table);
        script
            .block(10, "main", 0x20, BlockEnd::Call)
            .block(20, "parse", 0, BlockEnd::Call)
            .block(30, "runtime.mcall", 0, BlockEnd::Call)
            .block(40, between, 0, BlockEnd::Return)
            .block(50, "runtime.mcall", Script::AFTER, BlockEnd::Call)
            .block(60, "runtime.gogo", 0, BlockEnd::Jump)
            .block(70, "parse", Script::AFTER, BlockEnd::Call)
            .block(80, "step", 0, BlockEnd::Return)
            .block(90, "parse", 0x40, BlockEnd::Jump);
        tree(&walk(&table, &script, 200))
    };
    assert!(resumed("runtime.stoplockedm").contains_key("step < parse < main"));
    // Else any goroutine may be the next one.
    assert!(resumed("fail").contains_key("step < parse"));
}

/// The C library's variants of `memmove` share code under several names: a jump into the middle of one is no change of stacks.
#[test]
fn parts_of_a_function_under_several_names_keep_the_stack() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::Call)
        .block(30, "step", 0, BlockEnd::Jump)
        .block(40, "memmove", 0x40, BlockEnd::Return)
        .block(50, "parse", Script::AFTER, BlockEnd::Return)
        .block(60, "main", 0x30, BlockEnd::Jump);
    let tree = tree(&walk(&table, &script, 100));
    let paths = [("main", 0), ("parse < main", 1), ("step < parse < main", 1), ("memmove < parse < main", 0)];
    assert_eq!(tree, expected(&paths));
}

/// A signal's handler runs between two instructions of `parse`, and returns to `restore`, whose system call ends it.
#[test]
fn a_signals_handler_is_no_part_of_what_it_interrupts() {
    let table = Table::new(
        &["asm_exc_page_fault", "entry_SYSCALL_64"],
        &["main", "parse", "handler", "restore", "step"],
    );
    let mut script = Script::new(&table);
    script
        .block(10, "main", 0x20, BlockEnd::Call)
        .block(20, "parse", 0, BlockEnd::FallThrough)
        .interrupt_of(30, "parse", 0x20, "asm_exc_page_fault")
        .block(30, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(40, "handler", 0, BlockEnd::Call)
        .block(50, "step", 0, BlockEnd::Return)
        .block(60, "handler", Script::AFTER, BlockEnd::Return)
        .block(70, "restore", 0, BlockEnd::FarCall)
        .block(80, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(90, "parse", 0x20, BlockEnd::Return)
        .block(100, "main", 0x30, BlockEnd::Jump);
    let activity = walk(&table, &script, 200);
    let ran = |path: &str| -> u64 {
        let runs = activity.runs.iter().filter(|run| activity.code.path(run.node) == path);
        runs.map(|run| run.range.ticks().0).sum()
    };
    assert_eq!((ran("parse < main"), ran("main")), (10 + 10, 10 + 100));
    assert_eq!(tree(&activity)["parse < main"], 1);
    let handlers: Vec<_> = tree(&activity).into_keys().filter(|path| path.starts_with("handler")).collect();
    assert_eq!(handlers.len(), 1, "{handlers:?}");
}

/// Go preempts a goroutine so: a signal comes before the first instruction of `step`, the handler has the kernel go to `preempt`, and
/// that returns to `step` by itself, which `parse` had called.
#[test]
fn what_a_handler_leads_to_returns_to_what_was_interrupted() {
    for offset in [0, 0x20] {
        let table = Table::new(
            &["asm_sysvec_reschedule_ipi", "entry_SYSCALL_64"],
            &["main", "parse", "handler", "restore", "preempt", "memmove", "step"],
        );
        let mut script = Script::new(&table);
        script.block(10, "main", 0x20, BlockEnd::Call).block(20, "parse", 0, BlockEnd::Call);
        if offset > 0 {
            script.block(25, "step", 0, BlockEnd::FallThrough);
        }
        script
            .interrupt_of(30, "step", offset, "asm_sysvec_reschedule_ipi")
            .block(30, "asm_sysvec_reschedule_ipi", 0, BlockEnd::FarReturn)
            .block(40, "handler", 0, BlockEnd::Return)
            .block(50, "restore", 0, BlockEnd::FarCall)
            .block(60, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
            .block(70, "preempt", 0, BlockEnd::Call)
            .block(80, "memmove", 0, BlockEnd::Return)
            .block(90, "preempt", Script::AFTER, BlockEnd::Return)
            .block(100, "step", offset, BlockEnd::Return)
            .block(110, "parse", Script::AFTER, BlockEnd::Call)
            .block(120, "step", 0, BlockEnd::Return)
            .block(130, "parse", Script::AFTER, BlockEnd::Return)
            .block(140, "main", 0x30, BlockEnd::Jump);
        let tree = tree(&walk(&table, &script, 200));
        let of_step: Vec<_> = tree.iter().filter(|(path, _)| path.starts_with("step")).collect();
        assert_eq!(of_step, [(&"step < parse < main".to_owned(), &2)], "from {offset:#x}: {tree:?}");
    }
}
