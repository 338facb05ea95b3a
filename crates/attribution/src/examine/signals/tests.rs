//! Hand-made flows into a handler, and who sent its signal.

use model::ThreadId;
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, record, run};

const KERNEL: &[&str] = &[
    "entry_SYSCALL_64",
    "asm_exc_page_fault",
    "asm_sysvec_apic_timer_interrupt",
    "asm_sysvec_reschedule_ipi",
    "__hrtimer_run_queues",
    "posix_timer_fn",
];
const USER: &[&str] = &["work", "on_signal", "restorer"];

/// System calls: `tgkill` is 234, `kill` 62.
const TGKILL: u64 = 234;
const KILL: u64 = 62;

/// The words for the handler that runs from 40 on, which the kernel was `entered` by at 30.
fn signal(entered: &'static str, timer: bool, records: Vec<SidebandEvent>) -> Option<String> {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script.block(10, "work", 0, BlockEnd::ConditionalBranch).interrupt_of(30, "work", 0x20, entered);
    if timer {
        script
            .block(30, entered, 0, BlockEnd::Call)
            .block(31, "__hrtimer_run_queues", 0, BlockEnd::Call)
            .block(32, "posix_timer_fn", 0, BlockEnd::Return)
            .block(34, "__hrtimer_run_queues", Script::AFTER, BlockEnd::Return)
            .block(36, entered, Script::AFTER, BlockEnd::FarReturn);
    } else {
        script.block(30, entered, 0, BlockEnd::FarReturn);
    }
    script
        .block(40, "on_signal", 0, BlockEnd::Return)
        .block(70, "restorer", 0, BlockEnd::FarCall)
        .block(80, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(90, "work", 0x20, BlockEnd::Jump);
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 200, LeaveReason::Unknown)]);
    let world = World { table: &table, schedule, records, items: script.items.clone(), kernel_traced: true };
    let signals = world.examine(10..100).signals;
    assert!(signals.len() <= 1, "{signals:?}");
    signals.into_values().next()
}

fn call(at: u64, thread: ThreadId, number: u64, arguments: &[u64]) -> SidebandEvent {
    record(at, 1, thread, Side::Begin, EventKind::Syscall { number, arguments: arguments.to_vec() })
}

fn sent_to(thread: ThreadId, at: u64, by: ThreadId, signal: u64) -> SidebandEvent {
    let number = |number: i32| u64::try_from(number).expect("a positive number");
    call(at, by, TGKILL, &[number(thread.pid.0), number(thread.tid.0), signal])
}

const IPI: &str = "asm_sysvec_reschedule_ipi";

#[test]
fn a_signal_has_the_sender_that_its_record_shows() {
    let by_writer = sent_to(WORKER, 25, WRITER, 12);
    assert_eq!(
        signal(IPI, false, vec![by_writer.clone()]).as_deref(),
        Some("SIGUSR2 sent by writer (tid 102)")
    );
    let earlier = sent_to(WORKER, 15, WRITER, 10);
    assert_eq!(
        signal(IPI, false, vec![earlier, by_writer]).as_deref(),
        Some("SIGUSR2 sent by writer (tid 102)")
    );
    let by_itself = sent_to(WORKER, 25, WORKER, 10);
    assert_eq!(signal(IPI, false, vec![by_itself]).as_deref(), Some("SIGUSR1 sent by itself"));
    let pid = u64::try_from(WORKER.pid.0).expect("a positive number");
    let to_process = call(25, WRITER, KILL, &[pid, 1]);
    assert_eq!(signal(IPI, false, vec![to_process]).as_deref(), Some("SIGHUP sent by writer (tid 102)"));
}

/// Another thread's signal, one sent later, and none.
#[test]
fn no_sender_is_guessed() {
    let to_other = sent_to(WRITER, 25, WORKER, 12);
    let later = sent_to(WORKER, 45, WRITER, 12);
    for records in [vec![to_other], vec![later], Vec::new()] {
        assert_eq!(signal(IPI, false, records), None);
    }
}

/// What the kernel did between the interrupted code and the handler is surer than an earlier record.
#[test]
fn timers_and_faults_are_the_kernels_work() {
    let earlier = || vec![sent_to(WORKER, 15, WRITER, 10)];
    assert_eq!(signal("asm_sysvec_apic_timer_interrupt", true, earlier()).as_deref(), Some("a POSIX timer"));
    assert_eq!(signal("asm_exc_page_fault", false, earlier()).as_deref(), Some("its own page fault"));
}
