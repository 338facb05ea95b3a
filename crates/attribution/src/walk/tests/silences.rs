//! Losses, tracing off, and time in which nothing retires.

use model::{Cause, Cpu, FaultKind, Ticks, Tsc};
use pt::{BlockEnd, EventKind, FlowItem};

use super::{called, frame, frames, interrupted, runs, table, walk};
use crate::testing::script::{STALL, Script};
use crate::walk::walker::Walker;

#[test]
fn what_a_loss_cuts_in_two_is_one_happening() {
    let table = table();
    let mut script = interrupted(&table, "asm_exc_page_fault", BlockEnd::Call);
    script
        .block(25, "exc_page_fault", 0, BlockEnd::FallThrough)
        .gap(30)
        .block(50, "exc_page_fault", 0x40, BlockEnd::Return)
        .block(60, "asm_exc_page_fault", Script::AFTER, BlockEnd::FarReturn)
        .block(70, "work", 0x20, BlockEnd::FallThrough)
        .interrupt(80, "asm_exc_page_fault")
        .block(80, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
        .block(90, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 100);
    let fault = "kernel.page-fault.minor";
    assert_eq!(
        frames(&activity),
        [frame(fault, 20, 30, 0), frame(fault, 50, 70, 0), frame(fault, 80, 90, 0)]
    );
    let number = |index: usize| activity.frames[index].occurrence;
    assert_eq!(number(0), number(1));
    assert_ne!(number(1), number(2));
    assert_eq!(activity.silences.len(), 1);
    assert_eq!((activity.silences[0].range.start.0, activity.silences[0].range.stop.0), (30, 50));
}

#[test]
fn an_overflow_ends_what_was_open() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script.event(30, EventKind::Overflow { ip: None }).block(30, "work", 0x20, BlockEnd::Jump).block(
        20_000,
        "work",
        0x40,
        BlockEnd::Jump,
    );
    let activity = walk(&table, &script, 30_000);
    assert_eq!(frames(&activity), [frame("kernel.syscall.unknown", 20, 30, 0)]);
    // Time is known again only at 20,000: until then it is loss and no stall.
    assert_eq!((activity.silences[0].range.start.0, activity.silences[0].range.stop.0), (30, 20_000));
    assert!(activity.stalls.is_empty());
}

#[test]
fn tracing_off_for_no_time_is_the_border_of_two_buffers() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::Jump)
        .event(20, EventKind::Disabled { ip: None, from: None })
        .event(22, EventKind::CoreBusRatio { ratio: 26 })
        .event(22, EventKind::Enabled { ip: 0x1020, resumed: false })
        .block(22, "work", 0x20, BlockEnd::Jump)
        .event(500, EventKind::Disabled { ip: None, from: None })
        .event(700, EventKind::Enabled { ip: 0x1020, resumed: true })
        .block(700, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 1000);
    assert_eq!(activity.silences.len(), 1);
    assert_eq!((activity.silences[0].range.start.0, activity.silences[0].range.stop.0), (500, 700));
    assert_eq!(runs(&activity), [("work", 10, 22), ("work", 22, 500), ("work", 700, 1000)]);
}

#[test]
fn user_only_traces_tell_system_calls_and_vectors() {
    let table = table();
    let mut script = Script::new(&table);
    let enabled = EventKind::Enabled { ip: 0x1020, resumed: true };
    script
        .block(10, "work", 0, BlockEnd::FarCall)
        .event(100, EventKind::Disabled { ip: None, from: None })
        .event(300, enabled)
        .block(300, "work", 0x20, BlockEnd::Jump)
        .event(400, EventKind::ControlFlowEvent { kind: 1, vector: 14, ip: None })
        .event(400, EventKind::Disabled { ip: None, from: None })
        .event(600, enabled)
        .block(600, "work", 0x40, BlockEnd::Jump)
        .event(700, EventKind::Disabled { ip: None, from: None })
        .event(900, enabled)
        .block(900, "work", 0x60, BlockEnd::Jump);
    let entries: Vec<_> = walk(&table, &script, 1000).silences.into_iter().map(|gap| gap.entry).collect();
    let call = Cause::Syscall("unknown".into());
    assert_eq!(entries, [Some(call), Some(Cause::PageFault(FaultKind::Minor)), None]);
}

#[test]
fn time_in_which_nothing_retires_is_a_stand_still_and_one_that_ends_with_a_ratio_the_switch_to_it() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .event(0, EventKind::CoreBusRatio { ratio: 26 })
        .block(10, "work", 0, BlockEnd::Jump)
        .event(20_000, EventKind::CoreBusRatio { ratio: 26 })
        .block(20_000, "work", 0, BlockEnd::Jump)
        .event(40_000, EventKind::CoreBusRatio { ratio: 0 })
        .event(40_000, EventKind::CoreBusRatio { ratio: 20 })
        .block(40_000, "work", 0, BlockEnd::Jump);
    let activity = walk(&table, &script, 41_000);
    let stalls: Vec<_> = activity
        .stalls
        .iter()
        .map(|stall| (stall.range.start.0, stall.range.stop.0, stall.ratio_changed))
        .collect();
    // Ten instructions retired before the change, in some 40 ticks.
    assert_eq!(stalls, [(10, 20_000, false), (20_040, 40_000, true)]);
    assert_eq!(activity.runs.last().map(|run| run.ratio), Some(20));
}

/// A packet with six branches and the change 7 us after it: 200 instructions in that time are slow code, unless the ratio is new.
#[test]
fn a_change_of_the_ratio_is_seen_after_code_that_ran_without_a_packet() {
    let table = table();
    for (ratio, expected) in [(26, vec![]), (20, vec![(10 + 800, 18_210, true)])] {
        let mut script = Script::new(&table);
        script.event(0, EventKind::CoreBusRatio { ratio: 26 });
        for _ in 0..20 {
            script.block(10, "work", 0, BlockEnd::Jump);
        }
        script.event(18_210, EventKind::CoreBusRatio { ratio }).block(18_210, "work", 0, BlockEnd::Jump);
        let activity = walk(&table, &script, 19_000);
        let stall = |stall: &crate::walk::activity::Stall| {
            (stall.range.start.0, stall.range.stop.0, stall.ratio_changed)
        };
        assert_eq!(activity.stalls.iter().map(stall).collect::<Vec<_>>(), expected);
    }
}

/// The core stalled from 1,000 to 20,000. The thread was there from 12,000 on, or until 15,000 in the second case.
#[test]
fn a_stand_still_is_as_long_as_it_was_in_all() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(1000, "work", 0, BlockEnd::Jump).block(20_000, "work", 0, BlockEnd::Jump);
    let mut walker = Walker::new(&table, STALL);
    walker.switch_in(Some(Cpu(0)), Tsc(12_000));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(21_000));
    let stalls = walker.finish(Tsc(21_000)).stalls;
    let told: Vec<_> = stalls.iter().map(|stall| (stall.range.start.0, stall.range.stop.0)).collect();
    assert_eq!(told, [(12_000, 20_000)]);
    // Ten instructions of 4 ticks ran in it.
    assert_eq!(stalls[0].length, Ticks(18_960));
}

#[test]
fn time_packets_far_apart_are_no_stand_still() {
    let table = table();
    let mut script = Script::new(&table);
    for _ in 0..30 {
        script.block(10, "work", 0, BlockEnd::Jump);
    }
    script.block(20_000, "work", 0, BlockEnd::Jump);
    assert!(walk(&table, &script, 21_000).stalls.is_empty());
}

/// After the overflow kernel code runs, and time is known again at 500: the loss lasts until then, and no frame
/// covers it.
#[test]
fn kernel_work_behind_a_loss_begins_when_time_is_known() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .event(30, EventKind::Overflow { ip: None })
        .block(30, "vfs_read", 0x20, BlockEnd::Jump)
        .block(500, "vfs_read", 0x40, BlockEnd::Return)
        .block(550, "__x64_sys_read", 0x40, BlockEnd::FarReturn)
        .block(600, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 1000);
    assert_eq!(
        frames(&activity),
        [frame("kernel.syscall.unknown", 20, 30, 0), frame("kernel.syscall.read", 500, 600, 0)]
    );
    assert_eq!((activity.silences[0].range.start.0, activity.silences[0].range.stop.0), (30, 500));
}

/// Without CYC and MTC the next time after tracing goes off is when it resumes: when the thread left its code in
/// between is not known, and both stretches carry this uncertainty.
#[test]
fn an_edge_between_two_times_is_as_uncertain_as_they_lie_apart() {
    let table = table();
    let mut script = Script::new(&table);
    script
        .block(10, "work", 0, BlockEnd::FarCall)
        .event_between(10, 700, EventKind::Disabled { ip: None, from: None })
        .event(700, EventKind::Enabled { ip: 0x1020, resumed: false })
        .block(700, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 1000);
    assert_eq!(activity.silences[0].uncertainty.0, 690);
    let uncertain: Vec<u64> = activity.runs.iter().map(|run| run.uncertainty.0).collect();
    assert_eq!(uncertain, [690, 0]);
}

/// Tracing goes off at 100, the thread leaves at 400 and is back at 600. What ran before 100 is seen again, because
/// its time may reach to 1000, and its packet follows that of the event: the silence still continues.
#[test]
fn a_silence_goes_on_behind_an_absence() {
    let table = table();
    let mut script = Script::new(&table);
    script.block(90, "work", 0, BlockEnd::Jump).event(100, EventKind::Disabled { ip: None, from: None });
    let mut walker = Walker::new(&table, STALL);
    walker.traces_user_code_only();
    walker.switch_in(Some(Cpu(0)), Tsc(0));
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(400));
    walker.switch_in(Some(Cpu(0)), Tsc(600));
    if let FlowItem::Block(block) = &mut script.items[0] {
        (block.time.not_after, block.aux_offset) = (Tsc(1000), 104);
    }
    script.event(1000, EventKind::Enabled { ip: 0x1020, resumed: false }).block(
        1000,
        "work",
        0x20,
        BlockEnd::Jump,
    );
    script.items.iter().for_each(|item| walker.item(item));
    walker.switch_out(Tsc(1100));
    let silences = walker.finish(Tsc(1100)).silences;
    let told: Vec<_> =
        silences.iter().map(|gap| (gap.began.0, gap.range.start.0, gap.range.stop.0)).collect();
    assert_eq!(told, [(100, 100, 400), (100, 600, 1000)]);
}

/// Only user code is traced. The thread comes onto its CPU at 2,000 from a wait that began before the flow, and its user code
/// runs from 2,300 on: up to then the kernel ran.
#[test]
fn the_way_from_a_switch_to_user_code_is_untraced_and_not_lost() {
    let table = table();
    let mut script = Script::new(&table);
    script.event(2_300, EventKind::Enabled { ip: 0x1020, resumed: false }).block(
        2_300,
        "work",
        0x20,
        BlockEnd::Jump,
    );
    let silences = |user_only: bool, by_switch: bool| {
        let mut walker = Walker::new(&table, STALL);
        if user_only {
            walker.traces_user_code_only();
        }
        walker.switch_in(Some(Cpu(0)), Tsc(2_000));
        if by_switch {
            walker.scheduled(Tsc(2_000));
        }
        script.items.iter().for_each(|item| walker.item(item));
        walker.switch_out(Tsc(3_000));
        let silences = walker.finish(Tsc(3_000)).silences;
        silences
            .iter()
            .map(|gap| (gap.range.start.0, gap.range.stop.0, gap.why.is_loss()))
            .collect::<Vec<_>>()
    };
    assert_eq!(silences(true, true), [(2_000, 2_300, false)]);
    // The kernel is traced; the trace may begin there.
    assert_eq!(silences(false, true), []);
    assert_eq!(silences(true, false), []);
}
