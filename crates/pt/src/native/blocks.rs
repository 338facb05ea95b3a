//! Code as blocks, each decoded once, and found by address without a hash.
//!
//! ```text
//! epoch ──→ sections (sorted) ──→ pages of 1 KiB of code ──→ block numbers, one slot per byte
//!                                       ↑ the last ones used, direct-mapped
//! block: 12 instructions, jcc  ──not taken──→ block number
//!                              ──taken──────→ block number
//! hop:   block, jmp → block, call → block, jcc   one step for all that need no packet
//! stride: hop ─1→ hop ─0→ hop ─1→ hop            one look for all bits of a TNT
//! ```
//!
//! A section is a piece of a file at an address; epochs that map it share its blocks. Links lead within a section
//! only, for what lies outside depends on the epoch; but the sections of the kernel, which poked code cuts into many, are
//! linked with each other, and shared by the epochs with the same kernel. Code in no section may change at any time and is decoded at each
//! visit ([`LOOSE`]). Invariant: the blocks and pages kept stay below [`MOST_BYTES`]; where they would not, all go.

mod block;
mod decode;
mod hops;
mod mark;
mod prefix;
mod strides;
mod watch;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::{CodeEpoch, CodeSection};

use mark::Mark;

pub(super) use block::{Block, Exit, LOOSE, Missing, NONE, Source};
pub(super) use hops::{Hop, Turn};
pub(super) use prefix::{Prefix, Wanted};
pub(super) use strides::Stride;
use strides::Strides;

use crate::sink::WatchedCalls;

/// Most bytes of blocks and pages kept.
const MOST_BYTES: usize = 1 << 30;
/// Bytes of code for each page of slots, as a power of two.
const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;
/// Pages found at once.
const RECENT: usize = 1 << 10;
/// Targets of indirect branches found at once.
const TARGETS: usize = 1 << 12;
/// Instructions known to lie on a hop at once.
const ON_HOPS: usize = 1 << 6;
/// Most epochs known, as each has a list of its sections.
const MOST_SPACES: usize = 512;

/// The sections of an epoch in one execution mode.
#[derive(Default)]
struct Space {
    /// No other one has it.
    number: u64,
    sections: Vec<(Range<u64>, u32)>,
}

/// What makes a section another one.
#[derive(PartialEq, Eq, Hash)]
struct SectionKey {
    file: Arc<PathBuf>,
    file_offset: u64,
    range: Range<u64>,
    bits: u8,
    /// Which kernel it belongs to, if it does.
    kernel: Option<u32>,
}

/// All blocks known.
pub(super) struct CodeMap {
    blocks: Vec<Block>,
    /// For each block the hop that begins with it.
    hops: Vec<Hop>,
    strides: Strides,
    watched: Option<WatchedCalls>,
    /// A mark for each instruction, block by block; and those of the block [`LOOSE`].
    marks: Vec<Mark>,
    loose_marks: Vec<Mark>,
    /// By address and space: the blocks at targets of indirect branches.
    targets: Vec<(u64, u64, u32)>,
    /// Hops and instructions that lie on them.
    on_hops: Vec<(u32, u64)>,
    pages: Vec<Box<[u32; PAGE]>>,
    /// Which page has the slots of which section's and which KiB's code.
    page_numbers: HashMap<(u32, u64), u32>,
    recent: Vec<(u32, u64, u32)>,
    sections: HashMap<SectionKey, u32>,
    /// Numbers of kernels, by their sections.
    kernels: HashMap<Vec<SectionKey>, u32>,
    spaces: HashMap<(u64, u8), Arc<Space>>,
    space: Arc<Space>,
    /// Index in `space` of the section found last.
    last: usize,
    most_bytes: usize,
    /// How often all blocks went: numbers from before mean nothing.
    generation: u64,
    spaces_made: u64,
}

impl CodeMap {
    pub(super) fn new() -> CodeMap {
        let mut map = CodeMap {
            blocks: Vec::new(),
            hops: Vec::new(),
            strides: Strides::default(),
            watched: None,
            marks: Vec::new(),
            loose_marks: Vec::new(),
            targets: Vec::new(),
            on_hops: Vec::new(),
            pages: Vec::new(),
            page_numbers: HashMap::new(),
            recent: Vec::new(),
            sections: HashMap::new(),
            kernels: HashMap::new(),
            spaces: HashMap::new(),
            space: Arc::new(Space::default()),
            last: 0,
            most_bytes: MOST_BYTES,
            generation: 0,
            spaces_made: 0,
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
            self.kernels.clear();
            self.clear();
        }
        self.spaces_made += 1;
        let mut space = Space { number: self.spaces_made, ..Space::default() };
        let key = |section: &CodeSection, kernel| SectionKey {
            file: Arc::clone(&section.file),
            file_offset: section.file_offset,
            range: section.range.clone(),
            bits,
            kernel,
        };
        let of_kernel = epoch.sections.iter().filter(|section| is_kernel(section.range.start));
        let of_kernel: Vec<SectionKey> = of_kernel.map(|section| key(section, None)).collect();
        let kernel = u32::try_from(self.kernels.len()).unwrap_or(NONE);
        let kernel = *self.kernels.entry(of_kernel).or_insert(kernel);
        for section in epoch.sections.iter() {
            let number = u32::try_from(self.sections.len()).unwrap_or(NONE);
            let key = key(section, is_kernel(section.range.start).then_some(kernel));
            let number = *self.sections.entry(key).or_insert(number);
            space.sections.push((section.range.clone(), number));
        }
        self.space = Arc::new(space);
        self.spaces.insert((epoch.id, bits), Arc::clone(&self.space));
    }

    pub(super) fn block(&self, number: u32) -> &Block {
        &self.blocks[number as usize]
    }

    /// All hops, by the numbers of their first blocks.
    #[inline]
    pub(super) fn hops(&self) -> &[Hop] {
        &self.hops
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Remembers that `to` follows `from` at its `next` or, with `taken`, at its `target`.
    pub(super) fn link(&mut self, from: u32, taken: bool, to: u32) {
        let Some(&Block { ip, .. }) = self.blocks.get(to as usize) else { return };
        if from == LOOSE || to == LOOSE || !self.may_link(self.blocks[from as usize].ip, ip) {
            return;
        }
        let block = &mut self.blocks[from as usize];
        *(if taken { &mut block.target_link } else { &mut block.next_link }) = to;
    }

    /// Whether wherever the code at `one` is mapped, that at `other` is, too: in a section.
    fn may_link(&self, one: u64, other: u64) -> bool {
        match (self.section_at(one), self.section_at(other)) {
            (Some(from), Some(to)) => from == to || is_kernel(one) && is_kernel(other),
            _ => false,
        }
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
        match decode::block(ip, end, source, &mut self.marks)? {
            Some(block) => {
                let number = u32::try_from(self.blocks.len()).unwrap_or(NONE - 1);
                self.blocks.push(block);
                self.hops.push(Hop::UNKNOWN);
                self.pages[page as usize][slot] = number;
                Ok(number)
            }
            // It begins in this section and ends in another.
            None => self.decode_loose(ip, ip.saturating_add(1), source),
        }
    }

    /// The block that begins at `ip`, where an indirect branch led.
    pub(super) fn at_target(&mut self, ip: u64, source: &Source<'_>) -> Result<u32, Missing> {
        let known = self.known_target(ip);
        if known != NONE {
            return Ok(known);
        }
        let number = self.at(ip, source)?;
        if number != LOOSE {
            self.targets[target_slot(ip)] = (ip, self.space.number, number);
        }
        Ok(number)
    }

    /// The same, if it is among those that are found at once; or [`NONE`].
    #[inline]
    pub(super) fn known_target(&self, ip: u64) -> u32 {
        let (known, space, number) = self.targets[target_slot(ip)];
        if known == ip && space == self.space.number { number } else { NONE }
    }

    /// The part of the block with this number up to what is wanted, if it is there.
    pub(super) fn prefix(&self, number: u32, wanted: Wanted) -> Option<Prefix> {
        let block = self.block(number);
        let marks = match block.marks {
            NONE => &self.loose_marks,
            first => &self.marks[first as usize..],
        };
        prefix::prefix(block, &marks[..usize::from(block.instructions)], wanted)
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
        self.blocks[LOOSE as usize] = decode::loose(ip, end, source, &mut self.loose_marks)?;
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
        if self.held() > self.most_bytes {
            self.clear();
        }
        let page = u32::try_from(self.pages.len()).unwrap_or(NONE);
        self.pages.push(Box::new([LOOSE; PAGE]));
        self.page_numbers.insert((section, number), page);
        page
    }

    /// Bytes of what grows with the code met.
    fn held(&self) -> usize {
        self.pages.len() * size_of::<[u32; PAGE]>()
            + self.blocks.len() * (size_of::<Block>() + size_of::<Hop>())
            + self.marks.len() * size_of::<Mark>()
    }

    /// Forgets all blocks.
    fn clear(&mut self) {
        self.generation += 1;
        self.blocks.clear();
        self.blocks.push(decode::NOTHING);
        self.hops.clear();
        self.hops.push(Hop::NEVER);
        self.strides = Strides::default();
        self.marks.clear();
        self.targets = vec![(0, 0, NONE); TARGETS];
        self.on_hops = vec![(NONE, 0); ON_HOPS];
        self.pages.clear();
        self.page_numbers.clear();
        self.recent = vec![(NONE, u64::MAX, NONE); RECENT];
    }
}

/// Whether code at `address` is the kernel's.
pub(super) fn is_kernel(address: u64) -> bool {
    address >> 63 != 0
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "a hash")]
fn target_slot(ip: u64) -> usize {
    (ip ^ ip >> 12) as usize % TARGETS
}

#[cfg(test)]
mod tests;
