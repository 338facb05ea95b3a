//! Machine code in AT&T syntax, by hand.

use super::*;

fn texts(code: &[u8]) -> Vec<String> {
    disassemble(code, 0x1000, 100).into_iter().map(|instruction| instruction.text).collect()
}

/// Encodings from the Intel SDM vol. 2 and the FRED specification.
#[test]
fn knows_ptwrite_and_the_returns_of_fred() {
    assert_eq!(texts(&[0xf3, 0x48, 0x0f, 0xae, 0xe0]), ["ptwriteq %rax"]);
    assert_eq!(texts(&[0xf2, 0x0f, 0x01, 0xca, 0xf3, 0x0f, 0x01, 0xca]), ["erets", "eretu"]);
    assert_eq!(texts(&[0x0f, 0x01, 0xca]), ["clac"]);
}

#[test]
fn what_is_no_instruction_prints_as_bad_and_is_passed() {
    assert_eq!(texts(&[0x06, 0x90, 0xe8, 0x00]), ["(bad)", "nop", "(bad)", "(bad)"]);
    let found = disassemble(&[0x90, 0x06, 0xc3], 0x1000, 2);
    assert_eq!(
        found.iter().map(|found| (found.address, found.bytes.len())).collect::<Vec<_>>(),
        [(0x1000, 1), (0x1001, 1)]
    );
}
