//! `user.spin`: a loop that waits in place for another thread (a spin lock, a busy poll) ran longer than in the
//! baselines.
//!
//! A loop that neither changes memory nor carries a register from one round into the next can end only by what comes
//! from outside: it waits. One with a `pause` in it waits too, though it may count its rounds. Evidence: the flow (which
//! loop, how long) and the code of its body. Certainty: that it spun is decoded, that it was too long is inferred.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
};
use model::{Cause, Certainty, Evidence, Pid, Slower, Tsc};

use crate::claim::Claim;
use crate::examine::Examined;
use crate::functions::Functions;
use crate::precedence::Rank;
use crate::walk::Spin;

/// What a round may remember: a register, or a word of the stack frame by its base and displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Register(Register),
    Slot(Register, u64),
}

/// How a loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It looks again and again.
    Looks,
    /// It lets the core doze in between (`tpause`): a round may take long.
    Dozes,
}

/// Whether and how the loop whose instructions lie in `body` waits for something from outside.
pub(crate) fn waits_in_place(
    body: &Range<u64>,
    pid: Pid,
    at: Tsc,
    functions: &dyn Functions,
) -> Option<Waiting> {
    // The last instruction begins at the end of the range: its own bytes come on top.
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

/// A loop with another one in it does more than wait.
fn is_jump_back(instruction: &Instruction) -> bool {
    let target = instruction.near_branch_target();
    target != 0 && target <= instruction.ip()
}

/// One round of a loop, instruction by instruction.
#[derive(Default)]
struct Round {
    read_first: Vec<Cell>,
    written: Vec<Cell>,
    reads_memory: bool,
    pauses: bool,
    dozes: bool,
}

impl Round {
    /// Takes in the next instruction; `false` where a waiting loop has no such one.
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

/// The time in waiting loops, as claims that the comparison decides about.
pub(crate) fn claims_of_spins(spins: &[Spin]) -> impl Iterator<Item = Claim> + '_ {
    spins.iter().map(|spin| {
        let mut claim = Claim::new(spin.range, Rank::Spin, Cause::UserSpin, Certainty::Decoded);
        claim.occurrence = spin.range.start.0;
        claim.uncertainty = spin.uncertainty;
        claim.say(&spin.name());
        claim.evidence.push(Evidence::symbol(spin.name()));
        claim
    })
}

/// How often each waiting loop went round.
pub(crate) fn rounds_of_spins(spins: &[Spin]) -> HashMap<String, u64> {
    let mut rounds = HashMap::new();
    for spin in spins.iter().filter(|spin| !spin.dozes) {
        *rounds.entry(spin.name()).or_default() += spin.rounds;
    }
    rounds
}

/// So many rounds more than in any baseline are no accident. With `pause` they take half a microsecond.
const TELLING_ROUNDS: u64 = 8;

/// How much of an outlier's time in each waiting loop is as expected: all of it where a baseline was in there as long,
/// else the baselines' mean.
#[derive(Debug, Default)]
pub(crate) struct SpinBudget {
    left: HashMap<String, u64>,
    /// The loops in which it looked no more often than the baselines do, with its ticks there beyond what is expected: it
    /// was slow, but waited for nobody.
    slow: BTreeMap<String, u64>,
}

impl SpinBudget {
    /// Of the loops and ticks of the outlier and of each baseline.
    pub(crate) fn new(own: &[(&str, u64)], baselines: &[Vec<(&str, u64)>]) -> SpinBudget {
        let own = sums(own);
        let baselines: Vec<_> = baselines.iter().map(|spins| sums(spins)).collect();
        let of_loop = |name: &str, ticks: u64| {
            let usual = || baselines.iter().map(|sums| sums.get(name).copied().unwrap_or(0));
            let most = usual().max().unwrap_or(0);
            if ticks <= most { ticks } else { usual().sum::<u64>() / baselines.len().max(1) as u64 }
        };
        let left = own.iter().map(|(&name, &ticks)| (name.to_owned(), of_loop(name, ticks))).collect();
        SpinBudget { left, slow: BTreeMap::new() }
    }

    /// Of the outlier and its baselines.
    pub(crate) fn of(outlier: &Examined, baselines: &[&Examined]) -> SpinBudget {
        let spins: Vec<_> = baselines.iter().map(|baseline| baseline.spins()).collect();
        let own = outlier.spins();
        let mut budget = SpinBudget::new(&own, &spins);
        for (name, ticks) in sums(&own) {
            let most = baselines.iter().filter_map(|baseline| baseline.rounds.get(name)).max();
            let looked = outlier.rounds.get(name).copied().unwrap_or(u64::MAX);
            if most.is_some_and(|&most| looked < most.saturating_add(TELLING_ROUNDS)) {
                let expected = budget.left.get(name).copied().unwrap_or(0);
                budget.slow.insert(name.to_owned(), ticks - expected);
            }
        }
        budget
    }

    /// What time in the loop `name` is that is not as expected.
    pub(crate) fn excess(&self, name: &str) -> Cause {
        if self.slow.contains_key(name) { Cause::UserSlower(Slower::Other) } else { Cause::UserSpin }
    }

    /// How much it was slow in all.
    pub(crate) fn slow(&self) -> u64 {
        self.slow.values().sum()
    }

    /// Of the time in which it was slow, all but `real` is as expected: the rest of the interval was faster by as much.
    pub(crate) fn keep_slow(&mut self, real: u64) {
        let mut over = self.slow().saturating_sub(real);
        for (name, ticks) in &mut self.slow {
            let taken = over.min(*ticks);
            over -= taken;
            *ticks -= taken;
            *self.left.entry(name.clone()).or_default() += taken;
        }
    }

    /// How much in all is as expected.
    pub(crate) fn total(&self) -> u64 {
        self.left.values().sum()
    }

    /// Takes `ticks` of the loop `name` from the budget; returns how many of them are as expected.
    pub(crate) fn expected(&mut self, name: &str, ticks: u64) -> u64 {
        let Some(left) = self.left.get_mut(name) else { return 0 };
        let taken = ticks.min(*left);
        *left -= taken;
        taken
    }
}

fn sums<'a>(spins: &[(&'a str, u64)]) -> HashMap<&'a str, u64> {
    let mut sums = HashMap::new();
    for &(name, ticks) in spins {
        *sums.entry(name).or_default() += ticks;
    }
    sums
}

#[cfg(test)]
mod tests;
