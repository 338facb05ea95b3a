//! Hand-made flows into a handler, and who sent its signal.

use model::ThreadId;
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind as PtKind};

use crate::records::event::{EventKind, Side, SidebandEvent};
use crate::testing::script::{Script, Table, WORKER, WRITER, World, record, run};

const KERNEL: &[&str] = &[
    "entry_SYSCALL_64",
    "asm_exc_page_fault",
    "asm_sysvec_apic_timer_interrupt",
    "asm_sysvec_reschedule_ipi",
    "__hrtimer_run_queues",
    "posix_timer_fn",
    "tcp_delack_timer",
];
const TIMER: &str = "asm_sysvec_apic_timer_interrupt";
const USER: &[&str] = &["work", "on_signal", "restorer"];

/// System calls: `tgkill` is 234, `kill` 62.
const TGKILL: u64 = 234;
const KILL: u64 = 62;

/// The words for the handler that runs 30 after each of these times, which the kernel was entered by 10 before; a timer expired there
/// where its function is given.
fn signal_of(
    handled: &[(u64, &'static str, Option<&'static str>)],
    records: Vec<SidebandEvent>,
) -> Option<String> {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    for &(at, entered, timer) in handled {
        script.block(at, "work", 0, BlockEnd::ConditionalBranch).interrupt_of(at + 20, "work", 0x20, entered);
        if let Some(timer) = timer {
            script
                .block(at + 20, entered, 0, BlockEnd::Call)
                .block(at + 21, "__hrtimer_run_queues", 0, BlockEnd::Call)
                .block(at + 22, timer, 0, BlockEnd::Return)
                .block(at + 24, "__hrtimer_run_queues", Script::AFTER, BlockEnd::Return)
                .block(at + 26, entered, Script::AFTER, BlockEnd::FarReturn);
        } else {
            script.block(at + 20, entered, 0, BlockEnd::FarReturn);
        }
        script
            .block(at + 30, "on_signal", 0, BlockEnd::Return)
            .block(at + 60, "restorer", 0, BlockEnd::FarCall)
            .block(at + 70, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
            .block(at + 80, "work", 0x20, BlockEnd::Jump);
    }
    let until = handled.last().expect("one").0 + 90;
    let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 2 * until, LeaveReason::Unknown)]);
    let world = World { table: &table, schedule, records, items: script.items.clone(), kernel_traced: true };
    let signals = world.examine(10..until).signals;
    assert!(signals.len() <= 1, "{signals:?}");
    signals.into_values().next()
}

/// The words for the handler that runs from 40 on, which the kernel was `entered` by at 30.
fn signal(entered: &'static str, records: Vec<SidebandEvent>) -> Option<String> {
    signal_of(&[(10, entered, None)], records)
}

fn call(at: u64, thread: ThreadId, number: u64, arguments: &[u64]) -> SidebandEvent {
    record(at, 1, thread, Side::Begin, EventKind::Syscall { number, arguments: arguments.to_vec().into() })
}

fn sent_to(thread: ThreadId, at: u64, by: ThreadId, signal: u64) -> SidebandEvent {
    let number = |number: i32| u64::try_from(number).expect("a positive number");
    call(at, by, TGKILL, &[number(thread.pid.0), number(thread.tid.0), signal])
}

const IPI: &str = "asm_sysvec_reschedule_ipi";

#[test]
fn a_signal_has_the_sender_that_its_record_shows() {
    let by_writer = sent_to(WORKER, 25, WRITER, 12);
    assert_eq!(signal(IPI, vec![by_writer.clone()]).as_deref(), Some("SIGUSR2 sent by writer (tid 102)"));
    let earlier = sent_to(WORKER, 15, WRITER, 10);
    assert_eq!(signal(IPI, vec![earlier, by_writer]).as_deref(), Some("SIGUSR2 sent by writer (tid 102)"));
    let by_itself = sent_to(WORKER, 25, WORKER, 10);
    assert_eq!(signal(IPI, vec![by_itself]).as_deref(), Some("SIGUSR1 sent by itself"));
    let pid = u64::try_from(WORKER.pid.0).expect("a positive number");
    let to_process = call(25, WRITER, KILL, &[pid, 1]);
    let expected = "SIGHUP sent to the process by writer (tid 102)";
    assert_eq!(signal(IPI, vec![to_process]).as_deref(), Some(expected));
}

/// Another thread's signal, one sent later, and none.
#[test]
fn no_sender_is_guessed() {
    let to_other = sent_to(WRITER, 25, WORKER, 12);
    let later = sent_to(WORKER, 45, WRITER, 12);
    for records in [vec![to_other], vec![later], Vec::new()] {
        assert_eq!(signal(IPI, records), None);
    }
}

/// What the kernel did between the interrupted code and the handler is surer than an earlier record.
#[test]
fn timers_and_faults_are_the_kernels_work() {
    let earlier = || vec![sent_to(WORKER, 15, WRITER, 10)];
    let expired = |function| signal_of(&[(10, TIMER, Some(function))], earlier());
    assert_eq!(expired("posix_timer_fn").as_deref(), Some("a POSIX timer"));
    assert_eq!(signal("asm_exc_page_fault", earlier()).as_deref(), Some("its own page fault"));
    // Another timer, and a signal that came during the fault.
    assert_eq!(expired("tcp_delack_timer").as_deref(), Some("SIGUSR1 sent by writer (tid 102)"));
    let meanwhile = vec![sent_to(WORKER, 35, WRITER, 12)];
    assert_eq!(signal("asm_exc_page_fault", meanwhile).as_deref(), Some("SIGUSR2 sent by writer (tid 102)"));
}

#[test]
fn a_handler_that_ran_for_several_signals_has_words_where_all_are_alike() {
    let twice = [(10, IPI, None), (1000, IPI, None)];
    let sent = |at, by| sent_to(WORKER, at, by, 12);
    let by_writer = signal_of(&twice, vec![sent(25, WRITER), sent(1015, WRITER)]);
    assert_eq!(by_writer.as_deref(), Some("SIGUSR2 sent by writer (tid 102)"));
    assert_eq!(signal_of(&twice, vec![sent(25, WRITER), sent(1015, WORKER)]), None);
    // One record explains one handler.
    assert_eq!(signal_of(&twice, vec![sent(25, WRITER)]), None);
}

/// Signals that were sent long before may have been handled, or are another handler's.
#[test]
fn a_signal_arrives_soon() {
    let late = [(1_000_000, IPI, None)];
    assert_eq!(signal_of(&late, vec![sent_to(WORKER, 900_000, WRITER, 12)]), None);
    assert!(signal_of(&late, vec![sent_to(WORKER, 999_000, WRITER, 12)]).is_some());
}

/// By user code alone: tracing ends at 3000 in `work`, where a record says why, and goes on at 4000 in the handler.
#[test]
fn where_the_kernel_is_not_traced_records_say_why_it_was_entered() {
    let table = Table::new(KERNEL, USER);
    let hit = table.start("work") + 0x20;
    let mut script = Script::new(&table);
    script
        .block(1000, "work", 0, BlockEnd::ConditionalBranch)
        .event(3000, PtKind::Disabled { ip: None, from: Some(hit) })
        .event(4000, PtKind::Enabled { ip: table.start("on_signal"), resumed: false })
        .block(4000, "on_signal", 0, BlockEnd::Return)
        .block(7000, "restorer", 0, BlockEnd::FarCall)
        .event(7500, PtKind::Disabled { ip: None, from: None })
        .event(9000, PtKind::Enabled { ip: hit, resumed: false })
        .block(9000, "work", 0x20, BlockEnd::Jump);
    let signal = |records: Vec<SidebandEvent>| {
        let schedule = Schedule::from_runs(vec![run(WORKER, 0, 0, 20_000, LeaveReason::Unknown)]);
        let items = script.items.clone();
        let world = World { table: &table, schedule, records, items, kernel_traced: false };
        world.examine(10..10_000).signals.into_values().next()
    };
    let entry = |kind| record(3200, 0, WORKER, Side::Begin, kind);
    let fault = || entry(EventKind::PageFault { address: 0xabc0, error_code: Some(4) });
    let timer = || entry(EventKind::Vector { name: "local_timer".into() });
    let earlier = || sent_to(WORKER, 1500, WRITER, 10);
    assert_eq!(signal(vec![fault()]).as_deref(), Some("its own page fault"));
    assert_eq!(signal(vec![earlier(), fault()]), None, "either of them");
    // The kernel writes the signal's frame.
    let of_kernel =
        record(3300, 0, WORKER, Side::Begin, EventKind::PageFault { address: 0xabc0, error_code: Some(2) });
    assert_eq!(signal(vec![timer(), of_kernel]).as_deref(), Some("most likely a timer"));
    assert_eq!(signal(vec![timer()]).as_deref(), Some("most likely a timer"));
    assert_eq!(signal(vec![earlier(), timer()]).as_deref(), Some("SIGUSR1 sent by writer (tid 102)"));
    assert_eq!(signal(vec![entry(EventKind::Vector { name: "reschedule".into() })]), None);
}
