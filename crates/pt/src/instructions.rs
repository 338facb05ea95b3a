//! The addresses of the instructions inside a block.

use model::{CodeBytes, Pid};

use crate::Block;
use crate::classes::INSTRUCTION_BYTES;
use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, OpKind};

/// Most bytes of code read at once; blocks are shorter mostly.
const CHUNK: usize = 512;

/// Calls `visit` with the address of each instruction of `block`, in order. Reads the code as it was when the
/// block ran, in process `pid`. Where code is missing or makes no sense the walk ends early; returns how many
/// instructions were visited, which is [`Block::instructions`] when all is well.
///
/// A block lies in one piece mostly. libipt runs on through a direct jump or call where an event is due behind it
/// (seen with 2.1.2: `jmp` to a `ptwrite`), so these are followed.
pub fn instructions(block: &Block, image: &dyn CodeBytes, pid: Pid, mut visit: impl FnMut(u64)) -> u32 {
    let mut visited = 0;
    let mut ip = block.ip;
    let mut bytes = [0; CHUNK];
    while visited < block.instructions {
        visit(ip);
        visited += 1;
        let left = (block.instructions - visited) as usize;
        if left == 0 {
            break;
        }
        let size = (left + 1).saturating_mul(INSTRUCTION_BYTES).min(CHUNK);
        let count = image.read(pid, ip, block.time.not_before, &mut bytes[..size]).min(size);
        let mut decoder = Decoder::with_ip(u32::from(block.bits), &bytes[..count], ip, DecoderOptions::NONE);
        let Some(next) = walk_piece(&mut decoder, left, |address| {
            visit(address);
            visited += 1;
        }) else {
            break;
        };
        ip = next;
    }
    visited
}

/// Walks code that lies in one piece, at most `left` instructions behind the first. Returns where the next one is
/// when it lies elsewhere, or when the bytes read end; `None` at the end of what is known.
fn walk_piece(decoder: &mut Decoder<'_>, left: usize, mut visit: impl FnMut(u64)) -> Option<u64> {
    for position in 0..=left {
        let start = decoder.ip();
        let instruction = decoder.decode();
        // What is no instruction has a length all the same, and libipt steps over it as well.
        if instruction.is_invalid() && decoder.last_error() == DecoderError::NoMoreBytes {
            // Its first bytes are here, so it can be read anew: but only behind some progress.
            return (position > 0).then_some(start);
        }
        if let Some(target) = direct_target(&instruction) {
            return Some(target);
        }
        if position == left || !decoder.can_decode() {
            return Some(instruction.next_ip());
        }
        visit(instruction.next_ip());
    }
    None
}

/// Where a direct near jump or call leads.
fn direct_target(instruction: &Instruction) -> Option<u64> {
    let always = matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::Call);
    let near = matches!(
        instruction.try_op_kind(0),
        Ok(OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
    );
    (always && near).then(|| instruction.near_branch_target())
}
