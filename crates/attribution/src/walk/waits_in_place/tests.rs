//! Loops by their machine code.

use super::{Begins, Piece, Waiting};

/// How a loop waits, whatever its registers point to.
fn judge_as(pieces: &[Piece], begins: Begins) -> Option<Waiting> {
    super::judge(pieces, begins).filter(|waits| waits.into_stack == 0).map(|waits| waits.how)
}

fn judge(pieces: &[Piece]) -> Option<Waiting> {
    judge_as(pieces, Begins::Anyhow)
}

/// One piece of code, at 0x1000, whose last instruction, a jump of two bytes, is the last of an iteration.
fn judged(code: &[u8]) -> Option<Waiting> {
    judge(&[(code.to_vec(), 0x1000, 0x1000 + (code.len() as u64).saturating_sub(2))])
}

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
        // 1: mov (%rbp),%rax; cmp (%rbx),%rax; mov %rax,8(%rbp); add $8,%rbp; cmp %rbp,%r13; jne 1b: as of `std::sort()`
        (
            "goes through an array by %rbp",
            &[
                0x48, 0x8b, 0x45, 0, 0x48, 0x3b, 0x03, 0x48, 0x89, 0x45, 8, 0x48, 0x83, 0xc5, 8, 0x49, 0x39,
                0xed, 0x75, 0xec,
            ],
            false,
        ),
        // 1: push %rbp; mov %rsp,%rbp; mov %eax,-4(%rbp); cmp %eax,(%rsi); pop %rbp; jne 1b
        ("has a frame", &[0x55, 0x48, 0x89, 0xe5, 0x89, 0x45, 0xfc, 0x39, 0x06, 0x5d, 0x75, 0xf4], true),
        // 1: call +0; cmp %eax,(%rsi); jne 1b
        ("calls", &[0xe8, 0, 0, 0, 0, 0x39, 0x06, 0x75, 0xf7], false),
        // 1: rdtsc; cmp %eax,%esi; ja 1b
        ("until a time", &[0x0f, 0x31, 0x39, 0xc6, 0x77, 0xfa], true),
        // 1: pause; dec %ecx; jne 1b
        ("delay of pauses", &[0xf3, 0x90, 0xff, 0xc9, 0x75, 0xfa], true),
        // 1: dec %ecx; jz +4; cmp %eax,(%rsi); jne 1b
        ("bounded poll without pause", &[0xff, 0xc9, 0x74, 0x04, 0x39, 0x06, 0x75, 0xf8], true),
        // 1: incl 0x100(%rip); cmp %eax,(%rsi); jne 1b
        ("counts polls in memory", &[0xff, 0x05, 0, 1, 0, 0, 0x39, 0x06, 0x75, 0xf6], true),
        // 1: add (%rsi),%eax; cmp %eax,%ecx; jne 1b
        ("sum of what it sees", &[0x03, 0x06, 0x39, 0xc1, 0x75, 0xfa], false),
        // 1: mov (%rdi),%eax; mov (%rsi),%ecx; mov (%rdi),%edx; cmp %eax,%edx; jne 1b: read again if a writer was at it
        ("sequence lock", &[0x8b, 0x07, 0x8b, 0x0e, 0x8b, 0x17, 0x39, 0xc2, 0x75, 0xf6], true),
        // 1: xchg %eax,(%rdi); test %eax,%eax; jne 1b
        ("spin lock that keeps its one", &[0x87, 0x07, 0x85, 0xc0, 0x75, 0xfa], true),
        // 1: mov $24,%eax; syscall; cmp %ecx,(%rsi): sched_yield; jne 1b
        ("yields", &[0xb8, 24, 0, 0, 0, 0x0f, 0x05, 0x39, 0x0e, 0x75, 0xf5], true),
        // 1: mov $0,%eax; syscall; cmp %ecx,(%rsi): read; jne 1b
        ("reads a file", &[0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0x39, 0x0e, 0x75, 0xf5], false),
        // 1: push %rbx; mov (%rdi),%ebx; cmp %ebx,%esi; pop %rbx; je 1b
        ("saves a register", &[0x53, 0x8b, 0x1f, 0x39, 0xde, 0x5b, 0x74, 0xf8], true),
        // 1: pause; fldl (%rdi); fstp %st(0); cmp %eax,(%rsi); jne 1b: a delay may compute what is not used
        ("computes between looks", &[0xf3, 0x90, 0xdd, 0x07, 0xdd, 0xd8, 0x39, 0x06, 0x75, 0xf6], true),
        // 1: fldl (%rdi); fstp %st(0); cmp %eax,(%rsi); jne 1b
        ("computes", &[0xdd, 0x07, 0xdd, 0xd8, 0x39, 0x06, 0x75, 0xf8], false),
        // 1: mulsd %xmm1,%xmm0; ucomisd (%rsi),%xmm0; jb 1b: as `system__img_lflt__impl__set_image_real__adjust_scale` of GNAT 12
        ("multiplies up to a constant", &[0xf2, 0x0f, 0x59, 0xc1, 0x66, 0x0f, 0x2e, 0x06, 0x72, 0xf6], false),
        // 1: rdtsc; pxor %xmm0,%xmm0; cvtsi2sd %eax,%xmm0; comisd %xmm0,%xmm1; ja 1b
        (
            "until a time as a number with a fraction",
            &[0x0f, 0x31, 0x66, 0x0f, 0xef, 0xc0, 0xf2, 0x0f, 0x2a, 0xc0, 0x66, 0x0f, 0x2f, 0xc8, 0x77, 0xf0],
            true,
        ),
        // 1: pause; mov (%rdi),%eax; lea 1(%rax),%ecx; shr %ecx; add %ecx,%eax; mov %eax,(%rdi); cmp %ecx,(%rsi); jne 1b
        (
            "a delay that grows in memory",
            &[
                0xf3, 0x90, 0x8b, 0x07, 0x8d, 0x48, 1, 0xd1, 0xe9, 0x01, 0xc8, 0x89, 0x07, 0x39, 0x0e, 0x75,
                0xef,
            ],
            true,
        ),
        // The same without pause.
        (
            "a number that is computed in memory",
            &[0x8b, 0x07, 0x8d, 0x48, 1, 0xd1, 0xe9, 0x01, 0xc8, 0x89, 0x07, 0x39, 0x0e, 0x75, 0xf1],
            false,
        ),
        // 1: pause; mov (%rdx),%eax; mov %eax,(%rdi); cmp %ecx,(%rsi); jne 1b
        ("copies and pauses", &[0xf3, 0x90, 0x8b, 0x02, 0x89, 0x07, 0x39, 0x0e, 0x75, 0xf6], false),
        // 1: jmp 1b
        ("reads nothing", &[0xeb, 0xfe], false),
    ];
    for (name, code, waits) in cases {
        assert_eq!(judged(code).is_some(), *waits, "{name}");
    }
}

/// The branch that ends the loop depends on what it saw, and it goes through no data.
#[test]
fn a_loop_waits_for_what_it_sees() {
    let cases: &[(&str, &[u8], bool)] = &[
        // 1: lock incl (%rdi); dec %ecx; jne 1b: no branch depends on what it saw
        ("counts atomically, so many times", &[0xf0, 0xff, 0x07, 0xff, 0xc9, 0x75, 0xf9], false),
        // 1: mov (%rsi),%ecx; mov %ecx,-8(%rsp); dec %edx; jne 1b
        ("copies so many times", &[0x8b, 0x0e, 0x89, 0x4c, 0x24, 0xf8, 0xff, 0xca, 0x75, 0xf6], false),
        // 1: mov (%rdi),%eax; inc %eax; xchg %eax,(%rdi); cmp %ecx,(%rsi); jne 1b: as `std::atomic::store()` without optimisation
        ("puts down what it computed", &[0x8b, 0x07, 0xff, 0xc0, 0x87, 0x07, 0x39, 0x0e, 0x75, 0xf6], false),
        // 1: mov (%rdi),%eax; add $1,%eax; mov %eax,(%rdi); cmp %ecx,(%rsi); jne 1b
        (
            "counts polls in memory by a register",
            &[0x8b, 0x07, 0x83, 0xc0, 1, 0x89, 0x07, 0x39, 0x0e, 0x75, 0xf5],
            true,
        ),
        // 1: mov (%rdi),%rax; mov (%rbx,%rax,8),%ecx; incq (%rdi); test %ecx,%ecx; jne 1b
        (
            "goes through data by a counter in memory",
            &[0x48, 0x8b, 0x07, 0x8b, 0x0c, 0xc3, 0x48, 0xff, 0x07, 0x85, 0xc9, 0x75, 0xf3],
            false,
        ),
        // 1: lock xadd %rax,(%rdi); mov (%rbx,%rax,8),%ecx; test %ecx,%ecx; jne 1b
        (
            "takes the next item by an atomic index",
            &[0xf0, 0x48, 0x0f, 0xc1, 0x07, 0x8b, 0x0c, 0xc3, 0x85, 0xc9, 0x75, 0xf4],
            false,
        ),
        // 1: lock incl (%rdi); inc %ecx; cmp (%rbx),%ecx; jl 1b
        (
            "counts atomically up to a number in memory",
            &[0xf0, 0xff, 0x07, 0xff, 0xc1, 0x3b, 0x0b, 0x7c, 0xf7],
            false,
        ),
        // 1: mov (%rsi),%eax; mov %eax,-8(%rsp); loop 1b
        ("copies as `loop` counts", &[0x8b, 0x06, 0x89, 0x44, 0x24, 0xf8, 0xe2, 0xf8], false),
        // 1: mov (%rdi),%eax; cmp %edx,%eax; mov %eax,%edx; je 1b
        ("until a word changes", &[0x8b, 0x07, 0x39, 0xd0, 0x89, 0xc2, 0x74, 0xf8], true),
        // 1: mov (%rdi),%eax; imul $31,%eax,%eax; add 8(%rdi),%eax; mov %eax,(%rdi); test %eax,%eax; jne 1b
        (
            "adds up in memory by a register",
            &[0x8b, 0x07, 0x6b, 0xc0, 31, 0x03, 0x47, 8, 0x89, 0x07, 0x85, 0xc0, 0x75, 0xf2],
            false,
        ),
        // 1: xchg %eax,(%rdi); mov (%rdi),%eax; inc %eax; cmp %ecx,(%rsi); jne 1b
        (
            "computes what it puts down next",
            &[0x87, 0x07, 0x8b, 0x07, 0xff, 0xc0, 0x39, 0x0e, 0x75, 0xf6],
            false,
        ),
        // 1: incl (%rdi); add $4,%rdi; cmp %eax,(%rsi); jne 1b
        (
            "counts up an array until a flag comes",
            &[0xff, 0x07, 0x48, 0x83, 0xc7, 4, 0x39, 0x06, 0x75, 0xf6],
            false,
        ),
        // 1: mov (%rdi),%eax; jmp *0x1000(,%rax,8), which led back
        ("a table of jumps", &[0x8b, 0x07, 0xff, 0x24, 0xc5, 0, 0x10, 0, 0], true),
        // 1: mov (%rdi),%eax; jmp *%rax, which led back
        ("a state machine", &[0x8b, 0x07, 0xff, 0xe0], true),
    ];
    for (name, code, waits) in cases {
        assert_eq!(judged(code).is_some(), *waits, "{name}");
    }
}

#[test]
fn code_that_is_not_known_does_not_wait() {
    assert_eq!(judge(&[(vec![0x8b, 0x07, 0x39], 0x1000, 0x1004)]), None);
    assert_eq!(judge(&[(Vec::new(), 0x1000, 0x1000)]), None);
    assert_eq!(judge(&[]), None);
}

/// `tpause` lets the core doze: an iteration may take any time.
#[test]
fn a_loop_that_dozes_is_told_from_one_that_looks() {
    // 1: cmp %eax,(%rsi); tpause %ecx (or pause); je 1b
    let dozes = [0x39, 0x06, 0x66, 0x0f, 0xae, 0xf1, 0x74, 0xf8];
    let looks = [0x39, 0x06, 0xf3, 0x90, 0x74, 0xfa];
    assert_eq!(judged(&dozes), Some(Waiting::Dozes));
    assert_eq!(judged(&looks), Some(Waiting::Pauses));
    // 1: pause; rdtsc; cmp %eax,%esi; ja 1b, and pause; dec %ecx; jne 1b
    assert_eq!(judged(&[0xf3, 0x90, 0x0f, 0x31, 0x39, 0xc6, 0x77, 0xf8]), Some(Waiting::Delays));
    assert_eq!(judged(&[0xf3, 0x90, 0xff, 0xc9, 0x75, 0xfa]), Some(Waiting::Delays));
}

/// Between two yields: `mov $24,%eax; syscall`, then `does`, then `cmp %ecx,(%rsi); jne`.
fn between_yields(does: &[u8]) -> Option<Waiting> {
    let begin = [0xb8, 24, 0, 0, 0, 0x0f, 0x05]; // it yields
    let end = [0x39, 0x0e, 0x75, 0];
    judged(&[&begin[..], does, &end[..]].concat())
}

/// What a library writes that looks for tasks, and what a worker writes that has one.
#[test]
fn small_state_is_no_work_between_two_yields() {
    // movl $1,(%rdi)
    let number = [0xc7, 0x07, 1, 0, 0, 0];
    // imul $7,4(%rdi),%eax; add 8(%rdi),%eax; mov %eax,4(%rdi): where it looks next, at random
    let own = [0x6b, 0x47, 4, 7, 0x03, 0x47, 8, 0x89, 0x47, 4];
    assert_eq!(between_yields(&number), Some(Waiting::Notes));
    assert_eq!(between_yields(&own), Some(Waiting::Notes));
    let cases: &[(&str, &[u8])] = &[
        // mov (%rdi),%rax; movl $1,(%rax)
        ("through a pointer", &[0x48, 0x8b, 0x07, 0xc7, 0x00, 1, 0, 0, 0]),
        // mov (%rdi),%rax; mov (%rax),%rax; mov %rax,(%rdi)
        ("the next of a list", &[0x48, 0x8b, 0x07, 0x48, 0x8b, 0x00, 0x48, 0x89, 0x07]),
        // mov (%rdi),%rax; mov (%rax),%eax; add 8(%rdi),%eax; mov %eax,8(%rdi)
        ("a sum of what lies elsewhere", &[0x48, 0x8b, 0x07, 0x8b, 0x00, 0x03, 0x47, 8, 0x89, 0x47, 8]),
        // movl $1,(%rdi); add $4,%rdi
        ("fills an array by a pointer", &[0xc7, 0x07, 1, 0, 0, 0, 0x48, 0x83, 0xc7, 4]),
        // mov 8(%rdi),%eax; mov %eax,(%rdi)
        ("a copy", &[0x8b, 0x47, 8, 0x89, 0x07]),
    ];
    for (name, does) in cases {
        assert_eq!(between_yields(does), None, "{name}");
    }
    // movl $1,N(%rdi) nine times
    let many: Vec<u8> = (0..9).flat_map(|word| [0xc7, 0x47, 4 * word, 1, 0, 0, 0]).collect();
    assert_eq!(between_yields(&many), None);
    assert_eq!(between_yields(&many[..8 * 7]), Some(Waiting::Notes));
    // Without a yield it works: cmp %ecx,(%rsi); jne.
    assert_eq!(judged(&[&number[..], &[0x39, 0x0e, 0x75, 0]].concat()), None);
}

#[test]
fn a_round_that_only_passes_time_idles() {
    let cases: &[(&str, &[u8], bool)] = &[
        // 1: dec %ecx; jne 1b
        ("counts", &[0xff, 0xc9, 0x75, 0xfc], true),
        // 1: pause; dec %ecx; jne 1b
        ("pauses", &[0xf3, 0x90, 0xff, 0xc9, 0x75, 0xfa], true),
        // 1: cmp %eax,(%rsi); je 1b
        ("looks", &[0x39, 0x06, 0x74, 0xfc], true),
        // 1: add (%rdi),%eax; add $4,%rdi; dec %ecx; jne 1b
        ("goes through data", &[0x03, 0x07, 0x48, 0x83, 0xc7, 4, 0xff, 0xc9, 0x75, 0xf6], false),
        // 1: mov (%rdi),%eax; dec %ecx; jne 1b
        ("looks so many times", &[0x8b, 0x07, 0xff, 0xc9, 0x75, 0xfa], true),
        // 1: imul $7,%eax,%eax; dec %ecx; jne 1b
        ("computes", &[0x6b, 0xc0, 7, 0xff, 0xc9, 0x75, 0xf9], false),
        // 1: fld %st(0); fstp %st(1); dec %ecx; jne 1b
        ("computes in the x87 unit", &[0xd9, 0xc0, 0xdd, 0xd9, 0xff, 0xc9, 0x75, 0xf8], false),
        // 1: mov %eax,(%rdi); dec %ecx; jne 1b
        // 1: movl $0,(%rdi); add $4,%rdi; dec %ecx; jne 1b
        ("clears an array", &[0xc7, 0x07, 0, 0, 0, 0, 0x48, 0x83, 0xc7, 4, 0xff, 0xc9, 0x75, 0xf2], false),
        // 1: incl (%rdi); add $4,%rdi; dec %ecx; jne 1b
        ("counts up an array", &[0xff, 0x07, 0x48, 0x83, 0xc7, 4, 0xff, 0xc9, 0x75, 0xf6], false),
        ("writes", &[0x89, 0x07, 0xff, 0xc9, 0x75, 0xfa], false),
    ];
    for (name, code, idles) in cases {
        let piece = (code.to_vec(), 0x1000, 0x1000 + code.len() as u64 - 2);
        assert_eq!(super::idles(&[piece]), *idles, "{name}");
    }
}

/// `1: call poll; test %eax,%eax; je 1b`, and `poll: xor %eax,%eax; cmp %esi,(%rdi); jne +2; ret`, in the order in which it runs.
#[test]
fn a_poll_function_that_fails_is_a_part_of_the_loop() {
    let call = (vec![0xe8, 0xfb, 0x0f, 0, 0], 0x1000, 0x1000);
    let poll = (vec![0x31, 0xc0, 0x39, 0x37, 0x75, 0x02], 0x2000, 0x2004);
    let ret = (vec![0xc3], 0x2006, 0x2006);
    let back = (vec![0x85, 0xc0, 0x74, 0xf7], 0x1005, 0x1007);
    assert_eq!(judge(&[call.clone(), poll.clone(), ret, back.clone()]), Some(Waiting::Looks));
    // poll: mov %esi,(%rdi); jne +2: it writes.
    let writes = (vec![0x89, 0x37, 0x75, 0x02], 0x2000, 0x2002);
    assert_eq!(judge(&[call, writes, (vec![0xc3], 0x2004, 0x2004), back]), None);
}

/// The code at 0x1000, which returns to what had called it, runs twice: called from two places, and from one in a loop.
#[test]
fn what_two_places_call_one_after_the_other_is_no_loop() {
    // cmp %eax,(%rsi); jne +0; ret
    let looks = (vec![0x39, 0x06, 0x75, 0, 0xc3], 0x1000, 0x1004);
    // nop; call 0x1000
    let calls = (vec![0x90, 0xe8, 0xfa, 0xef, 0xff, 0xff], 0x2000, 0x2001);
    // jmp 0x2000
    let back = (vec![0xeb, 0xf8], 0x2006, 0x2006);
    assert_eq!(
        judge(&[looks.clone(), calls.clone()]),
        None,
        "it returned to 0x2000, and will return to 0x2006"
    );
    assert_eq!(judge(&[looks, back, calls]), Some(Waiting::Looks));
}

/// `1: mov (%rdi,%rax,4),%esi; or %esi,%edx; inc %rax; cmp $2,%rax; jne 1b`, twice, then `xor %eax,%eax; test %edx,%edx; mov $0,%edx; jne 1b`: until
/// two words are zero. With `mov %esi,(%rbx)` it writes down what it saw; without `mov $0,%edx` it adds up.
#[test]
fn a_pass_that_looks_at_several_words_waits() {
    let looks: Piece = (
        vec![0x8b, 0x34, 0x87, 0x09, 0xf2, 0x48, 0xff, 0xc0, 0x48, 0x83, 0xf8, 2, 0x75, 0xf2],
        0x1000,
        0x100c,
    );
    let writes: Piece = (
        vec![0x8b, 0x34, 0x87, 0x89, 0x33, 0x09, 0xf2, 0x48, 0xff, 0xc0, 0x48, 0x83, 0xf8, 2, 0x75, 0xf0],
        0x1000,
        0x100e,
    );
    let again: Piece = (vec![0x31, 0xc0, 0x85, 0xd2, 0xba, 0, 0, 0, 0, 0x75, 0xe5], 0x1010, 0x1019);
    let adds: Piece = (vec![0x31, 0xc0, 0x85, 0xd2, 0x75, 0xea], 0x1010, 0x1014);
    let pass = |inner: &Piece, outer: &Piece| vec![inner.clone(), inner.clone(), outer.clone()];
    assert_eq!(judge_as(&pass(&looks, &again), Begins::AsItEnds), Some(Waiting::Looks));
    assert_eq!(judge_as(&pass(&looks, &again), Begins::Anyhow), None);
    assert_eq!(judge_as(&pass(&looks, &adds), Begins::AsItEnds), None);
    assert_eq!(judge_as(&pass(&writes, &again), Begins::AsItEnds), None);
}

/// `1: mov (%rsi),%edi`, then what copies, then `cmp (%rsi),%edi; pause; jne 1b`: a reader whom a sequence lock makes read again.
#[test]
fn a_reader_may_copy_to_where_its_registers_point() {
    let into_stack = |copies: &[u8]| {
        let code = [&[0x8b, 0x3e], copies, &[0x3b, 0x3e, 0xf3, 0x90, 0x75, 0]].concat();
        let last = 0x1000 + code.len() as u64 - 2;
        super::judge(&[(code, 0x1000, last)], Begins::Anyhow).map(|waits| waits.into_stack)
    };
    let r8 = Some(1 << 8);
    let cases: &[(&str, &[u8], Option<u16>)] = &[
        // mov 4(%rsi),%ecx; mov %ecx,-8(%rsp)
        ("the stack", &[0x8b, 0x4e, 4, 0x89, 0x4c, 0x24, 0xf8], Some(0)),
        // xor %eax,%eax; mov 4(%rsi,%rax,4),%ecx; mov %ecx,-8(%rsp,%rax,4)
        ("by index", &[0x31, 0xc0, 0x8b, 0x4c, 0x86, 4, 0x89, 0x4c, 0x84, 0xf8], Some(0)),
        // mov %r8,%rdx; mov 4(%rsi),%ecx; add $4,%rdx; mov %ecx,-4(%rdx)
        ("by a pointer", &[0x4c, 0x89, 0xc2, 0x8b, 0x4e, 4, 0x48, 0x83, 0xc2, 4, 0x89, 0x4a, 0xfc], r8),
        // movdqu 4(%rsi),%xmm0; movaps %xmm0,(%r8)
        ("a vector", &[0xf3, 0x0f, 0x6f, 0x46, 4, 0x41, 0x0f, 0x29, 0x00], r8),
        // mov 4(%rsi),%ecx; mov %ecx,(%r8); cmp %ecx,(%r8)
        ("and looks at its copy", &[0x8b, 0x4e, 4, 0x41, 0x89, 0x08, 0x41, 0x39, 0x08], r8),
        // movb $0,0x30(%r8): a `std::optional` that has no value
        ("nothing", &[0x41, 0xc6, 0x40, 0x30, 0], Some(0)),
        // mov 8(%rsp),%ecx; add 4(%rsi),%ecx; mov %ecx,(%r8): it may be the same word
        ("adds up", &[0x8b, 0x4c, 0x24, 8, 0x03, 0x4e, 4, 0x41, 0x89, 0x08], None),
        // mov 4(%r8),%ecx; mov %ecx,(%r8)
        ("moves what is there", &[0x41, 0x8b, 0x48, 4, 0x41, 0x89, 0x08], None),
        // mov 4(%rsi),%ecx; mov %ecx,(%r8); add $4,%r8
        ("goes on", &[0x8b, 0x4e, 4, 0x41, 0x89, 0x08, 0x49, 0x83, 0xc0, 4], None),
        // mov 4(%rsi),%ecx; mov %ecx,(%r8,%rax,4): the index is not known
        ("by an index that may grow", &[0x8b, 0x4e, 4, 0x41, 0x89, 0x0c, 0x80], None),
        // mov 4(%rsi),%ecx; mov %ecx,0x100(%rip)
        ("a variable", &[0x8b, 0x4e, 4, 0x89, 0x0d, 0, 1, 0, 0], None),
        // mov (%rbx),%rdx; mov 4(%rsi),%ecx; mov %ecx,(%rdx)
        ("by a pointer in memory", &[0x48, 0x8b, 0x13, 0x8b, 0x4e, 4, 0x89, 0x0a], None),
    ];
    for (name, copies, into) in cases {
        assert_eq!(into_stack(copies), *into, "{name}");
    }
}

/// `1: mov (%rsi),%edi; movb $0,0x30(%r8); cmp (%rsi),%edi; jne 1b`: without a pause what it writes must be its own.
#[test]
fn a_reader_without_a_pause_writes_numbers_to_its_stack_alone() {
    let code = |copies: &[u8]| [&[0x8b, 0x3e], copies, &[0x3b, 0x3e, 0x75, 0]].concat();
    let judge = |code: Vec<u8>| {
        let last = 0x1000 + code.len() as u64 - 2;
        super::judge(&[(code, 0x1000, last)], Begins::Anyhow).map(|waits| (waits.how, waits.into_stack))
    };
    assert_eq!(judge(code(&[0x41, 0xc6, 0x40, 0x30, 0])), Some((Waiting::Looks, 1 << 8)));
    // movb $0,0x100(%rip)
    assert_eq!(judge(code(&[0xc6, 0x05, 0, 1, 0, 0, 0])), None);
}

/// `1: mov (%rdi),%rcx; cmp %rax,%rcx; sete %cl; or %cl,%dl; add $8,%rdi; cmp %rsi,%rdi; jne 1b`, and then `mov %r8,%rdi; test %dl,%dl; mov $0,%edx; jne
/// 1b`: as clang looks whether none of several words is the same. The inner loop's pointer begins anew as a register that stays.
#[test]
fn a_pass_may_begin_anew_with_a_register() {
    let looks: Piece = (
        vec![
            0x48, 0x8b, 0x0f, 0x48, 0x39, 0xc1, 0x0f, 0x94, 0xc1, 0x08, 0xca, 0x48, 0x83, 0xc7, 8, 0x48,
            0x39, 0xf7, 0x75, 0xec,
        ],
        0x1000,
        0x1012,
    );
    let again = |from: &[u8]| -> Piece {
        let code = [from, &[0x84, 0xd2, 0xba, 0, 0, 0, 0, 0x75, 0xdf]].concat();
        let last = 0x1014 + code.len() as u64 - 2;
        (code, 0x1014, last)
    };
    let pass = |from: &[u8]| vec![looks.clone(), looks.clone(), again(from)];
    // mov %r8,%rdi
    assert_eq!(judge_as(&pass(&[0x4c, 0x89, 0xc7]), Begins::AsItEnds), Some(Waiting::Looks));
    // mov %r8,%rdi; add $8,%r8
    let moves = pass(&[0x4c, 0x89, 0xc7, 0x49, 0x83, 0xc0, 8]);
    assert_eq!(judge_as(&moves, Begins::AsItEnds), None, "it goes on");
}

#[test]
fn a_round_that_copies_does_not_idle() {
    // 1: mov (%rsi),%ecx; mov %ecx,(%r8); jne 1b
    let piece = (vec![0x8b, 0x0e, 0x41, 0x89, 0x08, 0x75, 0xf9], 0x1000, 0x1005);
    assert!(!super::idles(&[piece]));
}
