//! Repeated string instructions (`rep movsb`, `repne scasb`): the one kind that may run for microseconds by itself.
//!
//! No packet shows their iterations: one that copies a megabyte looks as if nothing retired. So the code bytes decide
//! whether a long step of the clock is the time of such an instruction or a stall.
//!
//! # When blocks without a packet ran
//!
//! Between two times lie all blocks up to the next conditional branch, in several functions perhaps. The decoder gives
//! them one of the two times. If almost nothing retired in between and one of them holds a repeated string instruction,
//! the time passed there: the blocks up to that one began at the first time, those after it at the second one.

use std::sync::Arc;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use model::{Pid, Ticks, Tsc, TscRange};
use pt::{Block, TimeBounds};

use super::stalls::SLOWEST_INSTRUCTION;
use super::user_code::ByAddress;
use crate::inputs::functions::Functions;

/// Shorter steps are an ordinary cache miss or two.
pub(super) const SHORTEST: Ticks = Ticks(300);

/// More blocks than a long step can hold: so many retire in it only where it is no such step.
const MOST_BLOCKS: usize = 64;

/// Ticks for a line from memory, and a walk of page tables; for an element of a device.
const COSTLIEST_LINE: u64 = 1_000;

/// Ticks for one element of a line that is there.
const COSTLIEST_ELEMENT: u64 = 10;

/// Bytes of a line.
const LINE: u64 = 64;

/// The longest block whose code is read, in bytes.
const LONGEST_BLOCK: u64 = 2048;

/// The longest instruction, in bytes.
const LONGEST_INSTRUCTION: usize = 15;

/// Time in one repeated string instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StringTime {
    /// When.
    pub(crate) range: TscRange,
    /// The instruction: `rep movsb`.
    pub(crate) name: &'static str,
    /// The function that it is in.
    pub(crate) function: Option<Arc<str>>,
    /// Whether it is the kernel's.
    pub(crate) kernel: bool,
    /// Whether an interrupt ended this part of it.
    pub(crate) interrupted: bool,
}

/// A repeated string instruction that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StringInstruction {
    /// The instruction: `rep movsb`.
    pub(super) name: &'static str,
    /// The function that it is in.
    pub(super) function: Option<Arc<str>>,
    /// Whether it is the kernel's.
    pub(super) kernel: bool,
    /// Whether an interrupt ends this part of it.
    pub(super) interrupted: bool,
}

impl StringInstruction {
    /// The one at `ip`, which has begun and not ended.
    pub(super) fn begun_at(
        ip: u64,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> Option<StringInstruction> {
        let mut code = [0; LONGEST_INSTRUCTION];
        let known = functions.code_at(pid, ip, at, &mut code).min(code.len());
        let name = name_of(&Decoder::with_ip(64, &code[..known], ip, DecoderOptions::NONE).decode())?;
        let function = functions.function_at(pid, ip, at).map(|function| function.name);
        Some(StringInstruction { name, function, kernel: ip >> 63 != 0, interrupted: true })
    }

    /// Its time.
    pub(super) fn over(self, range: TscRange) -> StringTime {
        let StringInstruction { name, function, kernel, interrupted } = self;
        StringTime { range, name, function, kernel, interrupted }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct StringInstructions {
    /// Blocks that began between the same two times.
    waiting: Vec<Block>,
    known: Known,
}

/// By process and block: the last repeated string instruction, and how many ticks it may take, where the code says how many elements it has.
type Known = ByAddress<(Pid, u64, u64), Option<(&'static str, Option<u64>)>>;

impl StringInstructions {
    /// Takes `block`, which comes next; `false` where those that wait have to leave first.
    pub(super) fn hold(&mut self, block: &Block) -> bool {
        let follows = |first: &Block, last: &Block| {
            // What follows the branch that has a time ran in the next step.
            let leads = |block: &Block| block.time.not_before < block.time.likely;
            let same = block.time.likely == last.time.likely && leads(block) == leads(last);
            let is_first_ahead = last.time.likely == first.time.likely && is_ahead(block, first.time.likely);
            self.waiting.len() < MOST_BLOCKS && (same || is_first_ahead)
        };
        let fits =
            self.waiting.first().zip(self.waiting.last()).is_none_or(|(first, last)| follows(first, last));
        if fits {
            self.waiting.push(*block);
        }
        fits
    }

    /// It was `now` before the blocks that wait, and `next` is the time after them: gives them their times. Returns
    /// which of them holds the string instruction that took the time, and its name.
    pub(super) fn judge(
        &mut self,
        (now, next): (Tsc, Tsc),
        functions: &dyn Functions,
    ) -> Option<(usize, &'static str)> {
        let (first, last) = (self.waiting.first()?, self.waiting.last()?);
        let from = if is_ahead(first, now) { now } else { first.time.likely };
        let until = if last.time.likely > from { last.time.likely } else { next };
        let step = until.since(from.min(until));
        if step < SHORTEST {
            return None;
        }
        // A block that leads to the branch which has the first time ran before it.
        let is_within = |block: &Block| block.time.likely > from || block.time.not_before >= from;
        let retired: u64 = self
            .waiting
            .iter()
            .filter(|block| is_within(block))
            .map(|block| u64::from(block.instructions))
            .sum();
        if step.0 / SLOWEST_INSTRUCTION < retired {
            return None;
        }
        let mut within = self.waiting.iter().enumerate().rev().filter(|(_, block)| is_within(block));
        let known = &mut self.known;
        let (holder, name) = within.find_map(|(index, block)| {
            let (name, longest) = string_of(block, known, functions)?;
            // One that sets ten words to zero is not what took a long time.
            let may_last = longest.is_none_or(|longest| step.0 <= longest);
            may_last.then_some((index, name))
        })?;
        for (index, block) in self.waiting.iter_mut().enumerate().filter(|(_, block)| is_within(block)) {
            let at = if index <= holder { from } else { until };
            block.time = TimeBounds::between(at, at);
        }
        Some((holder, name))
    }

    /// The blocks that waited.
    pub(super) fn let_go(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes back the memory of those that [`StringInstructions::let_go`] gave.
    pub(super) fn reuse(&mut self, mut waited: Vec<Block>) {
        waited.clear();
        self.waiting = waited;
    }
}

/// Whether `block` ran after `from`, up to a branch whose time it has.
fn is_ahead(block: &Block, from: Tsc) -> bool {
    block.time.likely > from && block.time.not_before <= from
}

/// The last repeated string instruction of `block`, and its longest time in ticks, where its number of elements is in the code.
fn string_of(
    block: &Block,
    known: &mut Known,
    functions: &dyn Functions,
) -> Option<(&'static str, Option<u64>)> {
    let size = block.end_ip.checked_sub(block.ip).filter(|&size| size <= LONGEST_BLOCK)?;
    let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
    *known.entry((pid, block.ip, block.end_ip)).or_insert_with(|| {
        let mut code = vec![0; usize::try_from(size).unwrap_or(0) + LONGEST_INSTRUCTION];
        let read = functions.code_at(pid, block.ip, block.time.likely, &mut code);
        let code = code.get(..read).unwrap_or_default();
        let mut decoder = Decoder::with_ip(u32::from(block.bits), code, block.ip, DecoderOptions::NONE);
        let (mut found, mut count) = (None, None);
        while decoder.can_decode() && decoder.ip() <= block.end_ip {
            let instruction = decoder.decode();
            if let Some(name) = name_of(&instruction) {
                found = Some((name, count.map(|count| longest(&instruction, count))));
            } else if instruction.op0_register().full_register() == Register::RCX {
                let is_number = instruction.mnemonic() == Mnemonic::Mov;
                count = instruction.try_immediate(1).ok().filter(|_| is_number);
            }
        }
        found
    })
}

/// How many ticks a string instruction of `count` elements takes at most.
fn longest(instruction: &Instruction, count: u64) -> u64 {
    let places = match instruction.mnemonic() {
        Mnemonic::Insb
        | Mnemonic::Insw
        | Mnemonic::Insd
        | Mnemonic::Outsb
        | Mnemonic::Outsw
        | Mnemonic::Outsd => {
            return count.saturating_mul(COSTLIEST_LINE);
        }
        Mnemonic::Stosb | Mnemonic::Stosw | Mnemonic::Stosd | Mnemonic::Stosq => 1,
        _ => 2,
    };
    let size = u64::try_from(instruction.memory_size().size()).unwrap_or(LINE);
    // Elements lie side by side; the first line and the last one may hold a part of them.
    let lines = (count.saturating_mul(size) / LINE).saturating_add(2).saturating_mul(places);
    lines.saturating_mul(COSTLIEST_LINE).saturating_add(count.saturating_mul(COSTLIEST_ELEMENT))
}

/// The name of a repeated string instruction (SDM vol. 2, "REP/REPE/REPZ/REPNE/REPNZ"); `None` for all others.
fn name_of(instruction: &Instruction) -> Option<&'static str> {
    if !instruction.has_rep_prefix() && !instruction.has_repne_prefix() {
        return None;
    }
    let until_equal = instruction.has_repne_prefix();
    Some(match instruction.code() {
        Code::Movsb_m8_m8 => "rep movsb",
        Code::Movsw_m16_m16 => "rep movsw",
        Code::Movsd_m32_m32 => "rep movsd",
        Code::Movsq_m64_m64 => "rep movsq",
        Code::Stosb_m8_AL => "rep stosb",
        Code::Stosw_m16_AX => "rep stosw",
        Code::Stosd_m32_EAX => "rep stosd",
        Code::Stosq_m64_RAX => "rep stosq",
        Code::Lodsb_AL_m8 | Code::Lodsw_AX_m16 | Code::Lodsd_EAX_m32 | Code::Lodsq_RAX_m64 => "rep lods",
        Code::Insb_m8_DX | Code::Insw_m16_DX | Code::Insd_m32_DX => "rep ins",
        Code::Outsb_DX_m8 | Code::Outsw_DX_m16 | Code::Outsd_DX_m32 => "rep outs",
        Code::Scasb_AL_m8 | Code::Scasw_AX_m16 | Code::Scasd_EAX_m32 | Code::Scasq_RAX_m64 if until_equal => {
            "repne scas"
        }
        Code::Scasb_AL_m8 | Code::Scasw_AX_m16 | Code::Scasd_EAX_m32 | Code::Scasq_RAX_m64 => "repe scas",
        Code::Cmpsb_m8_m8 | Code::Cmpsw_m16_m16 | Code::Cmpsd_m32_m32 | Code::Cmpsq_m64_m64
            if until_equal =>
        {
            "repne cmps"
        }
        Code::Cmpsb_m8_m8 | Code::Cmpsw_m16_m16 | Code::Cmpsd_m32_m32 | Code::Cmpsq_m64_m64 => "repe cmps",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
