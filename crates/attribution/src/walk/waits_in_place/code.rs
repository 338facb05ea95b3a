//! The machine code of blocks that ran.

use iced_x86::{Decoder, DecoderOptions, Instruction};
use model::{Pid, Tsc};
use pt::Block;

use crate::inputs::functions::Functions;

/// The longest block that is examined, in bytes.
const LONGEST_BLOCK: u64 = 256;

/// The longest instruction, in bytes.
const LONGEST_INSTRUCTION: u64 = 15;

/// Code, its address, and that of its last instruction.
pub(super) type Piece = (Vec<u8>, u64, u64);

pub(super) fn pieces_of(
    blocks: &[Block],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Vec<Piece>> {
    blocks.iter().map(|block| piece_of((block.ip, block.end_ip), pid, at, functions)).collect()
}

fn piece_of((ip, end_ip): (u64, u64), pid: Pid, at: Tsc, functions: &dyn Functions) -> Option<Piece> {
    let size = end_ip.checked_sub(ip).filter(|&size| size <= LONGEST_BLOCK)?;
    let mut code = vec![0; usize::try_from(size + LONGEST_INSTRUCTION).ok()?];
    let known = functions.code_at(pid, ip, at, &mut code);
    code.truncate(known);
    Some((code, ip, end_ip))
}

/// The instructions of the block from `ip` to its last one, at `end_ip`, as far as they are known.
pub(super) fn instructions_of(
    (ip, end_ip): (u64, u64),
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Vec<Instruction> {
    piece_of((ip, end_ip), pid, at, functions).map_or_else(Vec::new, |piece| decoded(&piece).collect())
}

/// The instructions of a piece; where its code is not known an invalid one is the last.
pub(super) fn decoded((code, ip, end_ip): &Piece) -> impl Iterator<Item = Instruction> {
    let mut decoder = Decoder::with_ip(64, code, *ip, DecoderOptions::NONE);
    let mut is_over = false;
    std::iter::from_fn(move || {
        let instruction = (!is_over && decoder.ip() <= *end_ip).then(|| decoder.decode())?;
        is_over = instruction.is_invalid();
        Some(instruction)
    })
}
