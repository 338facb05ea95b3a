//! Code as blocks, each decoded once, and found by address without a hash.
//!
//! ```text
//! epoch ──→ sections (sorted) ──→ pages of 1 KiB of code ──→ block numbers, one slot per byte
//!                                       ↑ the last ones used, direct-mapped
//! block: 12 instructions, jcc  ──not taken──→ block number
//!                              ──taken──────→ block number
//! ```
//!
//! A section is a piece of a file at an address; epochs that map it share its blocks. Links lead within a section
//! only, for what lies outside depends on the epoch. Code in no section may change at any time and is decoded at each
//! visit ([`LOOSE`]). Invariant: the blocks and pages kept stay below [`MOST_BYTES`]; where they would not, all go.

mod decode;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::{CodeBytes, CodeEpoch, Pid, Tsc};

use crate::flow::BlockEnd;

pub(super) use decode::{Prefix, Wanted, prefix};

/// The number of the block that is decoded anew at each visit.
pub(super) const LOOSE: u32 = 0;
/// No block.
pub(super) const NONE: u32 = u32::MAX;
/// Most bytes of blocks and pages kept.
const MOST_BYTES: usize = 1 << 30;
/// Bytes of code for each page of slots, as a power of two.
const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;
/// Pages found at once.
const RECENT: usize = 1 << 10;
/// Most epochs known, as each has a list of its sections.
const MOST_SPACES: usize = 512;

/// How execution leaves a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// On to the next instruction: the block is long enough.
    Long,
    /// On to the next instruction, in another section or in none.
    Border,
    /// By a direct jump.
    Jump,
    /// By a direct call.
    Call,
    /// By a conditional branch: a bit says which way.
    Branch,
    /// By a near return: a taken bit or a TIP.
    Return,
    /// By an indirect jump: a TIP.
    Indirect,
    /// By an indirect call: a TIP.
    IndirectCall,
    /// By a far transfer: a TIP.
    Far,
}

/// Instructions one after the other in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Address of the first instruction.
    pub(super) ip: u64,
    /// Address of the last one.
    pub(super) end_ip: u64,
    /// The address after it.
    pub(super) next: u64,
    /// Where its direct branch leads.
    pub(super) target: u64,
    /// How many instructions.
    pub(super) instructions: u16,
    pub(super) exit: Exit,
    pub(super) end: BlockEnd,
    /// Whether packets may bind to an instruction inside: PTWRITE, MOV CR3.
    pub(super) holds_bound: bool,
    /// The blocks at `next` and `target`, once known and within the section.
    pub(super) next_link: u32,
    pub(super) target_link: u32,
}

/// Which code cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// No byte is known.
    NoCode(u64),
    /// Its bytes are not those of a whole instruction.
    NoInstruction(u64),
}

/// Where code is read from, now.
#[derive(Clone, Copy)]
pub(super) struct Source<'c> {
    pub(super) code: &'c dyn CodeBytes,
    pub(super) pid: Pid,
    pub(super) at: Tsc,
    /// 16, 32 or 64.
    pub(super) bits: u8,
}

/// The sections of an epoch in one execution mode.
#[derive(Default)]
struct Space {
    sections: Vec<(Range<u64>, u32)>,
}

/// What makes a section another one.
#[derive(PartialEq, Eq, Hash)]
struct SectionKey {
    file: Arc<PathBuf>,
    file_offset: u64,
    range: Range<u64>,
    bits: u8,
}

/// All blocks known.
pub(super) struct CodeMap {
    blocks: Vec<Block>,
    pages: Vec<Box<[u32; PAGE]>>,
    /// Which page has the slots of which section's and which KiB's code.
    page_numbers: HashMap<(u32, u64), u32>,
    recent: Vec<(u32, u64, u32)>,
    sections: HashMap<SectionKey, u32>,
    spaces: HashMap<(u64, u8), Arc<Space>>,
    space: Arc<Space>,
    /// Index in `space` of the section found last.
    last: usize,
    most_bytes: usize,
    /// How often all blocks went: numbers from before mean nothing.
    generation: u64,
}

impl CodeMap {
    pub(super) fn new() -> CodeMap {
        let mut map = CodeMap {
            blocks: Vec::new(),
            pages: Vec::new(),
            page_numbers: HashMap::new(),
            recent: Vec::new(),
            sections: HashMap::new(),
            spaces: HashMap::new(),
            space: Arc::new(Space::default()),
            last: 0,
            most_bytes: MOST_BYTES,
            generation: 0,
        };
        map.clear();
        map
    }

    /// Finds code as it is mapped in `epoch`, run in a mode of so many bits, from now on.
    pub(super) fn select(&mut self, epoch: &CodeEpoch, bits: u8) {
        self.last = 0;
        if let Some(space) = self.spaces.get(&(epoch.id, bits)) {
            self.space = Arc::clone(space);
            return;
        }
        if self.spaces.len() >= MOST_SPACES {
            self.spaces.clear();
            self.sections.clear();
            self.clear();
        }
        let mut space = Space::default();
        for section in epoch.sections.iter() {
            let number = u32::try_from(self.sections.len()).unwrap_or(NONE);
            let key = SectionKey {
                file: Arc::clone(&section.file),
                file_offset: section.file_offset,
                range: section.range.clone(),
                bits,
            };
            let number = *self.sections.entry(key).or_insert(number);
            space.sections.push((section.range.clone(), number));
        }
        self.space = Arc::new(space);
        self.spaces.insert((epoch.id, bits), Arc::clone(&self.space));
    }

    pub(super) fn block(&self, number: u32) -> &Block {
        &self.blocks[number as usize]
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Remembers that `to` follows `from` at its `next` or, with `taken`, at its `target`.
    pub(super) fn link(&mut self, from: u32, taken: bool, to: u32) {
        let Some(&Block { ip, .. }) = self.blocks.get(to as usize) else { return };
        if from == LOOSE || to == LOOSE || !self.same_section(self.blocks[from as usize].ip, ip) {
            return;
        }
        let block = &mut self.blocks[from as usize];
        *(if taken { &mut block.target_link } else { &mut block.next_link }) = to;
    }

    fn same_section(&self, one: u64, other: u64) -> bool {
        let section = self.space.sections.get(self.last);
        section.is_some_and(|(range, _)| range.contains(&one) && range.contains(&other))
    }

    /// The block that begins at `ip`.
    pub(super) fn at(&mut self, ip: u64, source: &Source<'_>) -> Result<u32, Missing> {
        let Some(index) = self.section_at(ip) else {
            let end = self.space.sections.partition_point(|(range, _)| range.start <= ip);
            let end = self.space.sections.get(end).map_or(u64::MAX, |(range, _)| range.start);
            return self.decode_loose(ip, end, source);
        };
        self.last = index;
        let (Range { start, end }, section) = self.space.sections[index].clone();
        let offset = ip - start;
        let page = self.page(section, offset >> PAGE_BITS);
        #[allow(clippy::cast_possible_truncation, reason = "below PAGE")]
        let slot = (offset as usize) % PAGE;
        let known = self.pages[page as usize][slot];
        if known != LOOSE {
            return Ok(known);
        }
        match decode::block(ip, end, source)? {
            Some(block) => {
                let number = u32::try_from(self.blocks.len()).unwrap_or(NONE - 1);
                self.blocks.push(block);
                self.pages[page as usize][slot] = number;
                Ok(number)
            }
            // It begins in this section and ends in another.
            None => self.decode_loose(ip, ip.saturating_add(1), source),
        }
    }

    /// Index of the section that holds `ip`.
    #[inline]
    fn section_at(&self, ip: u64) -> Option<usize> {
        let sections = &self.space.sections;
        if sections.get(self.last).is_some_and(|(range, _)| range.contains(&ip)) {
            return Some(self.last);
        }
        let index = sections.partition_point(|(range, _)| range.end <= ip);
        sections.get(index).filter(|(range, _)| range.start <= ip).map(|_| index)
    }

    fn decode_loose(&mut self, ip: u64, end: u64, source: &Source<'_>) -> Result<u32, Missing> {
        self.blocks[LOOSE as usize] = decode::loose(ip, end, source)?;
        Ok(LOOSE)
    }

    /// The page of the KiB `number` of a section's code, made when first requested.
    fn page(&mut self, section: u32, number: u64) -> u32 {
        #[allow(clippy::cast_possible_truncation, reason = "a hash")]
        let recent = (number ^ u64::from(section) << 4) as usize % RECENT;
        let (known_section, known_number, page) = self.recent[recent];
        if (known_section, known_number) == (section, number) {
            return page;
        }
        let page = match self.page_numbers.get(&(section, number)) {
            Some(&page) => page,
            None => self.new_page(section, number),
        };
        self.recent[recent] = (section, number, page);
        page
    }

    fn new_page(&mut self, section: u32, number: u64) -> u32 {
        let held = self.pages.len() * size_of::<[u32; PAGE]>() + self.blocks.len() * size_of::<Block>();
        if held > self.most_bytes {
            self.clear();
        }
        let page = u32::try_from(self.pages.len()).unwrap_or(NONE);
        self.pages.push(Box::new([LOOSE; PAGE]));
        self.page_numbers.insert((section, number), page);
        page
    }

    /// Forgets all blocks.
    fn clear(&mut self) {
        self.generation += 1;
        self.blocks.clear();
        self.blocks.push(decode::NOTHING);
        self.pages.clear();
        self.page_numbers.clear();
        self.recent = vec![(NONE, u64::MAX, NONE); RECENT];
    }
}

#[cfg(test)]
mod tests;
