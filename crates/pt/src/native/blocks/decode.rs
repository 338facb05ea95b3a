//! Blocks from bytes: to the first instruction that execution does not simply go on from.
//!
//! Which instructions need which packet: Intel SDM vol. 3, "Intel Processor Trace", tables "COFI Type for Branch
//! Instructions" and "Packet Generation under Different Enable Conditions".

use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{Block, Exit, Missing, NONE, Source};
use crate::classes::{INSTRUCTION_BYTES, classify, is_far};
use crate::flow::BlockEnd;

/// Most instructions of a block in the map; longer ones are several that follow each other.
const MOST_INSTRUCTIONS: u16 = 128;
/// Bytes read at once.
const CHUNK: usize = 256;

/// Where no block was decoded yet.
pub(super) const NOTHING: Block = Block {
    ip: 0,
    end_ip: 0,
    next: 0,
    target: 0,
    instructions: 0,
    exit: Exit::Long,
    end: BlockEnd::FallThrough,
    holds_bound: false,
    next_link: NONE,
    target_link: NONE,
};

/// The block at `ip` in a section that ends at `end`; `None` where the first instruction ends beyond it.
pub(super) fn block(ip: u64, end: u64, source: &Source<'_>) -> Result<Option<Block>, Missing> {
    let mut block = Block { ip, next: ip, ..NOTHING };
    let mut bytes = [0; CHUNK];
    loop {
        let wanted = usize::try_from(end - block.next).unwrap_or(CHUNK).min(CHUNK);
        let count = source.code.read(source.pid, block.next, source.at, &mut bytes[..wanted]).min(wanted);
        let before = block.instructions;
        if extend(&mut block, &bytes[..count], source.bits, u64::MAX) {
            return Ok(Some(block));
        }
        if block.instructions == before {
            break;
        }
    }
    if block.instructions > 0 {
        block.exit = Exit::Border;
        return Ok(Some(block));
    }
    if end - ip < INSTRUCTION_BYTES as u64 { Ok(None) } else { Err(missing(ip, source)) }
}

/// The block at `ip` outside of all sections; its instructions begin before `end`.
pub(super) fn loose(ip: u64, end: u64, source: &Source<'_>) -> Result<Block, Missing> {
    let mut block = Block { ip, next: ip, ..NOTHING };
    let mut bytes = [0; CHUNK];
    loop {
        let count = fill(block.next, source, &mut bytes);
        let before = block.instructions;
        if extend(&mut block, &bytes[..count], source.bits, end) {
            return Ok(block);
        }
        if block.instructions > 0 && block.next >= end {
            block.exit = Exit::Border;
            return Ok(block);
        }
        if block.instructions == before {
            break;
        }
    }
    // What cannot be read is met when execution comes there.
    if block.instructions > 0 { Ok(block) } else { Err(missing(ip, source)) }
}

/// Reads on where the first read ends early, as at the border of two files.
fn fill(ip: u64, source: &Source<'_>, bytes: &mut [u8]) -> usize {
    let mut count = 0;
    while count < INSTRUCTION_BYTES {
        let rest = &mut bytes[count..];
        let read = source.code.read(source.pid, ip.wrapping_add(count as u64), source.at, rest);
        if read == 0 {
            break;
        }
        count += read.min(rest.len());
    }
    count
}

fn missing(ip: u64, source: &Source<'_>) -> Missing {
    let mut bytes = [0; INSTRUCTION_BYTES];
    if fill(ip, source, &mut bytes) == 0 { Missing::NoCode(ip) } else { Missing::NoInstruction(ip) }
}

/// Takes instructions from `bytes`, which lie at the block's end, into it: the first, and those that begin before
/// `end`; true where the block is complete.
fn extend(block: &mut Block, bytes: &[u8], bits: u8, end: u64) -> bool {
    let mut decoder = Decoder::with_ip(u32::from(bits), bytes, block.next, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while block.instructions == 0 || block.next < end {
        decoder.decode_out(&mut instruction);
        // What is no instruction has a length all the same, and is stepped over.
        if instruction.is_invalid() && decoder.last_error() == DecoderError::NoMoreBytes {
            return false;
        }
        (block.end_ip, block.next) = (block.next, decoder.ip());
        block.instructions += 1;
        block.holds_bound |= is_ptwrite(&instruction) || writes_cr3(&instruction);
        if let Some(exit) = exit(&instruction) {
            (block.exit, block.end) = (exit, classify(&instruction));
            if matches!(exit, Exit::Jump | Exit::Call | Exit::Branch) {
                block.target = instruction.near_branch_target();
            }
            return true;
        }
        if block.instructions >= MOST_INSTRUCTIONS {
            return true;
        }
    }
    false
}

/// How execution leaves the instruction, if not simply to the next one.
fn exit(instruction: &Instruction) -> Option<Exit> {
    let far = is_far(instruction);
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::XbeginXabortXend | FlowControl::Exception => None,
        FlowControl::ConditionalBranch => Some(Exit::Branch),
        _ if far => Some(Exit::Far),
        FlowControl::UnconditionalBranch => Some(Exit::Jump),
        FlowControl::IndirectBranch => Some(Exit::Indirect),
        FlowControl::IndirectCall => Some(Exit::IndirectCall),
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => Some(Exit::Return),
        FlowControl::Return | FlowControl::Interrupt => Some(Exit::Far),
        FlowControl::Call => match instruction.mnemonic() {
            Mnemonic::Call => Some(Exit::Call),
            Mnemonic::Syscall
            | Mnemonic::Sysenter
            | Mnemonic::Vmcall
            | Mnemonic::Vmlaunch
            | Mnemonic::Vmresume => Some(Exit::Far),
            _ => None,
        },
    }
}

fn is_ptwrite(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Ptwrite
}

fn writes_cr3(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::CR3
}

/// What is looked for in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Wanted {
    /// The instruction at this address, without it.
    Before(u64),
    /// The instruction at this address, and it.
    With(u64),
    /// The next PTWRITE, and it.
    Ptwrite,
    /// The next instruction that can change the page table (MOV CR3, a far transfer, VM entry), and it.
    Paging,
    /// The next MOV CR3, and it.
    Cr3,
    /// The next IRET, SYSRET, SYSEXIT, ERETU or ERETS, and it.
    Iret,
    /// The next VMLAUNCH or VMRESUME, and it.
    VmEntry,
    /// The next UIRET, and it.
    UserIret,
}

impl Wanted {
    /// Whether it is this instruction.
    fn matches(self, instruction: &Instruction) -> bool {
        let mnemonic = instruction.mnemonic();
        match self {
            Wanted::Before(ip) | Wanted::With(ip) => instruction.ip() == ip,
            Wanted::Ptwrite => is_ptwrite(instruction),
            Wanted::Cr3 => writes_cr3(instruction),
            Wanted::Paging => writes_cr3(instruction) || exit(instruction) == Some(Exit::Far),
            Wanted::Iret => matches!(
                mnemonic,
                Mnemonic::Iret
                    | Mnemonic::Iretd
                    | Mnemonic::Iretq
                    | Mnemonic::Sysret
                    | Mnemonic::Sysretq
                    | Mnemonic::Sysexit
                    | Mnemonic::Sysexitq
                    | Mnemonic::Eretu
                    | Mnemonic::Erets
            ),
            Wanted::VmEntry => matches!(mnemonic, Mnemonic::Vmlaunch | Mnemonic::Vmresume),
            Wanted::UserIret => mnemonic == Mnemonic::Uiret,
        }
    }

    /// Whether `block` may hold it.
    pub(in crate::native) fn may_be_in(self, block: &Block) -> bool {
        match self {
            Wanted::Before(ip) | Wanted::With(ip) => (block.ip..=block.end_ip).contains(&ip),
            Wanted::Ptwrite | Wanted::Cr3 => block.holds_bound,
            Wanted::Paging => block.holds_bound || block.exit == Exit::Far,
            Wanted::Iret | Wanted::VmEntry | Wanted::UserIret => block.exit == Exit::Far,
        }
    }
}

/// The front of a block, up to what was looked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Prefix {
    /// The part as a block of its own.
    pub(in crate::native) block: Block,
    last: Instruction,
}

impl Prefix {
    /// Whether its last instruction is what is looked for.
    pub(in crate::native) fn ends_with(&self, wanted: Wanted) -> bool {
        wanted.matches(&self.last)
    }
}

/// The part of `block` up to what is wanted, if it is there.
pub(in crate::native) fn prefix(block: &Block, wanted: Wanted, source: &Source<'_>) -> Option<Prefix> {
    if !wanted.may_be_in(block) {
        return None;
    }
    let mut part = Block { instructions: 0, exit: Exit::Border, end: BlockEnd::FallThrough, ..*block };
    (part.next, part.end_ip) = (block.ip, block.ip);
    let mut last = Instruction::default();
    while part.instructions < block.instructions {
        let mut bytes = [0; INSTRUCTION_BYTES];
        let count = fill(part.next, source, &mut bytes);
        let mut decoder =
            Decoder::with_ip(u32::from(source.bits), &bytes[..count], part.next, DecoderOptions::NONE);
        let instruction = decoder.decode();
        let found = wanted.matches(&instruction);
        if !(found && matches!(wanted, Wanted::Before(_))) {
            (part.end_ip, part.next, last) = (part.next, decoder.ip(), instruction);
            part.instructions += 1;
        }
        if found {
            if part.instructions == block.instructions && block.exit != Exit::Long {
                (part.exit, part.end) = (block.exit, block.end);
            } else if is_ptwrite(&last) {
                part.end = BlockEnd::Other;
            }
            return Some(Prefix { block: part, last });
        }
    }
    None
}
