use std::ops::Range;

use attribution::Whereabouts;
use model::Tid;
use perfdata::LeaveReason;
use pt::{BlockEnd, Gap, GapReason, TimeBounds};

use super::*;
use crate::tui::testing::sample::segment;

const THREAD: ThreadId = ThreadId { pid: Pid(7), tid: Tid(8) };
const OTHER: ThreadId = ThreadId { pid: Pid(7), tid: Tid(9) };

/// `main` below 0x100, `parse` below 0x200, nothing above.
struct Names;

impl Functions for Names {
    fn function_at(&self, _: Pid, address: u64, _: Tsc) -> Option<Function> {
        let (range, name): (Range<u64>, &str) = match address {
            0..0x100 => (0..0x100, "main"),
            0x100..0x200 => (0x100..0x200, "parse"),
            _ => return None,
        };
        Some(Function { start: range.start, range, name: name.into(), library: false, collector: None })
    }

    fn line_at(&self, _: Pid, _: u64, _: Tsc) -> Option<Arc<str>> {
        None
    }

    fn code_at(&self, _: Pid, _: u64, _: Tsc, _: &mut [u8]) -> usize {
        0
    }
}

/// Plays items, whatever is requested.
struct Script(Vec<FlowItem>);

impl Decode for Script {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, sink: &mut dyn FlowSink) -> bool {
        for item in self.0.drain(..) {
            if sink.item(&item).is_break() {
                break;
            }
        }
        true
    }
}

fn at(tsc: u64) -> TimeBounds {
    TimeBounds::between(Tsc(tsc), Tsc(tsc + 1))
}

fn block_of(thread: ThreadId, ip: u64, tsc: u64) -> FlowItem {
    FlowItem::Block(Block {
        ip,
        end_ip: ip + 4,
        instructions: 3,
        end: BlockEnd::Jump,
        bits: 64,
        kernel: false,
        thread: Some(thread),
        time: at(tsc),
        aux_offset: tsc * 10,
    })
}

fn block(ip: u64, tsc: u64) -> FlowItem {
    block_of(THREAD, ip, tsc)
}

fn event(kind: EventKind, tsc: u64) -> FlowItem {
    FlowItem::Event(PtEvent { kind, thread: Some(THREAD), time: at(tsc), aux_offset: 0 })
}

fn stay(range: (u64, u64), place: Whereabouts) -> Stay {
    Stay::new(TscRange::new(Tsc(range.0), Tsc(range.1)), Some(THREAD), place)
}

/// The flow of 1000 to 2000, of which `wanted` is requested, without a conversion: lengths are ticks.
fn flow_of(wanted: (u64, u64), stays: &[Stay], items: Vec<FlowItem>) -> Flow {
    flow_named(wanted, &[], stays, items)
}

/// [`flow_of`] an interval with these segments.
fn flow_named(wanted: (u64, u64), segments: &[SegmentReport], stays: &[Stay], items: Vec<FlowItem>) -> Flow {
    let wanted = Wanted {
        interval: TscRange::new(Tsc(1000), Tsc(2000)),
        range: TscRange::new(Tsc(wanted.0), Tsc(wanted.1)),
        functions: &Names,
        timebase: Timebase::Ticks,
        segments,
    };
    wanted.decode((0, 0), stays, &mut Script(items))
}

/// `at+for function executions/blocks` per run, `at text` per mark.
fn told(flow: &Flow) -> Vec<String> {
    let row = |row: &FlowRow| match row {
        FlowRow::Run(run) => {
            format!(
                "{}+{} {} {}/{}",
                run.offset,
                run.duration,
                run.function,
                run.executions,
                run.blocks.len()
            )
        }
        FlowRow::Mark(mark) => format!("{} {}", mark.offset, mark.text),
    };
    flow.rows.iter().map(row).collect()
}

const ON_CPU: Whereabouts = Whereabouts::OnCpu(Cpu(3));

#[test]
fn blocks_of_a_function_are_a_run_and_time_goes_on_until_the_next() {
    let items =
        vec![block(0x10, 1000), block(0x20, 1010), block(0x10, 1030), block(0x110, 1100), block(0x900, 1150)];
    let flow = flow_of((1000, 2000), &[stay((1000, 2000), ON_CPU)], items);
    assert_eq!(told(&flow), ["0+100 main 3/2", "100+50 parse 1/1", "150+850 [unknown] 1/1"]);
    let FlowRow::Run(run) = &flow.rows[0] else { panic!("a run") };
    let uses: Vec<(u64, u64, u64)> =
        run.blocks.iter().map(|used| (used.block.ip, used.executions, used.duration)).collect();
    assert_eq!(uses, [(0x10, 2, 10 + 70), (0x20, 1, 20)]);
    assert_eq!((run.instructions, run.cpu), (9, Some(3)));
    assert_eq!((run.blocks[1].offset, run.blocks[1].aux_before), (10, 10_000));
}

#[test]
fn events_and_gaps_stand_between_runs() {
    let interrupted = EventKind::AsyncBranch { from: 0x14, to: 0x900 };
    let gap = Gap {
        reason: GapReason::NoCode { ip: 0x900 },
        thread: Some(THREAD),
        time: at(1030),
        aux_offset: 0,
        resumed_at: 5,
    };
    let ratio = EventKind::CoreBusRatio { ratio: 20 };
    let items = vec![
        block(0x10, 1000),
        event(ratio, 1010),
        event(interrupted, 1020),
        FlowItem::Gap(gap),
        block(0x20, 1040),
    ];
    let flow = flow_of((1000, 2000), &[stay((1000, 1100), ON_CPU)], items);
    let expected = [
        "0+20 main 1/1",
        "20 interrupted at main+0x14, on to 0x900",
        "30 not decoded: no code bytes at 0x900",
        "40+60 main 1/1",
    ];
    assert_eq!(told(&flow), expected);
}

#[test]
fn other_threads_and_other_times_are_left_out() {
    let items = vec![
        block(0x10, 1100),
        block(0x20, 1205),
        block_of(OTHER, 0x110, 1210),
        block(0x30, 1220),
        block(0x110, 1300),
    ];
    let flow = flow_of((1200, 1300), &[stay((1000, 2000), ON_CPU)], items);
    assert_eq!(told(&flow), ["205+95 main 2/2"]);
}

#[test]
fn time_off_the_cpu_is_told_without_decoding() {
    let stays = [
        stay((1000, 1400), Whereabouts::OffCpu(LeaveReason::Preempted)),
        stay((1400, 2000), Whereabouts::OffCpu(LeaveReason::Slept(Some('S')))),
    ];
    let segments = [
        segment(0, 400, "offcpu.preempted", "by writer (tid 3)"),
        segment(400, 500, "offcpu.lock", ""),
        segment(900, 100, "offcpu.runnable", ""),
    ];
    let flow = flow_named((1100, 1950), &segments, &stays, Vec::new());
    let expected = [
        "100 400 ticks offcpu.preempted, by writer (tid 3)",
        "400 500 ticks offcpu.lock",
        "900 100 ticks offcpu.runnable",
    ];
    assert_eq!(told(&flow), expected);
}

#[test]
fn an_endless_flow_is_cut() {
    let turn = |step: u64| block(if step.is_multiple_of(2) { 0x10 } else { 0x110 }, 1000);
    let items = (0..2 * MOST_ROWS as u64).map(turn).collect();
    let flow = flow_of((1000, 2000), &[stay((1000, 2000), ON_CPU)], items);
    assert!(flow.is_cut);
    assert!(flow.rows.len() <= MOST_ROWS + 1, "{}", flow.rows.len());
}

#[test]
fn a_loop_is_a_row_and_its_blocks_are_bounded() {
    let items = (0..100_000u64).map(|step| block(step % 0x100, 1000)).collect();
    let flow = flow_of((1000, 2000), &[stay((1000, 2000), ON_CPU)], items);
    assert_eq!(told(&flow), ["0+1000 main 100000/256"]);
}

/// `main` calls `parse`, which is interrupted and returns; what comes after the interrupt's mark is as deep as before it.
#[test]
fn runs_stand_below_their_callers() {
    let ending = |ip, tsc, end| match block(ip, tsc) {
        FlowItem::Block(block) => FlowItem::Block(Block { end, ..block }),
        other => other,
    };
    let items = vec![
        ending(0x10, 1000, BlockEnd::Call),
        ending(0x110, 1010, BlockEnd::FallThrough),
        event(EventKind::AsyncBranch { from: 0x114, to: 0x900 }, 1020),
        ending(0x900, 1030, BlockEnd::FarReturn),
        ending(0x114, 1040, BlockEnd::Return),
        ending(0x16, 1050, BlockEnd::Return),
        ending(0x920, 1060, BlockEnd::Jump),
    ];
    let flow = flow_of((1000, 2000), &[stay((1000, 2000), ON_CPU)], items);
    let depths: Vec<usize> = flow.rows.iter().map(FlowRow::depth).collect();
    // The last one is `main`'s caller, so that all else is a level deeper.
    assert_eq!(depths, [1, 2, 2, 3, 2, 1, 0]);
}
