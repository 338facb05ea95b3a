//! When a thread is in a spin-wait loop, and when it leaves.

use model::{Cause, Certainty, Tsc};
use perfdata::{LeaveReason, Schedule};
use pt::BlockEnd;

use crate::testing::script::{Script, Table, WORKER, WRITER, World, expected, interval, run, told};

/// Twelve bytes, the last two a backward jump: `1: mov (%rdi),%eax; cmp %esi,%eax; pause; nop x4; je 1b`.
const POLL: &[u8] = &[0x8b, 0x07, 0x39, 0xf0, 0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf3];

const KERNEL: &[&str] =
    &["asm_sysvec_apic_timer_interrupt", "entry_SYSCALL_64", "__x64_sys_write", "osq_lock"];

fn table() -> Table {
    Table::new(KERNEL, &["work", "peek", "publish", "audit"]).with_code("peek", POLL)
}

/// The worker polls from 100 on, an iteration each 10 ticks, and works from `until` on.
fn polling(table: &Table, until: u64) -> World<'_> {
    let mut script = Script::new(table);
    script.block(0, "work", 0, BlockEnd::Call);
    for at in (100..until).step_by(10) {
        script.block(at, "peek", 0, BlockEnd::ConditionalBranch);
    }
    script.block(until, "work", Script::AFTER, BlockEnd::Jump).block(
        until + 100,
        "work",
        0x40,
        BlockEnd::Jump,
    );
    let schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 10_000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 10_000, LeaveReason::Unknown),
    ]);
    World { table, schedule, records: Vec::new(), items: script.items.clone(), kernel_traced: true }
}

#[test]
fn what_the_baselines_do_not_spin_is_too_long() {
    let table = table();
    let (outlier, baseline) = (polling(&table, 500), polling(&table, 200));
    let (outlier, baseline) = (outlier.examine(0..600), baseline.examine(0..300));
    let alone = crate::attribute_alone(&outlier).expect("a partition");
    assert!(alone.segments().iter().all(|segment| segment.cause.to_string() == "user.expected"));
    let attribution = crate::attribute(&outlier, &[&baseline], &table).expect("a partition");
    let spin: Vec<_> =
        attribution.segments().iter().filter(|segment| segment.cause.to_string() == "user.spin").collect();
    assert_eq!(spin.len(), 1);
    // The baseline polled from 100 to 200.
    assert_eq!((spin[0].range.start, spin[0].range.stop), (Tsc(200), Tsc(500)));
    let said = "spin-wait loop in peek(); called by work()";
    assert_eq!((spin[0].certainty, &*spin[0].detail), (Certainty::Inferred, said));
    assert_eq!((&*spin[0].story.place, &*spin[0].story.callers), ("peek()", "work()"));
}

/// The outlier polls for 3 us, in which the writer computes on the other CPU, or is on none.
#[test]
fn what_another_thread_of_the_process_did_then_is_below_the_loop() {
    let table = table();
    let baseline = polling(&table, 200);
    let baseline = baseline.examine(0..300);
    let mut world = polling(&table, 3_100);
    let examined = world.examine(0..3_200);
    let attribution = crate::attribute(&examined, &[&baseline], &table).expect("a partition");
    let spin = |attribution: &model::Attribution| {
        let spins = attribution.segments().iter();
        spins.filter(|segment| segment.cause == Cause::UserSpin).cloned().collect::<Vec<_>>()
    };
    let found = spin(&attribution);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].detail,
        "spin-wait loop in peek(); called by work(); during this time writer (tid 102) ran"
    );
    let below: u64 = found[0].during.iter().map(|segment| segment.range.ticks().0).sum();
    assert_eq!((below, found[0].during[0].thread), (3_000, Some(WRITER)));
    let expected: Vec<_> =
        attribution.segments().iter().filter(|segment| segment.cause == Cause::UserExpected).collect();
    assert!(expected.iter().all(|segment| segment.during.is_empty()));
    world.schedule = Schedule::from_runs(vec![
        run(WORKER, 0, 0, 10_000, LeaveReason::Unknown),
        run(WRITER, 1, 0, 50, LeaveReason::Preempted),
        run(WRITER, 1, 9_000, 10_000, LeaveReason::Unknown),
    ]);
    let examined = world.examine(0..3_200);
    let attribution = crate::attribute(&examined, &[&baseline], &table).expect("a partition");
    let found = spin(&attribution);
    assert!(
        found[0].detail.ends_with("; during this time no other thread of its process ran"),
        "{}",
        found[0].detail
    );
    assert!(found[0].during.is_empty());
}

/// A packet at 480 also holds the iterations after it and the loop exit: three iterations of 10 ticks, and no later
/// than the next packet.
#[test]
fn rounds_without_a_time_of_their_own_are_counted_on() {
    let table = table();
    for (next_packet, left_at, uncertainty) in [(560, 510, 80), (500, 500, 20)] {
        let mut world = polling(&table, 510);
        for item in &mut world.items {
            if let pt::FlowItem::Block(block) = item
                && (481..=510).contains(&block.time.likely.0)
            {
                block.time = pt::TimeBounds::between(Tsc(480), Tsc(next_packet));
            }
        }
        let examined = world.examine(0..600);
        let ticks: u64 = examined.spins().iter().map(|(_, ticks)| ticks).sum();
        assert_eq!(ticks, left_at - 100);
        let spin = examined.claims.iter().find(|claim| claim.cause == Cause::UserSpin).expect("a loop");
        assert_eq!(spin.uncertainty.0, uncertainty);
    }
}

/// The time is the writer's until the worker leaves its loop at 500: there is no other evidence.
#[test]
fn leaving_the_waiting_loop_hands_over_third_best() {
    let table = table();
    let world = polling(&table, 500);
    let mut two = interval(300..600);
    (two.start_thread, two.stop_thread) = (Some(WRITER), Some(WORKER));
    let examined = world.examine_interval(&two);
    let hand_off = examined.hand_off.clone().expect("a loop");
    assert_eq!((hand_off.at, hand_off.certainty), (Tsc(500), Certainty::Inferred));
    assert_eq!(hand_off.by, "tid 101 leaving its spin-wait loop in peek()");
    let attribution = crate::attribute_alone(&examined).expect("a partition");
    assert_eq!(attribution.segments().first().and_then(|first| first.thread), Some(WRITER));
    assert_eq!(attribution.segments().last().and_then(|last| last.thread), Some(WORKER));
}

/// An interrupt in the loop has its own time, and the loop continues after it.
#[test]
fn an_interrupt_does_not_end_the_loop() {
    let table = table();
    let mut world = polling(&table, 500);
    let mut script = Script::new(&table);
    script.interrupt(301, "asm_sysvec_apic_timer_interrupt").block(
        301,
        "asm_sysvec_apic_timer_interrupt",
        0,
        BlockEnd::FarReturn,
    );
    let at = world
        .items
        .iter()
        .position(|item| matches!(item, pt::FlowItem::Block(block) if block.time.likely > Tsc(300)));
    let at = at.expect("a later block");
    world.items.splice(at..at, script.items.clone());
    let spins = world.examine(0..600);
    let ticks: u64 = spins.spins().iter().map(|(_, ticks)| ticks).sum();
    assert_eq!((spins.spins().len(), ticks), (2, 400 - 9));
    let story = told(&crate::attribute_alone(&spins).expect("a partition"));
    assert!(story.contains(&expected(&[("kernel.timer", 9)])[0]), "{story:?}");
}

/// The owner of what the kernel spins for runs on another CPU.
#[test]
fn what_another_thread_did_is_below_a_loop_of_the_kernel_as_well() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::FarCall)
        .block(90, "entry_SYSCALL_64", 0, BlockEnd::Call)
        .block(95, "__x64_sys_write", 0, BlockEnd::Call)
        .block(100, "osq_lock", 0, BlockEnd::Return)
        .block(3_100, "__x64_sys_write", Script::AFTER, BlockEnd::Return)
        .block(3_150, "entry_SYSCALL_64", Script::AFTER, BlockEnd::FarReturn)
        .block(3_200, "work", 0x20, BlockEnd::Jump);
    let mut world = polling(&table, 200);
    world.items = script.items;
    let examined = world.examine(0..3_300);
    let spin = examined.claims.iter().find(|claim| claim.cause == Cause::KernelSpin).expect("it spun");
    assert_eq!((&*spin.story.by, spin.story.role), ("writer", model::Role::Beside));
    let below: u64 = spin.during.iter().map(|segment| segment.range.ticks().0).sum();
    assert_eq!((below, spin.during[0].thread), (3_000, Some(WRITER)));
    assert!(spin.detail.ends_with("during this time writer (tid 102) ran"), "{}", spin.detail);
}

/// While the worker polls, the writer is in `work`, for `audit`.
#[test]
fn what_another_thread_ran_is_told_with_its_caller() {
    let table = table();
    let mut world = polling(&table, 3_100);
    let mut script = Script::of(&table, WRITER);
    script.block(0, "audit", 0, BlockEnd::Call);
    for at in (50..9_000).step_by(50) {
        script.block(at, "work", 0x20, BlockEnd::ConditionalBranch);
        if at == 200 {
            script.block(at, "work", 0x60, BlockEnd::Return).block(
                at + 1,
                "audit",
                Script::AFTER,
                BlockEnd::Call,
            );
        }
    }
    world.items.extend(script.items);
    world.items.sort_by_key(|item| item.time().likely);
    let examined = world.examine(0..3_200);
    let spin = examined.claims.iter().find(|claim| claim.cause == Cause::UserSpin).expect("it spun");
    let longest = spin.during.iter().max_by_key(|segment| segment.range.ticks()).expect("the writer's");
    assert_eq!(longest.story.place, "work() called by audit()");
}
