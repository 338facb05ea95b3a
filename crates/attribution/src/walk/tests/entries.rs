//! What the flow shows about an entry beside its stub: requests of another CPU, an address, a kernel thread's work.

use model::Tsc;
use pt::{BlockEnd, EventKind};

use super::{called, frame, frames, interrupted, runs, table, walk};
use crate::testing::script::{STALL, Script};
use crate::walk::walker::Walker;

/// Another CPU requests `function` by IPI: the queue is reversed first, and the call goes through a thunk.
fn asked_for<'t>(table: &'t crate::testing::script::Table, function: &str) -> Script<'t> {
    let mut script = interrupted(table, "asm_sysvec_call_function", BlockEnd::Call);
    script
        .block(30, "__flush_smp_call_function_queue", 0, BlockEnd::Call)
        .block(32, "llist_reverse_order", 0, BlockEnd::Return)
        .block(34, "__flush_smp_call_function_queue", 0x20, BlockEnd::Call)
        .block(36, "__x86_indirect_thunk_rax", 0, BlockEnd::Jump)
        .block(40, function, 0, BlockEnd::Call)
        .block(45, "vfs_read", 0, BlockEnd::Return)
        .block(50, function, Script::AFTER, BlockEnd::Return)
        .block(60, "__flush_smp_call_function_queue", 0x40, BlockEnd::Return)
        .block(70, "asm_sysvec_call_function", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    script
}

#[test]
fn an_ipi_tells_what_was_asked_for() {
    let table = table();
    let activity = walk(&table, &asked_for(&table, "remote_function"), 100);
    assert_eq!(frames(&activity), [frame("kernel.ipi.call-function", 20, 80, 0)]);
    assert_eq!(activity.frames[0].particulars, ["remote_function()".into()]);
}

#[test]
fn dropping_translations_is_a_shootdown() {
    let table = table();
    let activity = walk(&table, &asked_for(&table, "flush_tlb_func"), 100);
    assert_eq!(frames(&activity), [frame("kernel.ipi.call-function", 20, 80, 0)]);
    assert_eq!(activity.frames[0].particulars, ["TLB shootdown, flush_tlb_func()".into()]);
}

#[test]
fn event_trace_tells_the_address_of_a_fault() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::FallThrough)
        .event(20, EventKind::EventData { kind: 0, payload: 0x7000_1234 })
        .event(20, EventKind::ControlFlowEvent { kind: 1, vector: 14, ip: None })
        .interrupt(20, "asm_exc_page_fault")
        .block(20, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(40, "work", 0x20, BlockEnd::FallThrough)
        .interrupt(50, "asm_exc_page_fault")
        .block(50, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(60, "work", 0x20, BlockEnd::Jump);
    let told: Vec<_> = walk(&table, &script, 100).frames.into_iter().map(|frame| frame.address).collect();
    assert_eq!(told, [Some(0x7000_1234), None]);
}

/// FRED's entry serves all: the function that it calls names the exception, as a stub of the IDT does.
#[test]
fn an_exception_is_named_under_fred() {
    let table = table();
    for (function, cause) in
        [("exc_invalid_op", "kernel.unknown"), ("fred_sysvec_irq_work", "kernel.ipi.irq-work")]
    {
        let mut script = interrupted(&table, "asm_fred_entrypoint_user", BlockEnd::Call);
        script
            .block(30, "fred_entry_from_user", 0, BlockEnd::Jump)
            .block(35, function, 0, BlockEnd::Return)
            .block(60, "asm_fred_entrypoint_user", Script::AFTER, BlockEnd::FarReturn)
            .block(80, "work", 0x20, BlockEnd::Jump);
        let activity = walk(&table, &script, 100);
        assert_eq!(frames(&activity), [frame(cause, 20, 80, 0)]);
        assert_eq!(&*activity.frames[0].symbol, function);
    }
}

/// `function` runs in a page fault, after another one.
fn faulted(before: &str, function: &str) -> Option<&'static str> {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::Call);
    script
        .block(30, before, 0, BlockEnd::Return)
        .block(40, "asm_exc_page_fault", 0x20, BlockEnd::Call)
        .block(50, function, 0, BlockEnd::Return)
        .block(70, "asm_exc_page_fault", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    walk(&table, &script, 100).frames[0].fault_work
}

#[test]
fn a_page_fault_tells_what_it_did() {
    assert_eq!(faulted("vfs_read", "wp_page_copy"), Some("copies on write"));
    assert_eq!(faulted("filemap_map_pages", "clear_huge_page"), Some("huge pages, zeroed"));
    assert_eq!(faulted("filemap_map_pages", "vfs_read"), Some("pages of a mapped file"));
    assert_eq!(faulted("shmem_fault", "copy_page"), Some("copies on write of a file's pages"));
}

#[test]
fn a_kernel_thread_is_told_by_its_main_function_and_its_work() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "worker_thread", 0x40, BlockEnd::Call)
        .block(20, "process_one_work", 0, BlockEnd::Call)
        .block(30, "blk_mq_run_work_fn", 0, BlockEnd::Return)
        .block(60, "process_one_work", Script::AFTER, BlockEnd::Return)
        .block(70, "worker_thread", 0x40 + Script::AFTER, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(frames(&activity), [frame("kernel.thread.kworker", 10, 100, 0)]);
    assert_eq!(activity.frames[0].particulars, ["blk_mq_run_work_fn()".into()]);
}

#[test]
fn what_recording_itself_takes_is_said() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_nmi", BlockEnd::Call);
    script
        .block(30, "intel_pt_interrupt", 0, BlockEnd::Return)
        .block(70, "asm_exc_nmi", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    assert_eq!(frames(&activity), [frame("kernel.nmi", 20, 80, 0)]);
    assert_eq!(activity.frames[0].particulars, ["perf itself: it serves the recording".into()]);
}

#[test]
fn the_timer_that_calls_a_function_is_said() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_nmi", BlockEnd::Call);
    script
        .block(30, "tcp_delack_timer", 0, BlockEnd::Return)
        .block(70, "asm_exc_nmi", Script::AFTER, BlockEnd::FarReturn)
        .block(80, "work", 0x20, BlockEnd::Jump);
    assert_eq!(walk(&table, &script, 100).frames[0].particulars, ["TCP's delayed-ACK timer".into()]);
}

/// `rep stos` over two fresh pages: it faults, is resumed, and faults again before it retires. Between the faults it
/// ran.
#[test]
fn an_instruction_that_faults_again_and_again_runs_in_between() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::FarReturn);
    script
        .block(40, "asm_exc_page_fault", 0x20, BlockEnd::FarReturn)
        .interrupt(90, "asm_exc_page_fault")
        .block(90, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(120, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 200);
    let fault = "kernel.page-fault.minor";
    assert_eq!(frames(&activity), [frame(fault, 20, 40, 0), frame(fault, 90, 120, 0)]);
    assert_eq!(runs(&activity), [("work", 10, 20), ("work", 40, 90), ("work", 120, 200)]);
}

/// Two interrupts were pending while a fault was handled: the second begins where the first one returns to.
#[test]
fn an_interrupt_right_behind_another_lies_beside_it() {
    let table = table();
    let (fault, timer, ipi) =
        ("asm_exc_page_fault", "asm_sysvec_apic_timer_interrupt", "asm_sysvec_call_function");
    let mut script = interrupted(&table, fault, BlockEnd::Call);
    script
        .block(30, "exc_page_fault", 0, BlockEnd::FallThrough)
        .interrupt_of(40, "exc_page_fault", 0x20, timer)
        .block(40, timer, 0, BlockEnd::Jump)
        .block(55, timer, 0x20, BlockEnd::FarReturn)
        .interrupt_of(60, "exc_page_fault", 0x20, ipi)
        .block(60, ipi, 0, BlockEnd::FarReturn)
        .block(75, "exc_page_fault", 0x20, BlockEnd::Return)
        .block(80, fault, Script::AFTER, BlockEnd::FarReturn)
        .block(90, "work", 0x20, BlockEnd::Jump);
    let expected = [
        frame("kernel.page-fault.minor", 20, 90, 0),
        frame("kernel.timer", 40, 55, 1),
        frame("kernel.ipi.call-function", 60, 75, 1),
    ];
    assert_eq!(frames(&walk(&table, &script, 100)), expected);
}

/// 5,000 ticks between the last packet of an entry and the packet of its return: that packet is written when the
/// return has retired, so all of the time is the entry's.
#[test]
fn time_that_stands_still_before_a_return_is_the_entrys() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::Jump);
    script.block(50, "asm_exc_page_fault", 0x20, BlockEnd::FarReturn).block(
        5050,
        "work",
        0x20,
        BlockEnd::Jump,
    );
    let activity = walk(&table, &script, 6000);
    assert_eq!(frames(&activity), [frame("kernel.page-fault.minor", 20, 5050, 0)]);
    assert_eq!(runs(&activity), [("work", 10, 20), ("work", 5050, 6000)]);
    let mut script = called(&table, BlockEnd::Jump);
    script.block(50, "entry_SYSCALL_64", 0x20, BlockEnd::FarReturn).block(5050, "work", 0x20, BlockEnd::Jump);
    assert_eq!(frames(&walk(&table, &script, 6000)), [frame("kernel.syscall.unknown", 20, 5050, 0)]);
}

/// Until 30 the thread is busy with something else: that its code ran then says nothing about this interval.
#[test]
fn code_that_ran_for_others_is_not_counted() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(10, "work", 0, BlockEnd::Jump).block(20, "work", 0, BlockEnd::Jump).block(
        30,
        "work",
        0,
        BlockEnd::Jump,
    );
    let mut walker = Walker::new(&table, STALL);
    walker.counts_from(Tsc(30));
    walker.switch_in(None, Tsc(0));
    script.items.iter().for_each(|item| walker.item(item));
    let activity = walker.finish(Tsc(40));
    let executions: Vec<u64> = activity.code.blocks.values().map(|used| used.executions).collect();
    assert_eq!((executions, runs(&activity)), (vec![1], vec![("work", 10, 40)]));
}
