//! The pieces of code that the emulator translated, and the kernel's entries among them.
//!
//! Input: `blocks.bin` and the list of entries. Output: instructions by block number, names by address.
//! Source: the head of `fixtures/emulator/plugin/execution_log.c`.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::instruction::{Class, Instruction};

/// Code that runs from its first instruction to its last, unless something interrupts it.
#[derive(Debug)]
pub(super) struct Block {
    /// Never empty.
    pub(super) instructions: Vec<Instruction>,
    /// Their bytes.
    pub(super) code: Vec<u8>,
    /// Its last instruction is `hlt`.
    pub(super) halts: bool,
}

impl Block {
    /// Address of the first instruction.
    pub(super) fn address(&self) -> u64 {
        self.instructions.first().map_or(0, |first| first.ip)
    }

    pub(super) fn last(&self) -> Option<&Instruction> {
        self.instructions.last()
    }

    /// Number of instructions before the one at `ip`, if it is one of this block.
    pub(super) fn before(&self, ip: u64) -> Option<usize> {
        self.instructions.iter().position(|instruction| instruction.ip == ip)
    }

    /// `None` if the bytes are not the `count` instructions that the emulator saw.
    fn decode(address: u64, count: u32, code: &[u8]) -> Option<Block> {
        let mut instructions = Vec::with_capacity(count as usize);
        let mut at = 0;
        while at < code.len() {
            let instruction = Instruction::decode(&code[at..], address + at as u64, 64)?;
            at += usize::from(instruction.length).max(1);
            instructions.push(instruction);
        }
        let halts = code.last() == Some(&0xf4) && instructions.last().is_some_and(|last| last.length == 1);
        let same = count > 0 && instructions.len() == count as usize;
        same.then(|| Block { instructions, code: code.to_vec(), halts })
    }
}

/// All blocks that were executed, by their number.
#[derive(Debug)]
pub(super) struct Blocks(Vec<Option<Block>>);

impl Blocks {
    /// Reads those blocks of `path` that `used` names by number.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Capture`] where a block's bytes are not the instructions that it says.
    pub(super) fn read(path: &Path, used: &[bool]) -> Result<Blocks, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        let mut blocks = Vec::new();
        let mut at = 0;
        while let Some((head, rest)) = bytes[at..].split_first_chunk::<16>() {
            let (address, counts) = head.split_at(8);
            let address = address.try_into().map_or(0, u64::from_le_bytes);
            let counts = counts.try_into().map_or(0, u64::from_le_bytes);
            let (count, size) = (counts as u32, (counts >> 32) as usize);
            let Some(code) = rest.get(..size) else { break };
            let block = if used.get(blocks.len()).copied().unwrap_or(false) {
                let what = "a block whose bytes are other instructions than the emulator executed";
                let wrong = || Error::Capture { path: path.to_owned(), offset: at as u64, what };
                Some(Block::decode(address, count, code).ok_or_else(wrong)?)
            } else {
                None
            };
            blocks.push(block);
            at += 16 + size;
        }
        Ok(Blocks(blocks))
    }

    pub(super) fn get(&self, number: usize) -> Option<&Block> {
        self.0.get(number)?.as_ref()
    }

    /// All blocks that were executed.
    pub(super) fn executed(&self) -> impl Iterator<Item = &Block> {
        self.0.iter().flatten()
    }
}

/// Where interrupts and exceptions enter the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryPoint {
    /// The kernel's symbol, or `irq<vector>`.
    pub(super) name: String,
    /// An exception that comes before the instruction it names has retired; an interrupt comes after the last one.
    pub(super) is_fault: bool,
}

/// Entry points by address.
pub(super) type EntryPoints = HashMap<u64, EntryPoint>;

/// Reads lines of address (hexadecimal), `F` (fault) or `I` (interrupt or trap), name.
///
/// # Errors
/// [`Error::File`].
pub(super) fn read_entry_points(path: &Path) -> Result<EntryPoints, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_fault = words.next()? == "F";
        Some((address, EntryPoint { name: words.next()?.to_owned(), is_fault }))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Can `next` come right after `instruction` has retired, with nothing in between?
pub(super) fn leads_to(instruction: &Instruction, next: u64) -> bool {
    match instruction.class {
        Class::Plain | Class::PageTable | Class::PtWrite | Class::Mwait => next == instruction.next(),
        Class::Conditional => next == instruction.next() || next == instruction.target,
        Class::Jump | Class::Call => next == instruction.target,
        Class::IndirectJump
        | Class::IndirectCall
        | Class::Return
        | Class::Syscall
        | Class::Far
        | Class::SoftwareInterrupt => true,
    }
}
