//! The call trees of kernel work, with flows worked out by hand: who called whom, for how long, and how often.

use std::collections::BTreeMap;

use model::{Cpu, Tsc};
use pt::{BlockEnd, FlowItem};

use super::{STALL, called, interrupted, table, walk};
use crate::testing::script::Script;
use crate::walk::activity::Activity;
use crate::walk::walker::Walker;

/// Ticks and calls by the chain of functions from the one that a frame began with.
fn tree(activity: &Activity) -> BTreeMap<String, (u64, u64)> {
    let mut tree = BTreeMap::new();
    for run in &activity.kernel.runs {
        let mut names: Vec<&str> =
            activity.kernel.lineage(run.node).map(|(_, node)| &*node.function).collect();
        names.reverse();
        let (ticks, calls): &mut (u64, u64) = tree.entry(names.join(" > ")).or_default();
        *ticks += run.range.ticks().0;
        *calls += run.calls;
    }
    tree
}

fn expected(rows: &[(&str, u64, u64)]) -> BTreeMap<String, (u64, u64)> {
    rows.iter().map(|&(path, ticks, calls)| (path.to_owned(), (ticks, calls))).collect()
}

/// The last block retires `instructions`.
fn retiring(script: &mut Script<'_>, instructions: u32) {
    if let Some(FlowItem::Block(block)) = script.items.last_mut() {
        block.instructions = instructions;
    }
}

#[test]
fn what_a_system_call_called_stands_below_its_entry() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "do_syscall_64", 0, BlockEnd::Call)
        .block(40, "__x64_sys_read", 0, BlockEnd::Call)
        .block(50, "vfs_read", 0, BlockEnd::Return)
        .block(65, "__x64_sys_read", Script::AFTER, BlockEnd::Call)
        .block(70, "vfs_read", 0, BlockEnd::Return)
        .block(75, "__x64_sys_read", Script::AFTER, BlockEnd::Return)
        .block(80, "do_syscall_64", Script::AFTER, BlockEnd::Return)
        .block(90, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(100, "work", 0x20, BlockEnd::Jump);
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64", 10 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64 > __x64_sys_read", 10 + 5 + 5, 1),
        ("entry_SYSCALL_64 > do_syscall_64 > __x64_sys_read > vfs_read", 15 + 5, 2),
    ]);
    assert_eq!(tree(&walk(&table, &script, 200)), expected);
}

/// A thread goes away at 50 and comes back at 100, by the record; the first packet after that is at 107.
#[test]
fn from_a_switch_on_the_function_ran_in_which_the_flow_goes_on() {
    let table = table();
    let mut away = called(&table, BlockEnd::Call);
    away.block(30, "do_syscall_64", 0, BlockEnd::Call).block(40, "__schedule", 0, BlockEnd::FallThrough);
    let mut back = Script::new(&table);
    back.block(107, "__schedule", 0x20, BlockEnd::Return).block(
        115,
        "do_syscall_64",
        Script::AFTER,
        BlockEnd::FallThrough,
    );
    let mut walker = Walker::new(&table, STALL);
    walker.follows_kernel_calls();
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    away.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(50));
    walker.switch_in(Some(Cpu(0)), Tsc(100));
    walker.scheduled(Tsc(100));
    back.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(120));
    let schedules = [("__schedule", 10 + 15, 1)];
    let calls = [("entry_SYSCALL_64", 10, 1), ("entry_SYSCALL_64 > do_syscall_64", 10 + 5, 1)];
    assert_eq!(tree(&walker.finish(Tsc(120))), expected(&[&calls[..], &schedules[..]].concat()));
}

/// `lookup` and in it `hash` are inlined in `__x64_sys_read` from 0x20 on, and `lookup` alone from 0x40 on, where it calls. Each block
/// counts for what was inlined at its first instruction; the call is the function's, and what inlined code calls stands below it.
#[test]
fn inlined_functions_are_nodes_without_calls() {
    let table = table()
        .with_inlined(("__x64_sys_read", 0x20, 0x40, &["lookup", "hash"]))
        .with_inlined(("__x64_sys_read", 0x40, 0x60, &["lookup"]))
        .with_inlined(("vfs_read", 0, 0x10, &["check"]));
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "__x64_sys_read", 0, BlockEnd::ConditionalBranch)
        .block(40, "__x64_sys_read", 0x20, BlockEnd::ConditionalBranch)
        .block(52, "__x64_sys_read", 0x40, BlockEnd::Call)
        .block(55, "vfs_read", 0, BlockEnd::Return)
        .block(60, "__x64_sys_read", 0x40 + Script::AFTER, BlockEnd::ConditionalBranch)
        .block(67, "__x64_sys_read", 0x60, BlockEnd::Return)
        .block(80, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(100, "work", 0x20, BlockEnd::Jump);
    let read = "entry_SYSCALL_64 > __x64_sys_read";
    let lookup = format!("{read} > lookup (inlined)");
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 20, 1),
        (read, 10 + 13, 1),
        (&lookup, 3 + 7, 0),
        (&format!("{lookup} > hash (inlined)"), 12, 0),
        // Its first instruction is inlined code, so it has no time of its own.
        (&format!("{lookup} > vfs_read"), 0, 1),
        (&format!("{lookup} > vfs_read > check (inlined)"), 5, 0),
    ]);
    assert_eq!(tree(&walk(&table, &script, 200)), expected);
}

/// `call __x86_indirect_thunk_rax`, in it `call`, then `ret` to the function; that returns by `jmp __x86_return_thunk`.
#[test]
fn thunks_are_their_callers_time() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "do_syscall_64", 0, BlockEnd::Call)
        .block(40, "__x86_indirect_thunk_rax", 0, BlockEnd::Call)
        .block(44, "__x86_indirect_thunk_rax", 0x20, BlockEnd::Return)
        .block(50, "vfs_read", 0, BlockEnd::Jump)
        .block(60, "__x86_return_thunk", 0, BlockEnd::Return)
        .block(63, "do_syscall_64", Script::AFTER, BlockEnd::Return)
        .block(70, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64", 20 + 7, 1),
        ("entry_SYSCALL_64 > do_syscall_64 > vfs_read", 13, 1),
    ]);
    assert_eq!(tree(&walk(&table, &script, 200)), expected);
}

/// An interrupt in the middle of a function is a tree of its own, and the function goes on as what it was.
#[test]
fn an_interrupt_has_its_own_tree() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::Call);
    script
        .block(30, "exc_page_fault", 0, BlockEnd::FallThrough)
        .interrupt_of(40, "exc_page_fault", 12, "asm_sysvec_apic_timer_interrupt")
        .block(40, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::Call)
        .block(45, "tcp_delack_timer", 0, BlockEnd::Return)
        .block(50, "asm_sysvec_apic_timer_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(60, "exc_page_fault", 0x20, BlockEnd::Return)
        .block(70, "asm_exc_page_fault", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    let expected = expected(&[
        ("asm_exc_page_fault", 10 + 10, 1),
        ("asm_exc_page_fault > exc_page_fault", 10 + 10, 1),
        ("asm_sysvec_apic_timer_interrupt", 5 + 10, 1),
        ("asm_sysvec_apic_timer_interrupt > tcp_delack_timer", 5, 1),
    ]);
    assert_eq!(tree(&activity), expected);
    let frames = activity.frames.iter().map(|frame| frame.occurrence);
    let occurrences: Vec<u64> = activity.kernel.runs.iter().map(|run| run.occurrence).collect();
    assert!(frames.eq([occurrences[2], occurrences[0]]), "the interrupt ends first: {occurrences:?}");
}

/// The scheduler is a cause of its own within the call: its tree begins with it.
#[test]
fn a_landmark_begins_a_tree() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "schedule", 0, BlockEnd::Call)
        .block(40, "__schedule", 0, BlockEnd::Call)
        .block(50, "finish_task_switch", 0, BlockEnd::Return)
        .block(60, "__schedule", Script::AFTER, BlockEnd::Return)
        .block(70, "schedule", Script::AFTER, BlockEnd::Return)
        .block(80, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(90, "work", 0x20, BlockEnd::Jump);
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 10, 1),
        ("entry_SYSCALL_64 > schedule", 10 + 10, 1),
        ("__schedule", 10 + 10, 1),
        ("__schedule > finish_task_switch", 10, 1),
    ]);
    assert_eq!(tree(&walk(&table, &script, 200)), expected);
}

/// `vfs_read` goes on in `pipe_write` by a jump, and that returns to the caller of both.
#[test]
fn a_jump_to_a_function_is_a_call() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "vfs_read", 0, BlockEnd::Jump)
        .block(40, "pipe_write", 0, BlockEnd::Return)
        .block(55, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(60, "work", 0x20, BlockEnd::Jump);
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 5, 1),
        ("entry_SYSCALL_64 > vfs_read", 10, 1),
        ("entry_SYSCALL_64 > vfs_read > pipe_write", 15, 1),
    ]);
    assert_eq!(tree(&walk(&table, &script, 200)), expected);
}

/// Time packets at 20 and at 70 only: 50 ticks for 10, 38 and 80 instructions, the last of which a block retires that began before the
/// second packet and ends with it. Two calls and a return lead elsewhere, each for 4 more: the parts are 14, 42 and 84 of 140.
/// Afterwards 20 ticks for 6 instructions with a return and for 10.
#[test]
fn time_between_packets_is_divided_by_instructions() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script.block(20, "do_syscall_64", 0, BlockEnd::Call);
    retiring(&mut script, 38);
    // Where the decoder ends a block before its branch does not matter.
    script.block_ahead((20, 70), "vfs_read", 0, BlockEnd::FallThrough);
    retiring(&mut script, 20);
    script.block_ahead((20, 70), "vfs_read", 12, BlockEnd::Return);
    retiring(&mut script, 60);
    script.block(70, "do_syscall_64", Script::AFTER, BlockEnd::Return);
    retiring(&mut script, 6);
    script.block(70, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn).block(
        90,
        "work",
        0x20,
        BlockEnd::Jump,
    );
    let activity = walk(&table, &script, 200);
    let expected = expected(&[
        ("entry_SYSCALL_64", 5 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64", 15 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64 > vfs_read", 30, 1),
    ]);
    assert_eq!(tree(&activity), expected);
}

/// A call without time of its own counts, and nothing is lost where packets are.
#[test]
fn a_loss_ends_the_tree() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "do_syscall_64", 0, BlockEnd::Call)
        .block(30, "vfs_read", 0, BlockEnd::Jump)
        .gap(40)
        .block(60, "vfs_read", 0x30, BlockEnd::Return)
        .block(70, "do_syscall_64", Script::AFTER, BlockEnd::Return)
        .block(80, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(90, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 200);
    let expected = expected(&[
        ("entry_SYSCALL_64", 10 + 10, 1),
        ("entry_SYSCALL_64 > do_syscall_64", 5, 1),
        ("entry_SYSCALL_64 > do_syscall_64 > vfs_read", 5, 1),
        ("vfs_read", 10, 0),
        ("do_syscall_64", 10, 0),
    ]);
    assert_eq!(tree(&activity), expected);
}
