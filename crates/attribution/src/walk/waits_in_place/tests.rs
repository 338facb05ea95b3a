//! Loops by their machine code.

use super::{Waiting, judge};

/// Encodings by hand from the Intel SDM vol. 2; the last jump leads to the first byte, `jne` as 75 or `je` as 74.
#[test]
fn a_loop_waits_that_only_looks() {
    let cases: &[(&str, &[u8], bool)] = &[
        // 1: mov (%rdi),%eax; cmp %esi,%eax; je 1b
        ("poll of a word", &[0x8b, 0x07, 0x39, 0xf0, 0x74, 0xfa], true),
        // 1: cmp %eax,(%rsi); pause; je 1b
        ("poll with pause", &[0x39, 0x06, 0xf3, 0x90, 0x74, 0xfa], true),
        // 1: mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; jne 1b
        ("spin lock", &[0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf5], true),
        // 1: pause; dec %ecx; jz +2; cmp %eax,(%rsi): bounded, then jne 1b
        ("bounded poll", &[0xf3, 0x90, 0xff, 0xc9, 0x74, 0x04, 0x39, 0x06, 0x75, 0xf6], true),
        // 1: mov -8(%rbp),%rax; mov (%rax),%eax; mov %eax,-12(%rbp); mov -12(%rbp),%eax; test %eax,%eax; je 1b
        (
            "poll without optimisation",
            &[0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x00, 0x89, 0x45, 0xf4, 0x8b, 0x45, 0xf4, 0x85, 0xc0, 0x74, 0xf0],
            true,
        ),
        // 1: dec %ecx; jne 1b
        ("counting down", &[0xff, 0xc9, 0x75, 0xfc], false),
        // 1: mov (%rdi),%al; inc %rdi; test %al,%al; jne 1b
        ("end of a string", &[0x8a, 0x07, 0x48, 0xff, 0xc7, 0x84, 0xc0, 0x75, 0xf7], false),
        // 1: mov (%rdi),%rdi; test %rdi,%rdi; jne 1b
        ("walk of a list", &[0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8], false),
        // 1: mov %eax,(%rdi); cmp %eax,(%rsi); jne 1b
        ("writes memory", &[0x89, 0x07, 0x39, 0x06, 0x75, 0xfa], false),
        // 1: addl $1,-4(%rbp); cmpl $9,-4(%rbp); jne 1b
        ("counter on the stack", &[0x83, 0x45, 0xfc, 1, 0x83, 0x7d, 0xfc, 9, 0x75, 0xf6], false),
        // 1: call +0; cmp %eax,(%rsi); jne 1b
        ("calls", &[0xe8, 0, 0, 0, 0, 0x39, 0x06, 0x75, 0xf7], false),
        // 1: mov $99,%ecx; 2: dec %ecx; jne 2b; cmp %eax,(%rsi); je 1b
        ("works between looks", &[0xb9, 99, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0x39, 0x06, 0x74, 0xf3], false),
        // 1: jmp 1b
        ("reads nothing", &[0xeb, 0xfe], false),
    ];
    for (name, code, waits) in cases {
        // The range ends one byte into the last instruction: the jump of two bytes.
        let body = 0x1000..0x1000 + code.len() as u64 - 1;
        assert_eq!(judge(code, &body).is_some(), *waits, "{name}");
    }
}

#[test]
fn code_that_is_not_known_does_not_wait() {
    assert_eq!(judge(&[0x8b, 0x07, 0x39], &(0x1000..0x1005)), None);
    assert_eq!(judge(&[], &(0x1000..0x1001)), None);
}

/// `tpause` lets the core doze: an iteration may take any time.
#[test]
fn a_loop_that_dozes_is_told_from_one_that_looks() {
    // 1: cmp %eax,(%rsi); tpause %ecx (or pause); je 1b
    let dozes = [0x39, 0x06, 0x66, 0x0f, 0xae, 0xf1, 0x74, 0xf8];
    let looks = [0x39, 0x06, 0xf3, 0x90, 0x74, 0xfa];
    assert_eq!(judge(&dozes, &(0x1000..0x1007)), Some(Waiting::Dozes));
    assert_eq!(judge(&looks, &(0x1000..0x1005)), Some(Waiting::Looks));
}
