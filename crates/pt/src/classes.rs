//! How an instruction ends a block, where libipt does not say: its block cache does not distinguish indirect jumps and far
//! transfers.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

use crate::flow::BlockEnd;

/// Longest instruction of the architecture, in bytes.
pub(crate) const INSTRUCTION_BYTES: usize = 15;
const SLOTS: usize = 4096;

/// Remembers the classes of the instructions looked at; one per address and epoch, the latest of a slot wins.
pub(crate) struct ClassCache {
    slots: Vec<Option<(u64, u64, BlockEnd)>>,
}

impl ClassCache {
    pub(crate) fn new() -> ClassCache {
        ClassCache { slots: vec![None; SLOTS] }
    }

    /// How the instruction at `ip` ends its block; `read` fetches its bytes.
    pub(crate) fn end(
        &mut self,
        epoch: u64,
        ip: u64,
        bits: u8,
        read: impl FnOnce(&mut [u8]) -> usize,
    ) -> BlockEnd {
        #[allow(clippy::cast_possible_truncation, reason = "a hash")]
        let slot = (ip ^ ip >> 12 ^ epoch << 5) as usize % SLOTS;
        if let Some((known_epoch, known_ip, end)) = self.slots[slot]
            && (known_epoch, known_ip) == (epoch, ip)
        {
            return end;
        }
        let mut bytes = [0; INSTRUCTION_BYTES];
        let count = read(&mut bytes).min(INSTRUCTION_BYTES);
        let end = classify(&decode_one(&bytes[..count], ip, bits));
        self.slots[slot] = Some((epoch, ip, end));
        end
    }
}

/// The instruction at the start of `bytes`; invalid where they are none.
pub(crate) fn decode_one(bytes: &[u8], ip: u64, bits: u8) -> Instruction {
    Decoder::with_ip(u32::from(bits), bytes, ip, DecoderOptions::NONE).decode()
}

pub(crate) fn classify(instruction: &Instruction) -> BlockEnd {
    match instruction.mnemonic() {
        Mnemonic::Syscall
        | Mnemonic::Sysenter
        | Mnemonic::Vmcall
        | Mnemonic::Vmlaunch
        | Mnemonic::Vmresume => {
            return BlockEnd::FarCall;
        }
        Mnemonic::Sysret
        | Mnemonic::Sysretq
        | Mnemonic::Sysexit
        | Mnemonic::Sysexitq
        | Mnemonic::Iret
        | Mnemonic::Iretd
        | Mnemonic::Iretq
        | Mnemonic::Retf
        | Mnemonic::Rsm
        | Mnemonic::Eretu
        | Mnemonic::Erets
        | Mnemonic::Uiret => {
            return BlockEnd::FarReturn;
        }
        _ => {}
    }
    match instruction.flow_control() {
        FlowControl::Next => BlockEnd::FallThrough,
        FlowControl::ConditionalBranch => BlockEnd::ConditionalBranch,
        FlowControl::Return => BlockEnd::Return,
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch if is_far(instruction) => {
            BlockEnd::FarJump
        }
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => BlockEnd::Jump,
        FlowControl::Call | FlowControl::IndirectCall if is_far(instruction) => BlockEnd::FarCall,
        FlowControl::Call | FlowControl::IndirectCall => BlockEnd::Call,
        FlowControl::Interrupt => BlockEnd::FarCall,
        _ => BlockEnd::Other,
    }
}

pub(crate) fn is_far(instruction: &Instruction) -> bool {
    instruction.is_call_far()
        || instruction.is_call_far_indirect()
        || instruction.is_jmp_far()
        || instruction.is_jmp_far_indirect()
}
