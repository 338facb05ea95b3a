//! Readers of a sequence lock: what a writer made useless is waiting.

use pt::BlockEnd;

use super::walk;
use crate::testing::script::{Script, Table};

/// A reader of a sequence lock: `1: mov (%rdi),%r8d; test $1,%r8b; nop x4; jne 1b`, then `xor %eax,%eax; xor %edx,%edx; nop x7; jmp`, then
/// `2: add (%rsi,%rax,8),%rdx; inc %rax; nop x4; jne 2b`, then `cmp %r8d,(%rdi); nop x8; jne 1b`.
const READS: &[u8] = &[
    0x44, 0x8b, 0x07, 0x41, 0xf6, 0xc0, 1, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x31, 0xc0, 0x31, 0xd2, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x03, 0x90, 0x90, 0x90, //
    0x48, 0x03, 0x14, 0xc6, 0x48, 0xff, 0xc0, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x44, 0x39, 0x07, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xc3,
];

/// A reader of a sequence lock that copies: `lea -0x38(%rsp),%r8; nop x6; jmp`, then `1: mov (%rsi),%edi; mov %r8,%rdx; xor %eax,%eax; nop x4; jmp`,
/// then `2: mov 4(%rsi,%rax,4),%ecx; mov %ecx,(%rdx,%rax,4); inc %rax; nop; jne 2b`, then `cmp (%rsi),%edi; pause; nop x7; jne 1b`.
const COPIES: &[u8] = &[
    0x4c, 0x8d, 0x44, 0x24, 0xc8, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x03, 0x90, 0x90, 0x90, //
    0x8b, 0x3e, 0x4c, 0x89, 0xc2, 0x31, 0xc0, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x03, 0x90, 0x90, 0x90, //
    0x8b, 0x4c, 0x86, 4, 0x89, 0x0c, 0x82, 0x48, 0xff, 0xc0, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x3b, 0x3e, 0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xd3,
];

/// The same to where a pointer in memory points: `mov (%rbx),%r8; nop x8; jmp` is before the loop.
const COPIES_OUT: &[u8] = &[
    0x4c, 0x8b, 0x03, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x03, 0x90, 0x90, 0x90, //
    0x8b, 0x3e, 0x4c, 0x89, 0xc2, 0x31, 0xc0, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x03, 0x90, 0x90, 0x90, //
    0x8b, 0x4c, 0x86, 4, 0x89, 0x0c, 0x82, 0x48, 0xff, 0xc0, 0x90, 0x75, 0xf3, 0x90, 0x90, 0x90, //
    0x3b, 0x3e, 0xf3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xd3,
];

fn code() -> Table {
    Table::new(&["entry_SYSCALL_64"], &["work", "read", "copy", "copy_out"])
        .with_code("read", READS)
        .with_code("copy", COPIES)
        .with_code("copy_out", COPIES_OUT)
}

/// Reads so many words from `at` on, one each tick, and finds that the sequence has changed, or not.
fn read(script: &mut Script<'_>, at: u64, words: u64) {
    script.block(at, "read", 0, BlockEnd::ConditionalBranch).block(at + 10, "read", 0x10, BlockEnd::Jump);
    for word in 0..words {
        script.block(at + 20 + word, "read", 0x20, BlockEnd::ConditionalBranch);
    }
    script.block(at + 36 + words, "read", 0x30, BlockEnd::ConditionalBranch);
}

/// What a writer made useless is waiting.
#[test]
fn who_reads_again_since_a_sequence_changed_waits() {
    let table = code();
    let spins_after = |looks: u64| {
        let mut script = Script::new(&table);
        script.block(50, "work", 0, BlockEnd::Call);
        for look in 0..looks {
            script.block(90 - 5 * (looks - look), "read", 0, BlockEnd::ConditionalBranch);
        }
        for at in (90..2_290).step_by(110) {
            read(&mut script, at, 64);
        }
        script.block(2_290, "work", Script::AFTER, BlockEnd::Jump).block(2_400, "work", 0x40, BlockEnd::Jump);
        let activity = walk(&table, &script, 3_000);
        activity.spins.iter().map(|spin| (spin.range.start.0, spin.range.stop.0)).collect::<Vec<_>>()
    };
    assert_eq!(spins_after(0), [(90, 2_290)]);
    // The sequence was odd at first.
    assert_eq!(spins_after(4), [(70, 2_290)]);
}

/// More than 4,096 blocks between two looks at the sequence are work of their own, whoever makes it useless.
#[test]
fn a_long_reading_is_no_wait() {
    let table = code();
    let waits = |words: u64| {
        let mut script = Script::new(&table);
        script.block(50, "work", 0, BlockEnd::Call);
        (0..10).for_each(|time| read(&mut script, 100 + (words + 100) * time, words));
        let end = 100 + (words + 100) * 10;
        script.block(end, "work", Script::AFTER, BlockEnd::Jump).block(end + 9, "work", 0x40, BlockEnd::Jump);
        !walk(&table, &script, end + 10).spins.is_empty()
    };
    assert!(waits(4_000));
    assert!(!waits(4_200));
}

/// Copies of twelve words each, again and again, by the function called `copies`; in the middle the code before its loop is forgotten.
fn spins_of(copies: &str) -> Vec<(u64, u64)> {
    let table = code();
    let mut script = Script::new(&table);
    script.block(50, "work", 0, BlockEnd::Call).block(60, copies, 0, BlockEnd::Jump);
    for at in (100..4_100).step_by(100) {
        // The writer had not finished at first.
        let words = if at == 2_100 { 3 } else { 12 };
        script.block(at, copies, 0x10, BlockEnd::Jump);
        for word in 0..words {
            script.block(at + 10 + word, copies, 0x20, BlockEnd::ConditionalBranch);
        }
        script.block(at + 50, copies, 0x30, BlockEnd::ConditionalBranch);
    }
    script.block(4_100, "work", Script::AFTER, BlockEnd::Jump).block(4_200, "work", 0x40, BlockEnd::Jump);
    let activity = walk(&table, &script, 5_000);
    activity.spins.iter().map(|spin| (spin.range.start.0, spin.range.stop.0)).collect()
}

/// A copy is a reader's own if it is on its stack. Who pauses waits from the first pause on.
#[test]
fn who_copies_to_the_stack_again_and_again_waits() {
    assert_eq!(spins_of("copy"), [(150, 4_100)]);
    assert_eq!(spins_of("copy_out"), []);
}
