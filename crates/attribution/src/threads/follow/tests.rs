//! Whose flow is walked, and what the flow itself shows.

use model::{Attribution, Cpu, Tsc};
use perfdata::{LeaveReason, Schedule};
use pt::{BlockEnd, EventKind};

use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, interval, run, told};

fn table() -> Table {
    Table::new(&["entry_SYSCALL_64", "vfs_read"], &["work", "other"])
}

/// The worker by itself from 0 to `end`: preempted on CPU 0 at 200, it goes on at 400 on `cpu`.
fn preempted(table: &Table, script: &Script<'_>, cpu: u32, end: u64) -> Attribution {
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 200, LeaveReason::Preempted),
        run(WORKER, cpu, 400, 1000, LeaveReason::Unknown),
    ]);
    let items = script.items.clone();
    let world = World { table, schedule, records: Vec::new(), items, kernel_traced: true };
    crate::attribute_alone(&world.examine(0..end)).expect("a partition")
}

/// The thread moves to another CPU in the middle of a system call: one call, one thread's time.
#[test]
fn a_call_goes_on_after_a_move_to_another_cpu() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(500, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(600, "work", 0x20, BlockEnd::Jump);
    let attribution = preempted(&table, &script, 1, 700);
    assert_eq!(
        told(&attribution),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.unknown", 100),
            ("offcpu.preempted", 200),
            ("kernel.syscall.unknown", 200),
            ("user.expected", 100),
        ])
    );
    let segments = attribution.segments();
    assert_eq!(segments[1].occurrence, segments[3].occurrence);
    assert_eq!((segments[1].cpu, segments[3].cpu), (Some(Cpu(0)), Some(Cpu(1))));
}

/// Tracing of a single thread goes off in the kernel at 200, when the thread leaves, and on in the same place at 480,
/// when it comes back: that time belongs to the open call, or to the scheduler. Later something below the kernel
/// stops it from 700 to 800.
#[test]
fn a_threads_own_trace_goes_off_and_on_with_it() {
    let table = table();
    let (off, on) =
        (EventKind::Disabled { ip: None, from: None }, EventKind::Enabled { ip: 0x1000, resumed: true });
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(100, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .event(400, off)
        .event(480, on)
        .block(480, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(600, "work", 0x20, BlockEnd::Jump)
        .event(700, off)
        .event(800, on)
        .block(800, "work", 0x40, BlockEnd::Jump);
    let attribution = preempted(&table, &script, 0, 900);
    assert_eq!(
        told(&attribution),
        expected(&[
            ("user.expected", 100),
            ("kernel.syscall.unknown", 100),
            ("offcpu.preempted", 200),
            ("kernel.syscall.unknown", 200),
            ("user.expected", 100),
            ("hardware.gap", 100),
            ("user.expected", 100),
        ])
    );
}

/// A mark at 300 is the hand-off: what the start thread left open is not the stop thread's.
#[test]
fn each_thread_is_walked_for_itself() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(0, "work", 0, BlockEnd::FarCall).block(100, "entry_SYSCALL_64", 0, BlockEnd::Call);
    let mut items = script.items.clone();
    let mut of_stop = Script::new(&table);
    of_stop.block(300, "other", 0, BlockEnd::Jump).block(400, "other", 0x20, BlockEnd::Jump);
    items.extend(of_stop.items.into_iter().map(|mut item| {
        if let pt::FlowItem::Block(block) = &mut item {
            block.thread = Some(WRITER);
        }
        item
    }));
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 1000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 1000, LeaveReason::Unknown),
    ]);
    let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
    let mut two = interval(0..500);
    (two.stop_thread, two.publish) = (Some(WRITER), Some(Tsc(300)));
    let attribution = crate::attribute_alone(&world.examine_interval(&two)).expect("a partition");
    assert_eq!(
        told(&attribution),
        expected(&[("user.expected", 100), ("kernel.syscall.unknown", 200), ("user.expected", 200)])
    );
    assert_eq!(attribution.segments()[1].thread, Some(WORKER));
    assert_eq!(attribution.segments()[2].thread, Some(WRITER));
}

/// A thread's own trace without a schedule: the flow shows what the thread did, but not where it was.
#[test]
fn a_trace_per_thread_needs_no_schedule() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .event(300, EventKind::Disabled { ip: None, from: None })
        .event(500, EventKind::Enabled { ip: 0x1020, resumed: true })
        .block(500, "work", 0x20, BlockEnd::Jump);
    let items = script.items.clone();
    let schedule = Schedule::default();
    let mut world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: false };
    assert_eq!(
        world.story(0..700),
        expected(&[("user.expected", 300), ("kernel.unknown", 200), ("user.expected", 200)])
    );
    world.items.clear();
    assert_eq!(world.story(0..700), expected(&[("unexplained", 700)]));
}
