//! Flows written by hand, and the cache.

use super::*;
use model::{Pid, Ticks};
use proptest::prelude::*;
use pt::{Block, BlockEnd, EventKind, FlowItem, FlowSink, Gap, GapReason, PtEvent, TimeBounds};

const F: u64 = 0x1000;
const KERNEL: u64 = 0xffff_ffff_8000_0000;
const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// A flow in the making: each item is one tick after the last.
struct Script {
    items: Vec<FlowItem>,
    now: u64,
    tid: i32,
}

impl Script {
    fn new(start: u64, tid: i32) -> Script {
        Script { items: Vec::new(), now: start, tid }
    }

    fn time(&mut self) -> TimeBounds {
        self.now += 1;
        TimeBounds::between(Tsc(self.now), Tsc(self.now + 1))
    }

    /// A block from `ip`, whose last instruction lies eight bytes further.
    fn block(mut self, ip: u64, end: BlockEnd) -> Script {
        let time = self.time();
        self.items.push(FlowItem::Block(Block {
            ip,
            end_ip: ip + 8,
            instructions: 3,
            end,
            bits: 64,
            kernel: ip >> 63 != 0,
            thread: Some(ThreadId::new(1, self.tid)),
            time,
            aux_offset: 0,
        }));
        self
    }

    fn event(mut self, kind: EventKind) -> Script {
        let time = self.time();
        self.items.push(FlowItem::Event(PtEvent {
            kind,
            thread: Some(ThreadId::new(1, self.tid)),
            time,
            aux_offset: 0,
        }));
        self
    }

    fn gap(mut self) -> Script {
        let time = self.time();
        let thread = Some(ThreadId::new(1, self.tid));
        self.items.push(FlowItem::Gap(Gap {
            reason: GapReason::BadPacket,
            thread,
            time,
            aux_offset: 0,
            resumed_at: 0,
        }));
        self
    }

    fn on(mut self, tid: i32) -> Script {
        self.tid = tid;
        self
    }

    fn stretches(self, cpu: u32) -> Vec<Stretch> {
        let entries = [EntryPoint { ip: F, pid: Some(Pid(1)) }, EntryPoint { ip: KERNEL, pid: None }];
        let mut sink = FunctionCalls::new(&entries, Some(Cpu(cpu)), ALL);
        for item in self.items {
            assert!(sink.item(&item).is_continue());
        }
        sink.finish()
    }

    fn found(self) -> FoundCalls {
        join_calls(self.stretches(0))
    }
}

mod watched;

/// Start and stop of each call.
fn ranges(found: &FoundCalls) -> Vec<(u64, u64)> {
    found.calls.iter().map(|call| (call.range.start.0, call.range.stop.0)).collect()
}

#[test]
fn call_and_return() {
    let found = Script::new(10, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::ConditionalBranch)
        .block(F + 0x40, BlockEnd::Call)
        .block(0x3000, BlockEnd::Return)
        .block(F + 0x50 - 3, BlockEnd::Return)
        .block(0x500 + 8 + 5, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(12, 16)], 0));
    assert_eq!(found.calls[0].thread, Some(ThreadId::new(1, 1)));
}

#[test]
fn recursion_nests_and_a_loop_to_the_entry_does_not() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::Jump)
        .block(F, BlockEnd::Call)
        .block(F, BlockEnd::Return)
        .block(F + 8 + 5, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert_eq!(ranges(&found), [(2, 6), (4, 5)]);
}

#[test]
fn a_tail_call_ends_with_its_callers_frame() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(0x700, BlockEnd::Jump)
        .block(F, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert_eq!(ranges(&found), [(3, 4)]);
}

#[test]
fn interrupts_and_system_calls_inside_do_not_end_it() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .event(EventKind::AsyncBranch { from: F, to: KERNEL + 0x900 })
        .block(KERNEL + 0x900, BlockEnd::Call)
        .block(KERNEL + 0x990, BlockEnd::Return)
        .block(KERNEL + 0x90d, BlockEnd::FarReturn)
        .block(F, BlockEnd::FarCall)
        .block(KERNEL + 0x100, BlockEnd::FarReturn)
        .block(F + 0x10, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(6, 9)], 0));
}

#[test]
fn a_kernel_entry_point_ends_with_its_far_return() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::ConditionalBranch)
        .event(EventKind::AsyncBranch { from: 0x508, to: KERNEL })
        .block(KERNEL, BlockEnd::Call)
        .block(KERNEL + 0x100, BlockEnd::Return)
        .block(KERNEL + 0xd, BlockEnd::FarReturn)
        .block(0x508, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(3, 6)], 0));
}

#[test]
fn a_retpoline_is_a_jump() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(0x900, BlockEnd::Call)
        .block(0x910, BlockEnd::Return)
        .block(F, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert_eq!((ranges(&found), found.unfinished), (vec![(4, 5)], 0));
}

#[test]
fn longjmp_leaves_calls_unfinished_and_the_outer_ones_right() {
    let found = Script::new(0, 1)
        .block(0x400, BlockEnd::Call)
        .block(F, BlockEnd::Call)
        .block(0x800, BlockEnd::Call)
        .block(F, BlockEnd::Jump)
        .block(F + 0x70, BlockEnd::Return)
        .block(0x40d, BlockEnd::Jump)
        .found();
    // The inner call jumped into the outer one, which then returned.
    assert_eq!((ranges(&found), found.unfinished), (vec![(2, 6)], 1));
}

#[test]
fn entered_on_one_cpu_and_returned_on_another() {
    let first = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::FarCall)
        .on(2)
        .block(0x77, BlockEnd::Jump);
    let second = Script::new(100, 1).block(F + 0x10, BlockEnd::Return).block(0x50d, BlockEnd::Jump);
    let mut stretches = second.stretches(1);
    stretches.extend(first.stretches(0));
    let found = join_calls(stretches);
    assert_eq!((ranges(&found), found.unfinished), (vec![(2, 102)], 0));
}

#[test]
fn a_kernel_function_that_was_preempted_goes_on_on_another_cpu() {
    let first = Script::new(0, 1)
        .block(0x500, BlockEnd::FarCall)
        .block(KERNEL, BlockEnd::Call)
        .block(KERNEL + 0x50, BlockEnd::Jump);
    let second = Script::new(100, 1)
        .block(KERNEL + 0x60, BlockEnd::Return)
        .block(KERNEL + 0xd, BlockEnd::FarReturn)
        .block(0x50d, BlockEnd::Jump);
    let mut stretches = first.stretches(0);
    stretches.extend(second.stretches(1));
    let found = join_calls(stretches);
    assert_eq!((ranges(&found), found.unfinished), (vec![(2, 103)], 0));
}

#[test]
fn threads_do_not_mix() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::FarCall)
        .on(2)
        .block(F + 0x10, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .on(1)
        .block(F + 0x20, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert_eq!(ranges(&found), [(2, 6)]);
}

#[test]
fn another_process_at_the_same_address_is_not_meant() {
    let entries = [EntryPoint { ip: F, pid: Some(Pid(99)) }];
    let mut sink = FunctionCalls::new(&entries, None, ALL);
    for item in Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .items
    {
        assert!(sink.item(&item).is_continue());
    }
    assert_eq!(join_calls(sink.finish()), FoundCalls::default());
}

#[test]
fn lost_trace_is_said() {
    let found = Script::new(0, 1)
        .block(0x500, BlockEnd::Call)
        .block(F, BlockEnd::ConditionalBranch)
        .gap()
        .block(F + 0x10, BlockEnd::Return)
        .block(0x50d, BlockEnd::Jump)
        .found();
    assert!(found.calls[0].crossed_gap);
    let set = found.into_intervals("f");
    assert!(set.diagnostics[0].what.contains("trace was lost during call 0 of f"));
    assert_eq!(set.intervals[0].label, "f");
}

#[test]
fn a_filter_on_the_function_itself() {
    let found = Script::new(0, 1)
        .event(EventKind::Enabled { ip: F, resumed: false })
        .block(F, BlockEnd::Return)
        .event(EventKind::Disabled { ip: Some(0x50d), from: None })
        .event(EventKind::Enabled { ip: F, resumed: false })
        .block(F, BlockEnd::Return)
        .event(EventKind::Disabled { ip: None, from: None })
        .found();
    assert_eq!(ranges(&found), [(2, 3), (5, 6)]);
}

#[test]
fn windows_that_overlap_find_nothing_twice() {
    let script = || {
        Script::new(0, 1).block(0x500, BlockEnd::Call).block(F, BlockEnd::Return).block(0x50d, BlockEnd::Jump)
    };
    let entries = [EntryPoint { ip: F, pid: None }];
    let mut stretches = Vec::new();
    for range in [TscRange::new(Tsc(0), Tsc(3)), TscRange::new(Tsc(3), Tsc(9))] {
        let mut sink = FunctionCalls::new(&entries, Some(Cpu(0)), range);
        for item in script().items {
            if sink.item(&item).is_break() {
                break;
            }
        }
        stretches.extend(sink.finish());
    }
    // The cut lies between the return and its target: the frame is closed by no return of the second window.
    let found = join_calls(stretches);
    assert_eq!(ranges(&found).len() as u64 + found.unfinished, 1);
}

#[test]
fn no_call_is_said() {
    let set = FoundCalls::default().into_intervals("f");
    assert!(set.diagnostics[0].what.contains("no call of f"));
}

#[test]
fn the_cache_gives_back_what_fits_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("perf.data");
    std::fs::write(&capture, "trace").expect("written");
    let entries = [EntryPoint { ip: F, pid: Some(Pid(1)) }];
    let call = |start, thread| Call {
        range: TscRange::new(Tsc(start), Tsc(start + 5)),
        thread,
        crossed_gap: start == 7,
    };
    let found = FoundCalls { calls: vec![call(1, Some(ThreadId::new(3, 4))), call(7, None)], unfinished: 9 };
    let cache = MarkCache::new(folder.path(), &capture, "f", &entries).expect("a capture");
    assert_eq!(cache.load(), None);
    std::fs::write(cache.path(), cache.contents(&found)).expect("written");
    assert_eq!(cache.load().as_ref(), Some(&found));
    assert_eq!(MarkCache::new(folder.path(), &capture, "g", &entries).expect("a capture").load(), None);
    assert_eq!(MarkCache::new(folder.path(), &capture, "f", &[]).expect("a capture").load(), None);

    let bytes = std::fs::read(cache.path()).expect("read");
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0x10;
        std::fs::write(cache.path(), &broken).expect("written");
        assert_eq!(cache.load(), None, "byte {at}");
        std::fs::write(cache.path(), &bytes[..at]).expect("written");
        assert_eq!(cache.load(), None, "cut at {at}");
    }
    std::fs::write(cache.path(), &bytes).expect("written");
    assert_eq!(cache.load().as_ref(), Some(&found));
    let elsewhere = folder.path().join("copy.data");
    std::fs::copy(&capture, &elsewhere).expect("copied");
    assert_ne!(
        MarkCache::new(folder.path(), &elsewhere, "f", &entries).expect("a capture").path(),
        cache.path()
    );
    std::fs::write(&capture, "another trace").expect("written");
    assert_eq!(MarkCache::new(folder.path(), &capture, "f", &entries).expect("a capture").load(), None);
    assert!(MarkCache::new(folder.path(), &folder.path().join("none"), "f", &entries).is_err());
}

fn any_step() -> impl Strategy<Value = (u64, u8)> {
    (0u64..6, 0u8..12)
}

proptest! {
    #[test]
    fn any_flow_finds_ordered_calls(steps in prop::collection::vec(any_step(), 0..200)) {
        let ends = [
            BlockEnd::Call, BlockEnd::Return, BlockEnd::Jump, BlockEnd::ConditionalBranch, BlockEnd::FarCall,
            BlockEnd::FarReturn, BlockEnd::FallThrough,
        ];
        let mut script = Script::new(0, 1);
        let mut entered = 0;
        for (place, what) in steps {
            let ip = [0x500, F, 0x50d, KERNEL, KERNEL + 0xd, F + 0xd][usize::try_from(place).expect("small")];
            entered += u64::from(ip == F || ip == KERNEL);
            script = match ends.get(usize::from(what)) {
                Some(&end) => script.block(ip, end),
                None if what == 7 => script.gap(),
                None if what == 8 => script.event(EventKind::AsyncBranch { from: ip, to: KERNEL }),
                None if what == 9 => script.event(EventKind::Disabled { ip: Some(ip), from: None }),
                None => script.on(1 + i32::from(what) % 2),
            };
        }
        let found = script.found();
        prop_assert!(found.calls.len() as u64 + found.unfinished <= entered);
        prop_assert!(found.calls.iter().all(|call| call.range.ticks() > Ticks(0)));
    }
}

/// One sentence for all of a kind, in the number that they are.
#[test]
fn calls_that_are_left_out_are_counted() {
    let call = |start: u64, stop: u64| Call {
        range: TscRange::new(Tsc(start), Tsc(stop)),
        thread: None,
        crossed_gap: false,
    };
    let said = |calls: Vec<Call>, unfinished| {
        let set = FoundCalls { calls, unfinished }.into_intervals("f");
        let what: Vec<String> = set.diagnostics.into_iter().map(|found| found.what).collect();
        (set.intervals.iter().map(|interval| interval.id.0).collect::<Vec<_>>(), what)
    };
    let (ids, what) = said(vec![call(0, 4), call(5, 9)], 1);
    assert_eq!(ids, [1]);
    assert_eq!(
        what,
        [
            "no return lies in the trace for 1 call of f (still open, longjmp, exception, or lost): it is left out",
            "no timing packet lies before 1 call of f: it is left out",
        ]
    );
    let (ids, what) = said(vec![call(0, 2), call(0, 4), call(5, 9)], 0);
    assert_eq!(
        (ids, what),
        (vec![2], vec!["no timing packet lies before 2 calls of f: they are left out".to_owned()])
    );
}
