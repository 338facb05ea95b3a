//! `user.spin`: a spin-wait loop (a spin lock, a busy poll) ran longer than in the baselines.
//!
//! Whether a loop waits shows in one iteration, as it ran, with the functions that it called. It changes no memory but its own
//! stack, by atomic operations, by counting, or, if it pauses, a word that is computed of itself; it looks at memory at fixed addresses, or at the time; and it carries
//! nothing of what it saw into the next iteration, only counters, and no number in a vector register that it computes. So only an outside event or a count can end it. So it is
//! with each iteration that pauses (`pause`, `tpause`) or yields (`sched_yield`); one that pauses may also write constants, or what it computes of
//! words of its own, if it does the same again and again, as a library that looks for tasks between two yields. Evidence: the flow (which loop, how long) and
//! the code. Certainty: that it spun is decoded, that it was too long is inferred.

mod instructions;
mod state;
mod value;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use model::{Pid, Tsc};
use pt::Block;

use crate::inputs::functions::Functions;
use state::State;

/// The longest block that is examined, in bytes.
const LONGEST_BLOCK: u64 = 256;

/// The longest instruction, in bytes.
const LONGEST_INSTRUCTION: u64 = 15;

/// The most instructions of an iteration: one that runs more does more than look.
const MOST_INSTRUCTIONS: usize = 256;

/// How a loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It polls continuously.
    Looks,
    /// The same, and it pauses in between, or yields.
    Pauses,
    /// It pauses and looks at nothing but the time: a delay.
    Delays,
    /// It pauses, or yields, and writes small state: it waits if it does so again and again.
    Notes,
    /// It lets the core doze in between (`tpause`): an iteration may take long.
    Dozes,
}

/// Whether and how a loop waits for an outside event of which one iteration ran `blocks`.
pub(crate) fn waits_in_place(
    blocks: &[Block],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waiting> {
    judge(&pieces_of(blocks, pid, at, functions)?, Begins::Anyhow)
}

/// The same of a loop with another one inside: what each pass sets to the same number, as the index of the inner loop, does not change from one
/// pass to the next.
pub(crate) fn passes_in_place(
    blocks: &[Block],
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waiting> {
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

/// Code, its address, and that of its last instruction.
type Piece = (Vec<u8>, u64, u64);

fn pieces_of(blocks: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> Option<Vec<Piece>> {
    blocks.iter().map(|block| piece_of((block.ip, block.end_ip), pid, at, functions)).collect()
}

fn piece_of((ip, end_ip): (u64, u64), pid: Pid, at: Tsc, functions: &dyn Functions) -> Option<Piece> {
    let size = end_ip.checked_sub(ip).filter(|&size| size <= LONGEST_BLOCK)?;
    let mut code = vec![0; usize::try_from(size + LONGEST_INSTRUCTION).ok()?];
    let known = functions.code_at(pid, ip, at, &mut code);
    code.truncate(known);
    Some((code, ip, end_ip))
}

/// Whether a round of an inner loop only passes time: it pauses, looks, or counts.
pub(crate) fn idles_in_place(blocks: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    pieces_of(blocks, pid, at, functions).is_some_and(|pieces| idles(&pieces))
}

/// Whether code neither works nor writes down small state: it may lead out of a loop.
pub(crate) fn changes_nothing(blocks: &[Block], pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    let state = pieces_of(blocks, pid, at, functions).and_then(|pieces| state_after(&pieces));
    state.is_some_and(|state| !state.notes())
}

/// Whether the block from `ip` to its last instruction, at `end_ip`, pauses.
pub(crate) fn pauses_in((ip, end_ip): (u64, u64), pid: Pid, at: Tsc, functions: &dyn Functions) -> bool {
    let Some((code, ..)) = piece_of((ip, end_ip), pid, at, functions) else { return false };
    let mut decoder = Decoder::with_ip(64, &code, ip, DecoderOptions::NONE);
    let next = || (decoder.can_decode() && decoder.ip() <= end_ip).then(|| decoder.decode());
    let mut instructions = std::iter::from_fn(next);
    instructions.any(|instruction| instruction.mnemonic() == Mnemonic::Pause)
}

fn judge(pieces: &[Piece], begins: Begins) -> Option<Waiting> {
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
    for ((code, ip, end_ip), next) in pieces.iter().zip(nexts) {
        let mut decoder = Decoder::with_ip(64, code, *ip, DecoderOptions::NONE);
        while decoder.ip() <= *end_ip {
            let instruction = decoder.decode();
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
