//! Scripted flows, with frames and runs worked out by hand.

mod call_tree;
mod entries;
mod kernel_calls;
mod sequence_locks;
mod silences;
mod spins;
mod trees;
mod yields;

use model::{Cpu, Tsc, TscRange};
use pt::{BlockEnd, EventKind};

use super::activity::Activity;
use super::walker::Walker;
use crate::testing::script::{STALL, Script, Table};

const KERNEL: &[&str] = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_read",
    "asm_exc_page_fault",
    "exc_page_fault",
    "asm_sysvec_apic_timer_interrupt",
    "__do_softirq",
    "rcu_core_si",
    "asm_exc_nmi",
    "__schedule",
    "schedule",
    "__x86_return_thunk",
    "__x86_indirect_thunk_rax",
    "do_sync_core",
    "finish_task_switch",
    "asm_common_interrupt",
    "vfs_read",
    "asm_exc_divide_error",
    "asm_sysvec_call_function",
    "__flush_smp_call_function_queue",
    "llist_reverse_order",
    "flush_tlb_func",
    "remote_function",
    "intel_pt_interrupt",
    "tcp_delack_timer",
    "process_one_work",
    "worker_thread",
    "blk_mq_run_work_fn",
    "__x64_sys_write",
    "pipe_write",
    "mutex_lock",
    "__mutex_lock.constprop.0",
    "osq_lock",
    "mutex_spin_on_owner",
    "need_resched",
    "rt_mutex_slowlock_block.constprop.0",
    "rt_mutex_wait_proxy_lock",
    "_raw_spin_unlock_irq",
    "wp_page_copy",
    "shmem_fault",
    "copy_page",
    "clear_huge_page",
    "filemap_map_pages",
    "asm_fred_entrypoint_user",
    "fred_entry_from_user",
    "fred_sysvec_irq_work",
    "exc_invalid_op",
];
const USER: &[&str] = &["work", "other"];

fn table() -> Table {
    Table::new(KERNEL, USER)
}

/// `work` runs from 10 on; at 20 an interrupt or exception leads to `stub`, whose first block ends as `end` says.
fn interrupted<'t>(table: &'t Table, stub: &str, end: BlockEnd) -> Script<'t> {
    let mut script = Script::new(table);
    script.block(10, "work", 0, BlockEnd::FallThrough).interrupt(20, stub).block(20, stub, 0, end);
    script
}

/// `work` runs from 10 on; at 20 it makes a system call, whose stub's first block ends as `end` says.
fn called(table: &Table, end: BlockEnd) -> Script<'_> {
    let mut script = Script::new(table);
    script.block(10, "work", 0, BlockEnd::FarCall).block(20, "entry_SYSCALL_64", 0, end);
    script
}

/// Walks `script` on CPU 0 from tick 0 to `stop`.
fn walk(table: &Table, script: &Script<'_>, stop: u64) -> Activity {
    walk_paused(table, script, stop, Vec::new())
}

/// The same in a trace that another event pauses.
fn walk_paused(table: &Table, script: &Script<'_>, stop: u64, pauses: Vec<TscRange>) -> Activity {
    let mut walker = Walker::new(table, STALL);
    walker.pauses(pauses);
    walker.follows_kernel_calls();
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(stop));
    walker.finish(Tsc(stop))
}

/// Frames as (cause, start, stop, depth), by start time.
fn frames(activity: &Activity) -> Vec<(String, u64, u64, usize)> {
    let mut frames: Vec<_> = activity
        .frames
        .iter()
        .map(|frame| (frame.cause.to_string(), frame.range.start.0, frame.range.stop.0, frame.depth))
        .collect();
    frames.sort_by_key(|frame| (frame.1, frame.3));
    frames
}

fn frame(cause: &str, start: u64, stop: u64, depth: usize) -> (String, u64, u64, usize) {
    (cause.to_owned(), start, stop, depth)
}

/// User runs as (function, start, stop).
fn runs(activity: &Activity) -> Vec<(&str, u64, u64)> {
    let name = |run: &super::activity::Run| run.range;
    activity
        .runs
        .iter()
        .map(|run| (run.function.as_deref().unwrap_or("?"), name(run).start.0, name(run).stop.0))
        .collect()
}

#[test]
fn a_system_call_is_named_by_its_function_and_ends_with_sysret() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "do_syscall_64", 0, BlockEnd::Call)
        .block(40, "__x64_sys_read", 0, BlockEnd::Return)
        .block(50, "do_syscall_64", Script::AFTER, BlockEnd::Return)
        .block(60, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(70, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(frames(&activity), [frame("kernel.syscall.read", 20, 70, 0)]);
    assert_eq!(runs(&activity), [("work", 10, 20), ("work", 70, 100)]);
}

#[test]
fn an_interrupt_in_a_fault_lies_in_it_and_the_fault_is_one() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::Call);
    script
        .block(30, "exc_page_fault", 0, BlockEnd::FallThrough)
        .interrupt(40, "asm_sysvec_apic_timer_interrupt")
        .block(40, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::FarReturn)
        .block(60, "exc_page_fault", 0x20, BlockEnd::Return)
        .block(70, "asm_exc_page_fault", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(
        frames(&activity),
        [frame("kernel.page-fault.minor", 20, 80, 0), frame("kernel.timer", 40, 60, 1)]
    );
}

/// The interrupt's exit runs softirqs; their action has its own frame.
#[test]
fn a_softirq_on_the_way_out_of_an_interrupt_is_its_own() {
    let table = table();
    let mut script = interrupted(&table, "asm_common_interrupt", BlockEnd::Call);
    script
        .block(30, "__do_softirq", 0, BlockEnd::Call)
        .block(40, "rcu_core_si", 0, BlockEnd::Return)
        .block(60, "__do_softirq", Script::AFTER, BlockEnd::Return)
        .block(70, "asm_common_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        frames(&walk(&table, &script, 100)),
        [frame("kernel.irq.device", 20, 80, 0), frame("kernel.softirq.rcu", 40, 60, 1)]
    );
}

/// `call __x86_indirect_thunk_rax`; the thunk calls, then returns to the action; the action jumps to the return thunk.
#[test]
fn retpolines_and_return_thunks_move_no_edge() {
    let table = table();
    let mut script = interrupted(&table, "asm_common_interrupt", BlockEnd::Call);
    script
        .block(30, "__do_softirq", 0, BlockEnd::Call)
        .block(31, "__x86_indirect_thunk_rax", 0, BlockEnd::Call)
        .block(32, "__x86_indirect_thunk_rax", 0x20, BlockEnd::Return)
        .block(40, "rcu_core_si", 0, BlockEnd::Call)
        .block(45, "vfs_read", 0, BlockEnd::Jump)
        .block(46, "__x86_return_thunk", 0, BlockEnd::Return)
        .block(50, "rcu_core_si", Script::AFTER, BlockEnd::Jump)
        .block(55, "__x86_return_thunk", 0, BlockEnd::Return)
        .block(60, "__do_softirq", Script::AFTER, BlockEnd::Return)
        .block(70, "asm_common_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        frames(&walk(&table, &script, 100)),
        [frame("kernel.irq.device", 20, 80, 0), frame("kernel.softirq.rcu", 40, 60, 1)]
    );
}

/// `schedule()` from the interrupt's exit; the return buffer is stuffed at the switch; the thread comes back later.
#[test]
fn the_scheduler_ends_where_it_returns_though_the_switch_unbalanced_the_calls() {
    let table = table();
    let mut before = interrupted(&table, "asm_common_interrupt", BlockEnd::Call);
    before.block(30, "schedule", 0, BlockEnd::Call).block(40, "__schedule", 0, BlockEnd::Call);
    for call in 0..16 {
        before.block(45, "finish_task_switch", 0x100 + call * 0x20, BlockEnd::Call);
    }
    let mut after = Script::new(&table);
    after
        .block(1000, "finish_task_switch", 0x80, BlockEnd::Return)
        .block(1010, "__schedule", Script::AFTER, BlockEnd::Return)
        .block(1020, "schedule", Script::AFTER, BlockEnd::Return)
        .block(1030, "asm_common_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(1040, "work", 0x20, BlockEnd::Jump);
    let mut walker = Walker::new(&table, STALL);
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    before.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(50));
    walker.switch_in(Some(Cpu(1)), Tsc(1000));
    after.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(1100));
    let activity = walker.finish(Tsc(1100));
    assert_eq!(
        frames(&activity),
        [frame("kernel.irq.device", 20, 1040, 0), frame("kernel.schedule", 40, 1020, 1)]
    );
    assert_eq!(runs(&activity), [("work", 10, 20), ("work", 1040, 1100)]);
}

#[test]
fn an_iret_behind_itself_serialises_and_returns_from_nothing() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .interrupt(30, "asm_common_interrupt")
        .block(30, "asm_common_interrupt", 0, BlockEnd::Call)
        .block(40, "do_sync_core", 0, BlockEnd::FarReturn)
        .block(50, "do_sync_core", 11 + 2, BlockEnd::Return)
        .block(60, "asm_common_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(70, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        frames(&walk(&table, &script, 100)),
        [frame("kernel.syscall.unknown", 20, 80, 0), frame("kernel.irq.device", 30, 70, 1)]
    );
}

/// The flow begins in an interrupt that interrupted a system call: both are named when execution reaches code that
/// identifies them.
#[test]
fn a_flow_that_begins_in_the_kernel_is_named_by_what_it_returns_to() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "vfs_read", 0x40, BlockEnd::Return)
        .block(20, "asm_sysvec_apic_timer_interrupt", 0x40, BlockEnd::FarReturn)
        .block(30, "vfs_read", 0x80, BlockEnd::Return)
        .block(40, "__x64_sys_read", 0x40, BlockEnd::Return)
        .block(50, "do_syscall_64", 0x40, BlockEnd::FarReturn)
        .block(60, "work", 0, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(
        frames(&activity),
        [frame("kernel.timer", 10, 30, 0), frame("kernel.syscall.read", 30, 60, 0)]
    );
    assert!(activity.frames.iter().all(|frame| frame.began_before));
}

/// A thread comes back from the switch in which its `read` slept, and runs from 60 on.
fn switched_in(table: &Table) -> Script<'_> {
    let mut script = Script::new(table);
    script
        .block(10, "finish_task_switch", 0x40, BlockEnd::Return)
        .block(20, "__schedule", 0x40, BlockEnd::Return)
        .block(30, "schedule", 0x40, BlockEnd::Return)
        .block(40, "__x64_sys_read", 0x40, BlockEnd::FarReturn)
        .block(60, "work", 0, BlockEnd::Jump);
    script
}

/// The thread was asleep when the interval began: from the switch on it is in the scheduler, though `__schedule`
/// itself runs later.
#[test]
fn a_flow_that_begins_with_a_switch_begins_in_the_scheduler() {
    let table = table();
    let script = switched_in(&table);
    let mut walker = Walker::new(&table, STALL);
    // The record is slightly earlier than the first packet.
    walker.switch_in(Some(Cpu(0)), Tsc(8));
    walker.scheduled(Tsc(8));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(100));
    assert_eq!(
        frames(&walker.finish(Tsc(100))),
        [frame("kernel.syscall.read", 10, 60, 0), frame("kernel.schedule", 10, 30, 1)]
    );
}

#[test]
fn a_flow_that_begins_in_the_scheduler_says_so() {
    let table = table();
    let script = switched_in(&table);
    assert_eq!(
        frames(&walk(&table, &script, 100)),
        [frame("kernel.syscall.read", 10, 60, 0), frame("kernel.schedule", 20, 30, 1)]
    );
}

#[test]
fn an_exception_without_a_cause_of_its_own_is_unknown_kernel_work() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_divide_error", BlockEnd::FarReturn);
    script.block(40, "other", 0, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(frames(&activity), [frame("kernel.unknown", 20, 40, 0)]);
    assert_eq!(&*activity.frames[0].symbol, "asm_exc_divide_error");
}

#[test]
fn an_nmi_in_an_interrupt_in_a_call_is_three_deep() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .interrupt(30, "asm_common_interrupt")
        .block(30, "asm_common_interrupt", 0, BlockEnd::Call)
        .interrupt(40, "asm_exc_nmi")
        .block(40, "asm_exc_nmi", 0, BlockEnd::FarReturn)
        .block(50, "asm_common_interrupt", 0x80, BlockEnd::FarReturn)
        .block(60, "entry_SYSCALL_64", 0x80, BlockEnd::FarReturn)
        .block(70, "work", 0x20, BlockEnd::Jump);
    assert_eq!(
        frames(&walk(&table, &script, 100)),
        [
            frame("kernel.syscall.unknown", 20, 70, 0),
            frame("kernel.irq.device", 30, 60, 1),
            frame("kernel.nmi", 40, 50, 2)
        ]
    );
}

/// An aborted transaction branches asynchronously and enters nothing.
#[test]
fn an_abort_is_no_entry() {
    let table = table();
    let mut script = called(&table, BlockEnd::FallThrough);
    script
        .event(30, EventKind::Transaction { active: false, aborted: true })
        .event(30, EventKind::AsyncBranch { from: 1, to: 2 })
        .block(30, "entry_SYSCALL_64", 0x40, BlockEnd::FarReturn)
        .block(40, "work", 0, BlockEnd::Jump);
    assert_eq!(frames(&walk(&table, &script, 100)), [frame("kernel.syscall.unknown", 20, 40, 0)]);
}
