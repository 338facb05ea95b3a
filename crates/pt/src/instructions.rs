//! The addresses of the instructions inside a block.

use model::{CodeBytes, Pid};

use crate::classes::INSTRUCTION_BYTES;
use crate::flow::Block;
use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, OpKind};

/// Most bytes of code read at once; blocks are shorter mostly.
const CHUNK: usize = 512;

/// Calls `visit` with the address of each instruction of `block`, in order. Reads the code as it was when the
/// block ran, in process `pid`. Where code is missing or makes no sense the walk ends early; returns how many
/// instructions were visited, which is [`Block::instructions`] when all is well.
///
/// A block lies in one piece mostly. libipt runs on through a direct jump or call where an event is due after it
/// (seen with 2.1.2: `jmp` to a `ptwrite`), so these are followed.
pub fn instructions(block: &Block, image: &dyn CodeBytes, pid: Pid, mut visit: impl FnMut(u64)) -> u32 {
    let mut ip = block.ip;
    let mut left = block.instructions;
    let mut bytes = [0; CHUNK];
    while left > 0 {
        let size = (left as usize).saturating_mul(INSTRUCTION_BYTES).min(CHUNK);
        let count = image.read(pid, ip, block.time.likely, &mut bytes[..size]).min(size);
        let mut decoder = Decoder::with_ip(u32::from(block.bits), &bytes[..count], ip, DecoderOptions::NONE);
        let before = left;
        ip = walk_piece(&mut decoder, &mut left, &mut visit);
        if left == before {
            break;
        }
    }
    block.instructions - left
}

/// Visits at most `left` instructions that lie one after the other, and counts them down. Returns where to go on:
/// the target of a direct jump or call, or the first instruction of which not all bytes are here.
fn walk_piece(decoder: &mut Decoder<'_>, left: &mut u32, visit: &mut impl FnMut(u64)) -> u64 {
    while *left > 0 {
        let at = decoder.ip();
        let instruction = decoder.decode();
        // What is no instruction has a length all the same, and libipt steps over it as well.
        if instruction.is_invalid() && decoder.last_error() == DecoderError::NoMoreBytes {
            return at;
        }
        visit(at);
        *left -= 1;
        if let Some(target) = direct_target(&instruction) {
            return target;
        }
    }
    decoder.ip()
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
