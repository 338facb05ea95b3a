//! `user.spin`: a spin-wait loop (a spin lock, a busy poll) ran longer than in the baselines.
//!
//! Whether a loop waits shows in one iteration, as it ran, with the functions that it called. It changes no memory but its own
//! stack (a reader may copy there what a sequence lock makes it read again), by atomic operations, by counting, or, if it pauses, a word that is computed of itself; it looks at memory at fixed addresses, or at the time; a branch depends on what it saw; and it carries
//! nothing of what it saw into the next iteration, only counters, and no number in a vector register that it computes. So only an outside event or a count can end it. So it is
//! with each iteration that pauses (`pause`, `tpause`) or yields (`sched_yield`); one that pauses may also write constants, or what it computes of
//! words of its own, if it does the same again and again, as a library that looks for tasks between two yields. Evidence: the flow (which loop, how long) and
//! the code. Certainty: that it spun is decoded, that it was too long is inferred.

mod code;
mod instructions;
mod memory;
mod pointers;
mod state;
mod value;
mod waiting;

use iced_x86::{FlowControl, Instruction, Mnemonic};
use model::{Pid, Tsc};
use pt::Block;

use crate::inputs::functions::Functions;
use code::{Piece, decoded, instructions_of, pieces_of};
pub(crate) use pointers::point_to_stack;
use state::State;
pub(crate) use waiting::{Waiting, Waits};

/// The most instructions of an iteration: one that runs more does more than look.
const MOST_INSTRUCTIONS: usize = 256;

/// Whether and how a loop waits for an outside event of which one iteration ran `blocks`.
pub(crate) fn waits_in_place(
    blocks: &[Block],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waits> {
    judge(&pieces_of(blocks, pid, at, functions)?, Begins::Anyhow)
}

/// The same of a loop with another one inside: what each pass sets to the same number, as the index of the inner loop, does not change from one
/// pass to the next.
pub(crate) fn passes_in_place(
    blocks: &[Block],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waits> {
    judge(&pieces_of(blocks, pid, at, functions)?, Begins::AsItEnds)
}

/// With which numbers an iteration begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// They are not known.
    Anyhow,
    /// With those that it ends with: the one before did the same.
    AsItEnds,
}

/// Whether a round of an inner loop only passes time: it pauses, looks, or counts.
pub(crate) fn idles_in_place(blocks: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    pieces_of(blocks, pid, at, functions).is_some_and(|pieces| idles(&pieces))
}

/// Whether code neither works nor writes down small state: it may lead out of a loop.
pub(crate) fn changes_nothing(blocks: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    let state = pieces_of(blocks, pid, at, functions).and_then(|pieces| state_after(&pieces));
    state.is_some_and(|state| !state.writes())
}

/// Whether the block from `ip` to its last instruction, at `end_ip`, pauses.
pub(crate) fn pauses_in((ip, end_ip): (u64, u64), pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    let pauses = |instruction: &Instruction| instruction.mnemonic() == Mnemonic::Pause;
    instructions_of((ip, end_ip), pid, at, functions).iter().any(pauses)
}

fn judge(pieces: &[Piece], begins: Begins) -> Option<Waits> {
    state_after(pieces)?.waits(begins == Begins::AsItEnds)
}

fn idles(pieces: &[Piece]) -> bool {
    state_after(pieces).is_some_and(|state| state.idles())
}

/// What an iteration makes of the machine's state, unless it works.
fn state_after(pieces: &[Piece]) -> Option<State> {
    let mut state = State::default();
    let mut count = 0;
    let head = pieces.first().map_or(0, |(_, ip, _)| *ip);
    let nexts = pieces.iter().skip(1).map(|(_, ip, _)| *ip).chain([head]);
    for (piece, next) in pieces.iter().zip(nexts) {
        for instruction in decoded(piece) {
            count += 1;
            if instruction.is_invalid() || count > MOST_INSTRUCTIONS || !stays_in_program(&instruction) {
                return None;
            }
            let is_return = instruction.mnemonic() == Mnemonic::Ret;
            if is_return { state.return_to(next) } else { state.take(&instruction) }.ok()?;
        }
    }
    (count > 0).then_some(state)
}

fn stays_in_program(instruction: &Instruction) -> bool {
    let near = matches!(
        instruction.flow_control(),
        FlowControl::Next
            | FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Call
            | FlowControl::IndirectCall
            | FlowControl::Return
    );
    near || instruction.mnemonic() == Mnemonic::Syscall
}

#[cfg(test)]
mod tests;
