//! Which registers point to the thread's stack, by the code that ran.
//!
//! Input: blocks that ran, the last one first. The last instruction that wrote a register says where it points to; another register's, if it
//! was copied from there.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use model::{Pid, Tsc};

use super::code::instructions_of;
use super::instructions::{is_written, step};
use super::value::{STACK_POINTER, cell_of};
use crate::inputs::functions::Functions;

/// What an instruction says of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// It keeps it, or moves it by a number.
    Kept,
    /// It points to where this one does.
    Register(usize),
    /// It is anything.
    Unknown,
}

/// Whether each of `registers`, bits by their numbers in machine code, pointed to the stack after `blocks`, each by its first and its last
/// instruction, the last one first.
pub(crate) fn point_to_stack(
    registers: u16,
    blocks: &[(u64, u64)],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let numbers = (0..16).filter(|number| registers & (1 << number) != 0);
    let mut wanted: Vec<usize> = numbers.filter(|&register| register != STACK_POINTER).collect();
    for &block in blocks {
        if wanted.is_empty() {
            return true;
        }
        let instructions = instructions_of(block, pid, at, functions);
        if instructions.last().is_none_or(|last| last.is_invalid() || last.ip() != block.1) {
            return false;
        }
        for instruction in instructions.iter().rev() {
            for register in &mut wanted {
                match source(instruction, *register, &mut factory) {
                    Source::Kept => {}
                    Source::Register(other) => *register = other,
                    Source::Unknown => return false,
                }
            }
            wanted.retain(|&register| register != STACK_POINTER);
        }
    }
    wanted.is_empty()
}

fn source(instruction: &Instruction, register: usize, factory: &mut InstructionInfoFactory) -> Source {
    let is = |other: Register| cell_of(other).is_ok_and(|cell| cell == Some(register));
    let info = factory.info(instruction);
    if !info.used_registers().iter().any(|used| is(used.register()) && is_written(used.access())) {
        return Source::Kept;
    }
    let whole = instruction.op0_kind() == OpKind::Register && instruction.op0_register().size() == 8;
    let of = |other: Register| cell_of(other).ok().flatten().map_or(Source::Unknown, Source::Register);
    match instruction.mnemonic() {
        _ if !whole || !is(instruction.op0_register()) => Source::Unknown,
        Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => of(instruction.op1_register()),
        Mnemonic::Lea if instruction.memory_index() == Register::None => of(instruction.memory_base()),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec if step(instruction).is_some() => {
            Source::Kept
        }
        _ => Source::Unknown,
    }
}

#[cfg(test)]
mod tests;
