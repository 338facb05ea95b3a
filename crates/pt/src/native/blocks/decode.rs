//! Blocks from bytes: to the first instruction that execution does not simply go on from.
//!
//! Which instructions need which packet: Intel SDM vol. 3, "Intel Processor Trace", tables "COFI Type for Branch
//! Instructions" and "Packet Generation under Different Enable Conditions".

use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::block::{Block, Exit, Missing, NONE, Source};
use super::mark::{Kind, Mark};
use crate::classes::{INSTRUCTION_BYTES, classify, is_far};
use crate::flow::BlockEnd;

/// Most instructions of a block in the map; longer ones are several that follow each other.
const MOST_INSTRUCTIONS: u16 = 128;
/// Bytes read at once.
const CHUNK: usize = 256;

/// What the jump at the begin of an emulated PTWRITE jumps over. Source: perf-intel-pt(1), "Emulated PTWRITE".
const PTWRITE_MARK: &[u8; 16] = b"\x0f\x0bperf,ptwrite  ";

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
    marks: NONE,
};

/// The block at `ip` in a section that ends at `end`; `None` where the first instruction ends beyond it. The marks of
/// its instructions go to the end of `marks`.
pub(super) fn block(
    ip: u64,
    end: u64,
    source: &Source<'_>,
    marks: &mut Vec<Mark>,
) -> Result<Option<Block>, Missing> {
    let first = u32::try_from(marks.len()).unwrap_or(NONE);
    let mut block = Block { ip, next: ip, marks: first, ..NOTHING };
    let mut bytes = [0; CHUNK];
    loop {
        let wanted = usize::try_from(end - block.next).unwrap_or(CHUNK).min(CHUNK);
        let count = source.code.read(source.pid, block.next, source.at, &mut bytes[..wanted]).min(wanted);
        let before = block.instructions;
        if extend(&mut block, &bytes[..count], source.bits, u64::MAX, marks) {
            look_for_mark(&mut block, source);
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

/// The block at `ip` outside of all sections; its instructions begin before `end`, and their marks go to `marks`.
pub(super) fn loose(ip: u64, end: u64, source: &Source<'_>, marks: &mut Vec<Mark>) -> Result<Block, Missing> {
    marks.clear();
    let mut block = Block { ip, next: ip, ..NOTHING };
    let mut bytes = [0; CHUNK];
    loop {
        let count = fill(block.next, source, &mut bytes);
        let before = block.instructions;
        if extend(&mut block, &bytes[..count], source.bits, end, marks) {
            look_for_mark(&mut block, source);
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

/// Whether `block` ends with the jump at the begin of an emulated PTWRITE: then execution leaves it so.
fn look_for_mark(block: &mut Block, source: &Source<'_>) {
    let mut mark = [0; PTWRITE_MARK.len()];
    if block.exit == Exit::Jump
        && block.target.checked_sub(block.next) == Some(mark.len() as u64)
        && source.code.read(source.pid, block.next, source.at, &mut mark) >= mark.len()
        && mark == *PTWRITE_MARK
    {
        block.exit = Exit::OverMark;
    }
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
fn extend(block: &mut Block, bytes: &[u8], bits: u8, end: u64, marks: &mut Vec<Mark>) -> bool {
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
        let (exit, length) = (exit(&instruction), block.next.wrapping_sub(block.end_ip));
        let kind = kind(&instruction, exit);
        marks.push(Mark::new(length, kind));
        block.holds_bound |= matches!(kind, Kind::Ptwrite | Kind::PageTable);
        if let Some(exit) = exit {
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

/// What binds packets to the instruction, which is left by `exit`.
fn kind(instruction: &Instruction, exit: Option<Exit>) -> Kind {
    match instruction.mnemonic() {
        Mnemonic::Ptwrite => Kind::Ptwrite,
        Mnemonic::Mov if writes_cr3(instruction) => Kind::PageTable,
        Mnemonic::Iret
        | Mnemonic::Iretd
        | Mnemonic::Iretq
        | Mnemonic::Sysret
        | Mnemonic::Sysretq
        | Mnemonic::Sysexit
        | Mnemonic::Sysexitq
        | Mnemonic::Eretu
        | Mnemonic::Erets => Kind::Iret,
        Mnemonic::Vmlaunch | Mnemonic::Vmresume => Kind::VmEntry,
        Mnemonic::Uiret => Kind::UserIret,
        _ if exit == Some(Exit::Far) => Kind::Far,
        _ => Kind::Plain,
    }
}

fn writes_cr3(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::CR3
}
