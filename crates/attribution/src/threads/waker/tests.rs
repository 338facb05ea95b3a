//! Hand-made records of wake-ups: which a thread made, and which an interrupt in its context.

use model::{Cause, ThreadId, Tsc};
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use super::Maker;
use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::records::sideband::Sideband;
use crate::testing::script::{
    IDLE, Script, Table, WORKER, WRITER, World, interval, made_within, record, run,
};

const KERNEL: &[&str] = &[
    "asm_sysvec_apic_timer_interrupt",
    "net_rx_action",
    "do_softirq",
    "entry_SYSCALL_64",
    "hrtimer_wakeup",
    "try_to_wake_up",
    "run_ksoftirqd",
    "__x64_sys_sendto",
];

fn table() -> Table {
    Table::new(KERNEL, &["work"])
}

fn wake(time: u64, of: ThreadId) -> SidebandEvent {
    let kind = EventKind::Waking { target: WRITER.tid, by_waker: true };
    record(time, 0, of, Side::Begin, kind)
}

fn vector(time: u64, side: Side) -> SidebandEvent {
    record(time, 0, WORKER, side, EventKind::Vector { name: "local_timer".into() })
}

fn softirq(time: u64, side: Side) -> SidebandEvent {
    record(time, 0, WORKER, side, EventKind::Softirq { vector: 3 })
}

fn raise(time: u64, by: ThreadId) -> SidebandEvent {
    record(time, 0, by, Side::Begin, EventKind::SoftirqRaise { vector: 3 })
}

/// The worker is on CPU 0 all the time, the writer on CPU 1 until 200, and again from 500 on.
fn schedule() -> Schedule {
    Schedule::from_runs(vec![
        run(WORKER, 0, 0, 1000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 200, LeaveReason::Slept(Some('S'))),
        run(IDLE, 1, 200, 500, LeaveReason::Preempted),
        run(WRITER, 1, 500, 1000, LeaveReason::Unknown),
    ])
}

fn world(table: &Table, records: Vec<SidebandEvent>, items: Vec<pt::FlowItem>) -> World<'_> {
    World { table, schedule: schedule(), records, items, kernel_traced: true }
}

/// When the worker hands the interval from 100 to 600 over to the writer.
fn handed_over_at(world: &World<'_>) -> Option<Tsc> {
    let mut two = interval(100..600);
    two.stop_thread = Some(WRITER);
    world.examine_interval(&two).hand_off.map(|hand_off| hand_off.at)
}

/// The address in `function` at which a call returns.
fn returns_to(table: &Table, function: &str) -> u64 {
    table.start(function) + 0x20
}

/// The flags of `common_flags` as `include/linux/trace_events.h` numbers them: `IRQS_OFF` 1, `NEED_RESCHED` 4,
/// `HARDIRQ` 8, `SOFTIRQ` 0x10, `PREEMPT_RESCHED` 0x20, `NMI` 0x40, `BH_OFF` 0x80.
#[test]
fn flags_of_the_kernel_show_the_context() {
    for (flags, within) in [
        (0x00, Within::Thread),
        (0x01 | 0x04 | 0x20 | 0x80, Within::Thread),
        (0x10 | 0x01, Within::Softirq),
        (0x08 | 0x01, Within::Interrupt),
        (0x08 | 0x10, Within::Interrupt),
        (0x40, Within::Interrupt),
    ] {
        assert_eq!(Within::of_flags(flags), within, "{flags:#x}");
    }
}

/// The worker wakes the writer at 250; at 400 an interrupt in the worker's context does. Whatever shows that it was an
/// interrupt, the worker handed over at 250.
#[test]
fn an_interrupt_in_the_start_threads_context_hands_nothing_over() {
    let table = table();
    let by_flags = vec![wake(250, WORKER), made_within(Within::Interrupt, wake(400, WORKER))];
    let by_records =
        vec![wake(250, WORKER), vector(390, Side::Begin), wake(400, WORKER), vector(410, Side::End)];
    let mut in_chain = wake(400, WORKER);
    in_chain.chain = vec![
        table.start("try_to_wake_up") + 8,
        returns_to(&table, "hrtimer_wakeup"),
        returns_to(&table, "asm_sysvec_apic_timer_interrupt"),
        0x1004,
    ];
    let by_chain = vec![wake(250, WORKER), in_chain];
    for records in [by_flags, by_records, by_chain] {
        assert_eq!(handed_over_at(&world(&table, records, Vec::new())), Some(Tsc(250)));
    }
    let mut script = Script::new(&table);
    script
        .block(100, "work", 0, BlockEnd::FallThrough)
        .interrupt(380, "asm_sysvec_apic_timer_interrupt")
        .block(380, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::Call)
        .block(390, "hrtimer_wakeup", 0, BlockEnd::Return)
        .block(420, "asm_sysvec_apic_timer_interrupt", Script::AFTER, BlockEnd::FarReturn)
        .block(430, "work", 0x20, BlockEnd::Jump);
    let by_flow = world(&table, vec![wake(250, WORKER), wake(400, WORKER)], script.items.clone());
    assert_eq!(handed_over_at(&by_flow), Some(Tsc(250)));
}

/// Its own wake-up counts, even where the end of an interrupt is missing among the records.
#[test]
fn a_wake_up_of_the_threads_own_code_hands_over() {
    let table = table();
    let records = vec![vector(390, Side::Begin), made_within(Within::Thread, wake(400, WORKER))];
    assert_eq!(handed_over_at(&world(&table, records, Vec::new())), Some(Tsc(400)));
}

/// A packet over the loopback device: the sender raises `net_rx` and runs it as soon as it may. A packet of the network
/// is raised by the card's interrupt.
#[test]
fn a_softirq_that_the_thread_raised_is_its_own_doing() {
    let table = table();
    let woken = |raised: SidebandEvent| {
        let records = vec![
            raised,
            softirq(395, Side::Begin),
            made_within(Within::Softirq, wake(400, WORKER)),
            softirq(410, Side::End),
        ];
        handed_over_at(&world(&table, records, Vec::new()))
    };
    assert_eq!(woken(made_within(Within::Thread, raise(390, WORKER))), Some(Tsc(400)));
    assert_eq!(woken(made_within(Within::Interrupt, raise(390, WORKER))), None);
    // Another thread raised it, and `ksoftirqd`, or whoever is current, runs it.
    assert_eq!(woken(made_within(Within::Thread, raise(390, WRITER))), None);
}

/// The reply of a packet over the loopback device: `net_rx`, run by the sender, raises `net_rx` once more.
#[test]
fn a_softirq_raised_in_a_softirq_of_the_thread_is_its_own_doing() {
    let table = table();
    let records = vec![
        made_within(Within::Thread, raise(370, WORKER)),
        softirq(375, Side::Begin),
        made_within(Within::Softirq, raise(380, WORKER)),
        softirq(385, Side::End),
        softirq(390, Side::Begin),
        made_within(Within::Softirq, wake(400, WORKER)),
        softirq(410, Side::End),
    ];
    assert_eq!(handed_over_at(&world(&table, records, Vec::new())), Some(Tsc(400)));
}

/// `do_softirq` below the softirq's action: the thread runs it itself. `run_ksoftirqd`, or an interrupt: it does not.
#[test]
fn a_callchain_shows_whose_softirq_it_was() {
    let table = table();
    for (outer, own) in [
        (&["do_softirq", "__x64_sys_sendto", "entry_SYSCALL_64"][..], true),
        (&["asm_sysvec_apic_timer_interrupt"], false),
        (&["run_ksoftirqd"], false),
    ] {
        let mut event = made_within(Within::Softirq, wake(400, WORKER));
        let inner = [table.start("try_to_wake_up") + 8, returns_to(&table, "net_rx_action")];
        event.chain = inner.into_iter().chain(outer.iter().map(|name| returns_to(&table, name))).collect();
        let maker = Maker::by_records(&event, &Sideband::new(Vec::new()), &table);
        assert_eq!(
            (maker.interrupt.clone(), maker.is_thread()),
            (Some(Cause::Softirq("net_rx".into())), own),
            "{outer:?}"
        );
    }
}

/// What ended the worker's wait, from 100 on, on CPU 1; the writer is current on CPU 0.
fn ended_by(record_of_wakeup: SidebandEvent, others: Vec<SidebandEvent>) -> String {
    let table = table();
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 1, 0, 100, LeaveReason::Slept(Some('S'))),
        run(WRITER, 0, 0, 1000, LeaveReason::Unknown),
        run(WORKER, 1, 500, 1000, LeaveReason::Unknown),
    ]);
    let records = others.into_iter().chain([record_of_wakeup]).collect();
    let world = World { table: &table, schedule, records, items: Vec::new(), kernel_traced: true };
    let attribution = crate::attribute_alone(&world.examine(100..600)).expect("a partition");
    attribution.segments()[0].detail.clone()
}

/// The writer was interrupted: it is context, and no waker.
#[test]
fn an_interrupt_ends_the_wait_and_not_the_thread_in_whose_context_it_ran() {
    let wake =
        |by_waker| record(300, 0, WRITER, Side::Begin, EventKind::Waking { target: WORKER.tid, by_waker });
    let of_writer = |time, side, kind| record(time, 0, WRITER, side, kind);
    let in_interrupt = |by_waker| made_within(Within::Interrupt, wake(by_waker));
    assert_eq!(
        ended_by(in_interrupt(true), vec![]),
        "woken by an interrupt on CPU 0 in the context of writer (tid 102)"
    );
    let timer = EventKind::Vector { name: "local_timer".into() };
    let in_timer = vec![of_writer(290, Side::Begin, timer)];
    assert_eq!(
        ended_by(in_interrupt(true), in_timer.clone()),
        "woken by kernel.timer on CPU 0 in the context of writer (tid 102)"
    );
    // `sched_wakeup` where the timer itself did the waking, and where an IPI completes what another CPU began.
    assert_eq!(
        ended_by(in_interrupt(false), in_timer),
        "woken by kernel.timer on CPU 0 in the context of writer (tid 102)"
    );
    let reschedule = EventKind::Vector { name: "reschedule".into() };
    let completed = ended_by(in_interrupt(false), vec![of_writer(290, Side::Begin, reschedule)]);
    assert!(!completed.contains("writer"), "{completed}");
    assert_eq!(
        ended_by(made_within(Within::Softirq, wake(true)), vec![]),
        "woken by a softirq on CPU 0 in the context of writer (tid 102)"
    );
    assert_eq!(ended_by(made_within(Within::Thread, wake(true)), vec![]), "woken by writer (tid 102)");
}
