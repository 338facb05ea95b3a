//! Whose part a piece of code is that a compiler moved away from its function, in a file without names.
//!
//! Input: an entry of the unwind tables and its code. Output: whether it is such a part, and where in functions it jumps. A function begins with
//! nothing but its return address on the stack (System V ABI for AMD64, 3.2.2); a part begins in the middle of the function's work, and jumps
//! back to it.

use std::ops::Range;

use gimli::{BaseAddresses, CallFrameInstruction, EhFrame, FrameDescriptionEntry, Reader, X86_64};
use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// More code than compilers move away from one function.
const LONGEST: u64 = 1 << 20;

/// The return address, in bytes.
const RETURN_ADDRESS: u64 = 8;

/// Whether the code of `entry` begins with more on the stack than its return address.
pub(crate) fn is_part<R: Reader>(
    entry: &FrameDescriptionEntry<R>,
    table: &EhFrame<R>,
    bases: &BaseAddresses,
) -> bool {
    let mut instructions = entry.instructions(table, bases);
    while let Ok(Some(instruction)) = instructions.next() {
        match instruction {
            CallFrameInstruction::AdvanceLoc { .. } | CallFrameInstruction::SetLoc { .. } => return false,
            CallFrameInstruction::DefCfaOffset { offset } => return offset != RETURN_ADDRESS,
            CallFrameInstruction::DefCfa { register, offset } => {
                return register != X86_64::RSP || offset != RETURN_ADDRESS;
            }
            CallFrameInstruction::DefCfaRegister { .. }
            | CallFrameInstruction::DefCfaExpression { .. }
            | CallFrameInstruction::Offset { .. } => return true,
            _ => {}
        }
    }
    false
}

/// Where `code`, which stands at `range`, jumps to outside of it.
pub(crate) fn jumps_out(code: &[u8], range: &Range<u64>) -> Vec<u64> {
    if range.end - range.start > LONGEST {
        return Vec::new();
    }
    let decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    let jumps = decoder.into_iter().filter(|instruction| {
        let flow = instruction.flow_control();
        matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch)
    });
    jumps.map(|jump| jump.near_branch_target()).filter(|target| !range.contains(target)).collect()
}
