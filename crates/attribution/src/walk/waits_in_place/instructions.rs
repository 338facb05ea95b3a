//! What single instructions do, for [`State`](super::state::State).

use iced_x86::{Instruction, Mnemonic, OpAccess, OpKind};

/// By how much an instruction counts its first operand up.
pub(super) fn step(instruction: &Instruction) -> Option<i64> {
    let by = || instruction.try_immediate(1).ok().map(u64::cast_signed);
    match instruction.mnemonic() {
        Mnemonic::Inc => Some(1),
        Mnemonic::Dec => Some(-1),
        Mnemonic::Add => by(),
        Mnemonic::Sub => by().map(i64::wrapping_neg),
        _ => None,
    }
}

/// What makes zero of two operands that are the same register.
pub(super) const ZEROES: [Mnemonic; 8] = [
    Mnemonic::Xor,
    Mnemonic::Sub,
    Mnemonic::Pxor,
    Mnemonic::Xorps,
    Mnemonic::Xorpd,
    Mnemonic::Vpxor,
    Mnemonic::Vxorps,
    Mnemonic::Vxorpd,
];

/// Whether both source operands, the last two, are the same register.
pub(super) fn is_same(instruction: &Instruction) -> bool {
    let last = instruction.op_count().saturating_sub(1);
    let register = |operand| {
        (instruction.op_kind(operand) == OpKind::Register).then(|| instruction.op_register(operand))
    };
    last > 0 && register(last).is_some() && register(last) == register(last - 1)
}

pub(super) fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub(super) fn is_written(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}
