//! Spinning: in the kernel, apart from the call that wants the lock, and in user code.

use std::collections::BTreeSet;

use model::{Cpu, Tsc};
use pt::BlockEnd;

use super::{called, frame, frames, interrupted, table, walk};
use crate::testing::script::{STALL, Script, Table};
use crate::walk::activity::Activity;
use crate::walk::walker::Walker;

/// `write()` wants the mutex of a pipe: it queues in `osq_lock` from 200 to 900, and watches the owner from 1,000 to 5,000.
#[test]
fn a_contended_mutex_is_a_cause_of_its_own() {
    let table = table();
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "__x64_sys_write", 0, BlockEnd::Call)
        .block(40, "pipe_write", 0, BlockEnd::Call)
        .block(50, "mutex_lock", 0, BlockEnd::Jump)
        .block(100, "__mutex_lock.constprop.0", 0, BlockEnd::Call)
        .block(200, "osq_lock", 0, BlockEnd::ConditionalBranch)
        .block(300, "osq_lock", 0x10, BlockEnd::ConditionalBranch)
        .block(600, "osq_lock", 0x10, BlockEnd::Return)
        .block(900, "__mutex_lock.constprop.0", Script::AFTER, BlockEnd::Call)
        .block(1_000, "mutex_spin_on_owner", 0, BlockEnd::Call)
        .block(2_000, "need_resched", 0, BlockEnd::Return)
        .block(2_100, "mutex_spin_on_owner", Script::AFTER, BlockEnd::Return)
        .block(5_000, "__mutex_lock.constprop.0", 2 * Script::AFTER, BlockEnd::Return)
        .block(5_100, "pipe_write", Script::AFTER, BlockEnd::Return)
        .block(5_200, "__x64_sys_write", Script::AFTER, BlockEnd::FarReturn)
        .block(6_000, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 7_000);
    assert_eq!(
        frames(&activity),
        [
            frame("kernel.syscall.write", 20, 6_000, 0),
            frame("kernel.spin", 200, 900, 1),
            frame("kernel.spin", 1_000, 5_000, 1),
        ]
    );
    let spins = activity.frames.iter().filter(|frame| frame.cause.to_string() == "kernel.spin");
    for spin in spins {
        assert_eq!(spin.particulars, ["mutex taken in pipe_write()".into()]);
    }
}

/// A mutex that inherits priority: it spins where the compiler has put the loop, and not while it asks whether the mutex is free.
#[test]
fn what_asks_for_the_lock_in_between_does_not_spin() {
    let table = table();
    let (spins, asks) = ("rt_mutex_slowlock_block.constprop.0", "_raw_spin_unlock_irq");
    let mut script = called(&table, BlockEnd::Call);
    script
        .block(30, "__x64_sys_write", 0, BlockEnd::Call)
        .block(40, "rt_mutex_wait_proxy_lock", 0, BlockEnd::Call)
        .block(100, spins, 0, BlockEnd::Call)
        .block(200, asks, 0, BlockEnd::Return)
        .block(500, spins, Script::AFTER, BlockEnd::ConditionalBranch)
        .block(900, spins, Script::AFTER, BlockEnd::Call)
        .block(1_000, asks, 0, BlockEnd::Return)
        .block(1_200, spins, 2 * Script::AFTER, BlockEnd::Return)
        .block(1_300, "rt_mutex_wait_proxy_lock", Script::AFTER, BlockEnd::Return)
        .block(1_400, "__x64_sys_write", Script::AFTER, BlockEnd::FarReturn)
        .block(2_000, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 3_000);
    let spun = |from, to| frame("kernel.spin", from, to, 1);
    let written = frame("kernel.syscall.write", 20, 2_000, 0);
    assert_eq!(frames(&activity), [written, spun(100, 200), spun(500, 1_000), spun(1_200, 1_300)]);
    let spins = activity.frames.iter().filter(|frame| frame.cause.to_string() == "kernel.spin");
    for spin in spins {
        assert_eq!(spin.particulars, ["rt_mutex taken in __x64_sys_write()".into()]);
        assert!(!spin.began_before);
    }
    assert_eq!(spinnings(&activity), 1);
}

/// How often something spun.
fn spinnings(activity: &Activity) -> usize {
    let spins = activity.frames.iter().filter(|frame| frame.cause.to_string() == "kernel.spin");
    spins.map(|frame| frame.occurrence).collect::<BTreeSet<u64>>().len()
}

/// It sleeps in between, or waits for another lock in what asks: the same spinning goes on. A second call is another one, and after a loss it is not
/// known.
#[test]
fn spinning_goes_on_after_other_landmarks() {
    let table = table();
    let (spins, asks) = ("rt_mutex_slowlock_block.constprop.0", "_raw_spin_unlock_irq");
    let flow = |between: &str, from, lost: bool| {
        let mut script = called(&table, BlockEnd::Call);
        script
            .block(30, "__x64_sys_write", 0, BlockEnd::Call)
            .block(40, "rt_mutex_wait_proxy_lock", 0, BlockEnd::Call)
            .block(100, spins, 0, BlockEnd::Call)
            .block(200, asks, 0, BlockEnd::Call)
            .block(300, between, 0, BlockEnd::Return)
            .block(400, asks, Script::AFTER, BlockEnd::Return);
        if from == 0 {
            script.block(450, spins, Script::AFTER, BlockEnd::Return).block(
                480,
                "rt_mutex_wait_proxy_lock",
                Script::AFTER,
                BlockEnd::Call,
            );
        }
        if lost {
            script.gap(490);
        }
        script
            .block(500, spins, from, BlockEnd::Return)
            .block(900, "rt_mutex_wait_proxy_lock", Script::AFTER, BlockEnd::Return)
            .block(1_000, "__x64_sys_write", Script::AFTER, BlockEnd::FarReturn)
            .block(2_000, "work", 0x20, BlockEnd::Jump);
        let activity = walk(&table, &script, 3_000);
        let mut frames = activity.frames.iter().filter(|frame| frame.symbol.starts_with("rt_mutex_slowlock"));
        let last = frames.next_back().expect("it spins");
        assert_eq!((last.range.start.0, last.range.stop.0), (500, 900));
        (spinnings(&activity), last.began_before)
    };
    assert_eq!(flow("__schedule", Script::AFTER, false), (1, false));
    // One for the inner lock.
    assert_eq!(flow("osq_lock", Script::AFTER, false), (2, false));
    assert_eq!(flow("__schedule", 0, false), (2, false));
    assert_eq!(flow("__schedule", Script::AFTER, true), (2, true));
}

/// A timer's handler waits for a lock: the spinning is a part of neither the user code nor the handler.
#[test]
fn an_interrupt_may_spin_too() {
    let table = table();
    let stub = "asm_sysvec_apic_timer_interrupt";
    let mut script = interrupted(&table, stub, BlockEnd::Call);
    script
        .block(30, "osq_lock", 0, BlockEnd::Return)
        .block(90, stub, Script::AFTER, BlockEnd::FarReturn)
        .block(100, "work", 0x20, BlockEnd::Jump);
    let activity = walk(&table, &script, 200);
    assert_eq!(frames(&activity), [frame("kernel.timer", 20, 100, 0), frame("kernel.spin", 30, 90, 1)]);
}

/// Two blocks, each of 16 bytes with a last instruction at its byte 11. Encodings by hand from the SDM vol. 2.
/// `1: nop x11; call try`, then `test %eax,%eax; nop x9; je 1b`.
const TAKES: &[u8] = &[
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0, //
    0x85, 0xc0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xe3,
];
/// `xor %eax,%eax; cmp %esi,(%rdi); sete %al; nop x4; ret`.
const TRIES: &[u8] = &[0x31, 0xc0, 0x39, 0x37, 0x0f, 0x94, 0xc0, 0x90, 0x90, 0x90, 0x90, 0xc3];
/// `1: cmp $0,(%rdi); nop x8; jne 1b`, then `mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; nop x2; jne 1b`: it looks before
/// it tries.
const LOCKS: &[u8] = &[
    0x83, 0x3f, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x66, 0x90, 0x75, 0xe3,
];
/// `1: dec %ecx; nop x9; jne 1b`, then `incl (%rdi); mov %eax,(%rsi); nop x7; jne 1b`: it counts, and writes.
const WORKS: &[u8] = &[
    0xff, 0xc9, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0xff, 0x07, 0x89, 0x06, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xe3,
];
/// `1: mov $24,%eax; nop x6; syscall`, then `cmp %ecx,(%rsi); nop x9; jne 1b`.
const YIELDS: &[u8] = &[
    0xb8, 24, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05, 0x90, 0x90, 0x90, //
    0x39, 0x0e, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xe3,
];

/// `1: pause; nop x9; jne 1b` twice, with `xchg %eax,(%rdi); nop x9; jne` between, as a compiler makes of a delay that grows: one loop counts
/// single pauses, the other one eight at a time.
const DELAYS: &[u8] = &[
    0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x87, 0x07, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xe3, 0x90, 0x90, 0x90, //
    0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3,
];

/// `1: mov (%rdi,%rax,4),%esi; or %esi,%edx; inc %rax; nop x3; jne 1b`, then `xor %eax,%eax; mov $0,%edx; test %esi,%esi; nop x2; jne 1b`: it looks at
/// one word after the other, again and again.
const SCANS: &[u8] = &[
    0x8b, 0x34, 0x87, 0x09, 0xf2, 0x48, 0xff, 0xc0, 0x66, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x31, 0xc0, 0xba, 0, 0, 0, 0, 0x85, 0xf6, 0x66, 0x90, 0x75, 0xe3,
];

/// `1: dec %ecx; nop x9; jne 1b`, then `mov $10000,%ecx; cmp %esi,(%rdi); nop x4; jne 1b`: it counts between two looks.
const HOLDS: &[u8] = &[
    0xff, 0xc9, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0xb9, 0x10, 0x27, 0, 0, 0x39, 0x37, 0x90, 0x90, 0x90, 0x90, 0x75, 0xe3,
];

fn code() -> Table {
    let functions = &["work", "take", "try", "lock", "count", "wait", "delay", "scan", "hold"];
    Table::new(&["entry_SYSCALL_64"], functions)
        .with_code("hold", HOLDS)
        .with_code("take", TAKES)
        .with_code("try", TRIES)
        .with_code("lock", LOCKS)
        .with_code("count", WORKS)
        .with_code("wait", YIELDS)
        .with_code("delay", DELAYS)
        .with_code("scan", SCANS)
}

/// Spin-wait loops as (function, start, stop, iterations that jumped back, whether it was seen to be left).
fn spins(activity: &Activity) -> Vec<(&str, u64, u64, u64, bool)> {
    let spins = activity.spins.iter();
    spins
        .map(|spin| {
            let function = spin.function.as_deref().unwrap_or("");
            (function, spin.range.start.0, spin.range.stop.0, spin.rounds, spin.left)
        })
        .collect()
}

/// 50 times `try` fails: 30 ticks each, from 100 on.
#[test]
fn a_poll_function_that_is_called_in_a_loop_waits() {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call);
    for at in (100..1_600).step_by(30) {
        script.block(at, "take", 0, BlockEnd::Call).block(at + 10, "try", 0, BlockEnd::Return).block(
            at + 20,
            "take",
            Script::AFTER,
            BlockEnd::ConditionalBranch,
        );
    }
    script.block(1_600, "work", Script::AFTER, BlockEnd::Jump).block(1_700, "work", 0x40, BlockEnd::Jump);
    assert_eq!(spins(&walk(&table, &script, 2_000)), [("take", 100, 1_600, 49, true)]);
}

/// Rounds of 30 ticks, and a time packet every 300: four rounds have the time 100 of the call before, so the wait began at 400 - 4 x 30, and what led there
/// ran until then. Where nothing else has that time, it is when the wait began; and where what led there was much faster before, for then something
/// stalled, and it is not known what.
#[test]
fn the_first_iterations_are_counted_back_from_the_next_time() {
    let table = code();
    let flow = |worked_at: u64, called_at: u64| {
        let mut script = Script::new(&table);
        script.block(worked_at, "work", 0, BlockEnd::Jump).block(called_at, "work", 0x20, BlockEnd::Call);
        for round in 0..54_u64 {
            let at = if round < 4 { 100 } else { 400 + (round - 4) / 10 * 300 };
            script.block(at, "take", 0, BlockEnd::Call).block(at, "try", 0, BlockEnd::Return).block(
                at,
                "take",
                Script::AFTER,
                BlockEnd::ConditionalBranch,
            );
        }
        script.block(1_900, "work", 0x40, BlockEnd::Jump).block(2_000, "work", 0x60, BlockEnd::Jump);
        let activity = walk(&table, &script, 2_100);
        let worked = activity.runs.first().expect("it worked").range.stop.0;
        let (_, from, to, ..) = spins(&activity)[0];
        (worked, from, to)
    };
    assert_eq!(flow(50, 100), (280, 280, 1_900));
    assert_eq!(flow(50, 90), (100, 100, 1_900));
    assert_eq!(flow(90, 100), (100, 100, 1_900));
}

/// Each tenth look the lock is free, and another thread takes it first.
#[test]
fn a_failed_attempt_does_not_end_the_loop() {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call);
    for at in (100..1_100).step_by(10) {
        script.block(at, "lock", 0, BlockEnd::ConditionalBranch);
        if at % 100 == 90 {
            script.block(at + 5, "lock", 0x10, BlockEnd::ConditionalBranch);
        }
    }
    script
        .block(1_100, "lock", 0x10, BlockEnd::ConditionalBranch)
        .block(1_105, "work", Script::AFTER, BlockEnd::Jump)
        .block(1_200, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 2_000);
    assert_eq!(spins(&activity), [("lock", 100, 1_105, 99, true)]);
}

/// The delay has grown: all that follows is counted in another loop, of the same wait.
#[test]
fn a_wait_may_go_on_in_another_loop() {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call);
    for at in (100..140).step_by(10) {
        script.block(at, "delay", 0, BlockEnd::ConditionalBranch);
    }
    for turn in (140..1_140).step_by(100) {
        script.block(turn, "delay", 0x10, BlockEnd::ConditionalBranch);
        for at in (turn + 10..turn + 100).step_by(10) {
            script.block(at, "delay", 0x20, BlockEnd::ConditionalBranch);
        }
    }
    script.block(1_140, "work", Script::AFTER, BlockEnd::Jump).block(1_200, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 2_000);
    let found: Vec<_> = spins(&activity).into_iter().map(|(name, from, to, ..)| (name, from, to)).collect();
    assert_eq!(found, [("delay", 100, 1_140)]);
}

/// The lock was seen free and taken by another; then what it guards is awaited for a moment more: code that pauses once goes on waiting, and what
/// comes next does not, nor what works before it pauses.
#[test]
fn who_pauses_once_more_after_a_loop_still_waits() {
    let table = code();
    let stops_after = |between: Option<&'static str>, next: &'static str| {
        let mut script = Script::new(&table);
        script.block(50, "work", 0, BlockEnd::Call);
        for at in (100..500).step_by(10) {
            script.block(at, "lock", 0, BlockEnd::ConditionalBranch);
        }
        script.block(500, "lock", 0x10, BlockEnd::ConditionalBranch);
        if let Some(works) = between {
            script.block(505, works, 0x10, BlockEnd::ConditionalBranch);
        }
        script
            .block(510, next, 0, BlockEnd::ConditionalBranch)
            .block(900, "work", 0x40, BlockEnd::Jump)
            .block(950, "work", 0x60, BlockEnd::Jump);
        spins(&walk(&table, &script, 2_000))
            .into_iter()
            .map(|(_, from, to, ..)| (from, to))
            .collect::<Vec<_>>()
    };
    assert_eq!(stops_after(None, "delay"), [(100, 900)]);
    assert_eq!(stops_after(Some("count"), "delay"), [(100, 500)]);
    assert_eq!(stops_after(None, "count"), [(100, 500)]);
}

/// Passes over four words, of 50 ticks each.
fn scan_four_words(script: &mut Script<'_>, times: std::ops::Range<u64>) {
    for pass in times.step_by(50) {
        for at in (pass..pass + 40).step_by(10) {
            script.block(at, "scan", 0, BlockEnd::ConditionalBranch);
        }
        script.block(pass + 40, "scan", 0x10, BlockEnd::ConditionalBranch);
    }
}

/// Four words in each pass. The second one shows that the loop waits, and that the first one was of it.
#[test]
fn a_wait_for_several_words_waits() {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call);
    scan_four_words(&mut script, 100..2_100);
    script.block(2_100, "work", Script::AFTER, BlockEnd::Jump).block(2_200, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 3_000);
    let found: Vec<_> = spins(&activity).into_iter().map(|(name, from, to, ..)| (name, from, to)).collect();
    assert_eq!(found, [("scan", 100, 2_100)]);
}

/// Who only counts between two looks waits, however long that takes.
#[test]
fn a_long_count_between_two_looks_waits() {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call);
    for time in 0..5 {
        let begin = 100 + 6_000 * time;
        for count in 0..5_000 {
            script.block(begin + count, "hold", 0, BlockEnd::ConditionalBranch);
        }
        script.block(begin + 5_500, "hold", 0x10, BlockEnd::ConditionalBranch);
    }
    script.block(30_100, "work", Script::AFTER, BlockEnd::Jump).block(30_200, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 31_000);
    let found: u64 = spins(&activity).into_iter().map(|(_, from, to, ..)| to - from).sum();
    assert!(found > 15_000, "{:?}", spins(&activity));
}

/// A loop of loops that works is left in the middle of a pass, and the next one waits: after the 48 blocks that an iteration may have, the new one
/// is known.
#[test]
fn a_wait_after_another_loop_of_loops_waits() {
    let table = code();
    let mut script = Script::new(&table);
    for at in (100..200).step_by(50) {
        for look in 0..3 {
            script.block(at + 10 * look, "count", 0, BlockEnd::ConditionalBranch);
        }
        script.block(at + 30, "count", 0x10, BlockEnd::ConditionalBranch);
    }
    script.block(200, "count", 0, BlockEnd::Return);
    scan_four_words(&mut script, 1_000..5_000);
    script.block(5_000, "work", Script::AFTER, BlockEnd::Jump).block(5_100, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 6_000);
    let found: Vec<_> = spins(&activity).into_iter().map(|(name, from, to, ..)| (name, from, to)).collect();
    let since = found.first().map_or(0, |&(_, from, _)| from);
    assert!((1_000..1_700).contains(&since), "{found:?}");
    assert_eq!(found, [("scan", since, 5_000)]);
}

#[test]
fn a_loop_that_counts_and_writes_works() {
    let table = code();
    let mut script = Script::new(&table);
    for at in (100..1_000).step_by(100) {
        for look in 0..9 {
            script.block(at + look * 10, "count", 0, BlockEnd::ConditionalBranch);
        }
        script.block(at + 90, "count", 0x10, BlockEnd::ConditionalBranch);
    }
    script.block(1_000, "work", 0, BlockEnd::Jump);
    assert_eq!(spins(&walk(&table, &script, 2_000)), []);
}

/// `sched_yield()` in the loop: the thread leaves its CPU in each call, and the loop goes on when it is back.
#[test]
fn a_thread_that_yields_goes_on_waiting() {
    let table = code();
    let mut walker = Walker::new(&table, STALL);
    for at in (0..1_000).step_by(100) {
        let mut script = Script::new(&table);
        if at > 0 {
            script.block(at, "entry_SYSCALL_64", 0x20, BlockEnd::FarReturn).block(
                at + 10,
                "wait",
                0x10,
                BlockEnd::ConditionalBranch,
            );
        }
        script.block(at + 20, "wait", 0, BlockEnd::FarCall).block(
            at + 30,
            "entry_SYSCALL_64",
            0,
            BlockEnd::Jump,
        );
        walker.switch_in(Some(Cpu(0)), Tsc(at));
        script.items.iter().for_each(|item| walker.item(item));
        walker.switch_out(Tsc(at + 40));
    }
    let activity = walker.finish(Tsc(940));
    assert_eq!(spins(&activity), [("wait", 20, 940, 9, false)]);
}
