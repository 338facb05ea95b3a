//! Flows written by hand; each expected tick is counted in the test's comment.

use model::Pid;
use pt::BlockEnd;

use super::*;

const THREAD: ThreadId = ThreadId { pid: Pid(7), tid: model::Tid(8) };

/// Where the kernel's return thunk lies.
const THUNK: u64 = 0xffff_ffff_81e0_1ee0;

fn block(first: u64, instructions: u32, from: u64, until: u64) -> FlowItem {
    FlowItem::Block(Block {
        ip: first,
        end_ip: first + 4 * u64::from(instructions - 1),
        instructions,
        end: BlockEnd::Jump,
        bits: 64,
        kernel: first >> 63 != 0,
        thread: Some(THREAD),
        time: TimeBounds::between(Tsc(from), Tsc(until)),
        aux_offset: 0,
    })
}

fn event(kind: EventKind, at: u64) -> FlowItem {
    let time = TimeBounds::between(Tsc(at), Tsc(at));
    FlowItem::Event(PtEvent { kind, thread: Some(THREAD), time, aux_offset: 0 })
}

/// Ticks, ratio ticks and executions of the block at each address.
fn time(items: &[FlowItem]) -> Vec<(u64, u64, u128, u64)> {
    time_but(&[], items)
}

/// The same where the CPU stood `still` then.
fn time_but(still: &[TscRange], items: &[FlowItem]) -> Vec<(u64, u64, u128, u64)> {
    let mut costs = Costs::new();
    let mut stopwatch =
        Stopwatch::new(&mut costs, THREAD, TscRange::new(Tsc(100), Tsc(200)), still, &|address| {
            address == THUNK
        });
    for item in items {
        assert_eq!(stopwatch.item(item), ControlFlow::Continue(()));
    }
    stopwatch.finish();
    let mut told: Vec<_> = costs
        .iter()
        .map(|((_, span), cost)| (span.first, cost.ticks, cost.ratio_ticks, cost.executions))
        .collect();
    told.sort_unstable();
    told
}

/// From 110 to 150 run 3 + 1 instructions: 40 ticks, 30 and 10; the last block's time ends with its packet at 160.
#[test]
fn time_is_shared_by_instructions_between_two_packets() {
    let items = [
        event(EventKind::CoreBusRatio { ratio: 20 }, 100),
        block(0x10, 3, 110, 150),
        block(0x80, 1, 110, 150),
        block(0x10, 3, 150, 160),
    ];
    assert_eq!(time(&items), [(0x10, 40, 800, 2), (0x80, 10, 200, 1)]);
}

/// 3 + 1 instructions from 110 to 150, and the thunk's own time until 160: its 10 + 10 ticks are those of the function that returns.
#[test]
fn a_thunk_is_part_of_its_caller() {
    let kernel = 0xffff_ffff_8100_0000;
    let items = [
        block(kernel, 3, 110, 150),
        block(THUNK, 1, 110, 150),
        block(THUNK, 1, 150, 160),
        block(0x80, 1, 160, 170),
    ];
    assert_eq!(time(&items), [(0x80, 10, 0, 1), (kernel, 50, 0, 1)]);
}

/// Only 110 to 120 and 180 to 200: what lies between is a gap, and the stay ends at 200 although the packet is at 230.
#[test]
fn a_gap_is_nobodys_and_the_stay_is_the_limit() {
    let gap = pt::Gap {
        reason: pt::GapReason::BadPacket,
        thread: Some(THREAD),
        time: TimeBounds::between(Tsc(120), Tsc(180)),
        aux_offset: 0,
        resumed_at: 0,
    };
    let items =
        [block(0x10, 5, 110, 120), FlowItem::Gap(gap), block(0x20, 5, 180, 230), block(0x30, 5, 230, 240)];
    assert_eq!(time(&items), [(0x10, 10, 0, 1), (0x20, 20, 0, 1)]);
}

/// Of 110 to 150, 115 to 125 and 130 to 145 belong to no block: 15 ticks for two blocks of the same length, and the last one
/// has 5 of its 10 until 160.
#[test]
fn no_code_ran_while_the_cpu_stood_still() {
    let still = [(115, 125), (130, 145), (155, 170)].map(|(from, to)| TscRange::new(Tsc(from), Tsc(to)));
    let items = [block(0x10, 2, 110, 150), block(0x80, 2, 110, 150), block(0x90, 3, 150, 160)];
    assert_eq!(time_but(&still, &items), [(0x10, 7, 0, 1), (0x80, 8, 0, 1), (0x90, 5, 0, 1)]);
}

/// What ran before the stay is not counted; what ran over its start is, from the start on.
#[test]
fn the_stay_begins_where_it_begins() {
    let items = [block(0x10, 1, 80, 90), block(0x20, 1, 90, 130), block(0x30, 1, 130, 130)];
    assert_eq!(time(&items), [(0x20, 30, 0, 1), (0x30, 0, 0, 1)]);
}

/// Tracing was off from 120 to 170.
#[test]
fn time_without_tracing_is_nobodys() {
    let items = [
        block(0x10, 1, 110, 120),
        event(EventKind::Disabled { ip: None, from: None }, 120),
        event(EventKind::Enabled { ip: 0x10, resumed: true }, 170),
        block(0x10, 1, 170, 180),
    ];
    assert_eq!(time(&items), [(0x10, 20, 0, 2)]);
}

/// 10 000 rounds of two blocks without any time packet, then 90 ticks: 3 to 1.
#[test]
fn endless_rounds_need_no_endless_memory() {
    let mut items: Vec<FlowItem> = Vec::new();
    for _ in 0..10_000 {
        items.extend([block(0x10, 3, 110, 198), block(0x40, 1, 110, 198)]);
    }
    assert_eq!(time(&items), [(0x10, 66, 0, 10_000), (0x40, 22, 0, 10_000)]);
}

/// Another thread's blocks on the same CPU are not the interval's.
#[test]
fn others_do_not_count() {
    let mut other = block(0x10, 1, 110, 150);
    if let FlowItem::Block(block) = &mut other {
        block.thread = Some(ThreadId { pid: Pid(7), tid: model::Tid(9) });
    }
    assert_eq!(time(&[other]), []);
}

/// What is too large for a word is divided as what is not: three quarters of 2^64 - 1, rounded down.
#[test]
fn a_share_has_any_size() {
    assert_eq!(share(40, 3, 4), 30);
    assert_eq!(share(u64::MAX, 3, 4), 13_835_058_055_282_163_711);
    assert_eq!((share(u64::MAX, u64::MAX, u64::MAX), share(7, 0, 0)), (u64::MAX, 0));
}
