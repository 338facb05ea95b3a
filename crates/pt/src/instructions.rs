//! The addresses of the instructions inside a block.

use model::{CodeBytes, Pid};

use crate::Block;
use crate::classes::INSTRUCTION_BYTES;
use iced_x86::{Decoder, DecoderError, DecoderOptions};

/// Calls `visit` with the address of each instruction of `block`, in order. Reads the code as it was when the
/// block ran, in process `pid`. Where code is missing or makes no sense the walk ends early; returns how many
/// instructions were visited, which is [`Block::instructions`] when all is well.
pub fn instructions(block: &Block, image: &dyn CodeBytes, pid: Pid, mut visit: impl FnMut(u64)) -> u32 {
    visit(block.ip);
    if block.instructions <= 1 {
        return block.instructions.min(1);
    }
    let size = block.end_ip.saturating_sub(block.ip).saturating_add(INSTRUCTION_BYTES as u64);
    let size =
        usize::try_from(size).unwrap_or(usize::MAX).min(block.instructions as usize * INSTRUCTION_BYTES);
    let mut bytes = vec![0; size];
    let count = image.read(pid, block.ip, block.time.not_before, &mut bytes).min(size);
    let mut decoder =
        Decoder::with_ip(u32::from(block.bits), &bytes[..count], block.ip, DecoderOptions::NONE);
    let mut visited = 1;
    while visited < block.instructions && decoder.can_decode() {
        let instruction = decoder.decode();
        // What is no instruction has a length all the same, and libipt steps over it as well.
        if instruction.is_invalid() && decoder.last_error() == DecoderError::NoMoreBytes {
            break;
        }
        visit(instruction.next_ip());
        visited += 1;
    }
    visited
}
