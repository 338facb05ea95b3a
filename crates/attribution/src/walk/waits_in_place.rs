//! `user.spin`: a spin-wait loop (a spin lock, a busy poll) ran longer than in the baselines.
//!
//! A loop that neither changes memory nor carries a register from one iteration to the next can end only by an
//! outside event: it is a spin-wait loop. So is one with a `pause`, even if it counts its iterations. Evidence: the
//! flow (which loop, how long) and the code of its body. Certainty: that it spun is decoded, that it was too long is
//! inferred.

use std::ops::Range;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
};
use model::{Pid, Tsc};

use crate::inputs::functions::Functions;

/// State that an iteration may keep: a register, or a word of the stack frame by its base and displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Register(Register),
    Slot(Register, u64),
}

/// How a loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It polls continuously.
    Looks,
    /// It lets the core doze in between (`tpause`): an iteration may take long.
    Dozes,
}

/// Whether and how the loop whose instructions lie in `body` waits for an outside event.
pub(crate) fn waits_in_place(
    body: &Range<u64>,
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waiting> {
    // The last instruction begins at the end of the range: its own bytes are added.
    const LONGEST_INSTRUCTION: u64 = 15;
    let mut code = [0u8; 256];
    let wanted = usize::try_from(body.end - body.start + LONGEST_INSTRUCTION).unwrap_or(usize::MAX);
    let into = code.get_mut(..wanted)?;
    let known = functions.code_at(pid, body.start, at, into);
    judge(into.get(..known).unwrap_or_default(), body)
}

fn judge(code: &[u8], body: &Range<u64>) -> Option<Waiting> {
    let mut decoder = Decoder::with_ip(64, code, body.start, DecoderOptions::NONE);
    let mut round = Round::default();
    while decoder.can_decode() && decoder.ip() < body.end {
        let instruction = decoder.decode();
        let inner = is_jump_back(&instruction) && instruction.near_branch_target() != body.start;
        if instruction.is_invalid() || inner || !round.take(&instruction) {
            return None;
        }
    }
    let how = if round.dozes { Waiting::Dozes } else { Waiting::Looks };
    (decoder.ip() >= body.end && round.waits()).then_some(how)
}

/// A loop that contains another one does more than wait.
fn is_jump_back(instruction: &Instruction) -> bool {
    let target = instruction.near_branch_target();
    target != 0 && target <= instruction.ip()
}

/// One iteration of a loop, instruction by instruction.
#[derive(Default)]
struct Round {
    read_first: Vec<Cell>,
    written: Vec<Cell>,
    reads_memory: bool,
    pauses: bool,
    dozes: bool,
}

impl Round {
    /// Takes the next instruction; `false` where a spin-wait loop has no such instruction.
    fn take(&mut self, instruction: &Instruction) -> bool {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {}
            _ => return false,
        }
        self.dozes |= matches!(instruction.code(), Code::Tpause_r32 | Code::Tpause_r64);
        self.pauses |= self.dozes || instruction.code() == Code::Pause;
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == iced_x86::Mnemonic::Xchg;
        let mut writes = Vec::new();
        for memory in info.used_memory() {
            let frame = matches!(memory.base(), Register::RBP | Register::RSP);
            let slot = (frame && memory.index() == Register::None)
                .then(|| Cell::Slot(memory.base(), memory.displacement()));
            if reads(memory.access()) {
                self.reads_memory = true;
                self.read_first.extend(slot.filter(|slot| !self.written.contains(slot)));
            }
            if stores(memory.access()) && !atomic {
                let Some(slot) = slot else { return false };
                writes.push(slot);
            }
        }
        for register in info.used_registers() {
            let cell = Cell::Register(register.register().full_register());
            if reads(register.access()) && !self.written.contains(&cell) {
                self.read_first.push(cell);
            }
            if stores(register.access()) {
                writes.push(cell);
            }
        }
        self.written.extend(writes);
        true
    }

    fn waits(&self) -> bool {
        let carries = self.read_first.iter().any(|cell| self.written.contains(cell));
        self.reads_memory && (self.pauses || !carries)
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn stores(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

#[cfg(test)]
mod tests;
