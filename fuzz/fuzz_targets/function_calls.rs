//! Any flow of a CPU that moves among three threads: entries and returns pair, in order, each once.
#![no_main]

use intervals::{EntryPoint, FunctionCalls, join_calls};
use libfuzzer_sys::fuzz_target;
use model::{Cpu, ThreadId, Tsc, TscRange};
use pt::{Block, BlockEnd, EventKind, FlowItem, FlowSink as _, Gap, GapReason, PtEvent, TimeBounds};

const ENTRIES: [EntryPoint; 3] = [
    EntryPoint { ip: 0x1010, pid: None },
    EntryPoint { ip: 0x1040, pid: Some(model::Pid(1)) },
    EntryPoint { ip: KERNEL + 0x20, pid: None },
];
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const ENDS: [BlockEnd; 8] = [
    BlockEnd::FallThrough,
    BlockEnd::ConditionalBranch,
    BlockEnd::Jump,
    BlockEnd::Call,
    BlockEnd::Return,
    BlockEnd::FarCall,
    BlockEnd::FarReturn,
    BlockEnd::Other,
];

/// What happens, to whom, where (in sixteenths of a page), how long after the last.
type Step = (u8, u8, u8, u8);

fuzz_target!(|input: (Vec<Step>, u16)| {
    let (steps, cut) = input;
    let ranges = [(0, cut.into()), (u64::from(cut), u64::MAX)].map(|(a, b)| TscRange::new(Tsc(a), Tsc(b)));
    let mut stretches = Vec::new();
    for (cpu, range) in (0..).zip(ranges) {
        let mut calls = FunctionCalls::new(&ENTRIES, Some(Cpu(cpu)), range);
        let mut now = 0;
        for &step in &steps {
            now += u64::from(step.3);
            if calls.item(&item(step, now)).is_break() {
                break;
            }
        }
        stretches.extend(calls.finish());
    }
    let found = join_calls(stretches);
    let entered = steps.iter().filter(|step| step.0 < 0x80 || (0xe8..0xf0).contains(&step.0)).count() as u64;
    assert!(found.calls.len() as u64 + found.unfinished <= entered);
    assert!(found.calls.iter().all(|call| call.range.start <= call.range.stop));
    assert!(found.calls.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    let count = found.calls.len();
    assert!(found.into_intervals("function").intervals.len() <= count);
});

fn item((what, who, place, _): Step, now: u64) -> FlowItem {
    let thread = (who & 3 != 3).then_some(ThreadId::new(i32::from(who & 1), (who & 3).into()));
    let time = TimeBounds::between(Tsc(now), Tsc(now + u64::from(who >> 2)));
    let ip = if place & 0x80 == 0 { 0x1000 } else { KERNEL } + u64::from(place & 0x7f) * 16;
    let event = |kind| FlowItem::Event(PtEvent { kind, thread, time, aux_offset: now });
    match what {
        0..0x80 => FlowItem::Block(Block {
            ip,
            end_ip: ip + u64::from(what >> 3),
            instructions: 1 + u32::from(what >> 3),
            end: ENDS[usize::from(what & 7)],
            bits: 64,
            kernel: ip >= KERNEL,
            thread,
            time,
            aux_offset: now,
        }),
        0x80..0xa0 => event(EventKind::AsyncBranch { from: ip ^ 0x40, to: ip }),
        0xa0..0xb8 => event(EventKind::Disabled { ip: (what & 1 == 0).then_some(ip), from: None }),
        0xb8..0xd0 => event(EventKind::Enabled { ip, resumed: what & 1 == 0 }),
        0xd0..0xe0 => event(EventKind::Overflow { ip: (what & 1 == 0).then_some(ip) }),
        0xe0..0xe8 => event(EventKind::WatchedCall { returns_to: ip }),
        0xe8..0xf0 => event(EventKind::WatchedEntry { ip }),
        0xf0..0xf8 => event(EventKind::WatchedReturn { to: ip }),
        0xf8.. => FlowItem::Gap(Gap {
            reason: GapReason::BadPacket,
            thread,
            time,
            aux_offset: now,
            resumed_at: now,
        }),
    }
}
