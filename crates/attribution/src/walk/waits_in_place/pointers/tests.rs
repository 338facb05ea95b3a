//! Blocks of code one after the other, by hand from the Intel SDM vol. 2.

use model::{Pid, Tsc};

use super::point_to_stack;
use crate::testing::code::Code;

/// Whether the first register of `registers` does after `blocks` of one or two instructions, of which the last begins at the offset.
fn after(registers: u16, blocks: &[(&[u8], u64)]) -> bool {
    let code: Vec<&[u8]> = blocks.iter().map(|(code, _)| *code).collect();
    let ran = (0u64..).step_by(16).zip(blocks).map(|(begin, (_, last))| (begin, begin + last));
    let mut last_first: Vec<(u64, u64)> = ran.collect();
    last_first.reverse();
    point_to_stack(registers, &last_first, Pid(1), Tsc(0), &Code(&code))
}

const RDX: u16 = 1 << 2;
const RSP: u16 = 1 << 4;
const RDI: u16 = 1 << 7;
const R8: u16 = 1 << 8;

#[test]
fn the_last_instruction_that_wrote_a_register_says_where_it_points() {
    // lea -0x38(%rsp),%r8
    let array: (&[u8], u64) = (&[0x4c, 0x8d, 0x44, 0x24, 0xc8], 0);
    // mov %r8,%rdx; test %eax,%eax
    let copied: (&[u8], u64) = (&[0x4c, 0x89, 0xc2, 0x85, 0xc0], 3);
    // mov (%rdi),%r8
    let loaded: (&[u8], u64) = (&[0x4c, 0x8b, 0x07], 0);
    // mov $0,%r8d
    let number: (&[u8], u64) = (&[0x41, 0xb8, 0, 0, 0, 0], 0);
    // lea 8(%r8,%rax,4),%rdx
    let indexed: (&[u8], u64) = (&[0x49, 0x8d, 0x54, 0x80, 8], 0);
    // add $16,%rdx
    let moved: (&[u8], u64) = (&[0x48, 0x83, 0xc2, 16], 0);
    // mov %rsp,%rdi
    let pointer: (&[u8], u64) = (&[0x48, 0x89, 0xe7], 0);
    // pop %rdx
    let popped: (&[u8], u64) = (&[0x5a], 0);
    assert!(after(R8, &[array]));
    assert!(after(R8 | RDX, &[array, copied]));
    assert!(after(RDX, &[array, copied, moved]));
    assert!(after(RDX | RDI, &[array, pointer, copied, number, moved]));
    assert!(after(RSP, &[]), "the stack pointer itself");
    for (blocks, why) in [
        (vec![array, loaded], "it may point anywhere"),
        (vec![array, number], "it is a number"),
        (vec![], "what ran before is not known"),
        (vec![copied], "the other register's is not known"),
    ] {
        assert!(!after(R8, &blocks), "{why}");
    }
    assert!(!after(RDX, &[array, indexed]));
    assert!(!after(RDX, &[array, copied, popped]));
}

/// A block whose code is not known may have written any register.
#[test]
fn code_that_is_not_known_says_nothing() {
    let array: (&[u8], u64) = (&[0x4c, 0x8d, 0x44, 0x24, 0xc8], 0);
    assert!(!after(R8, &[array, (&[], 4)]));
    assert!(!after(R8, &[array, (&[0x85], 1)]));
}
