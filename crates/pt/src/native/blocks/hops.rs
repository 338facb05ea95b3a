//! From one branch that needs a packet to the next: blocks that direct jumps and calls lead through, as one.
//!
//! ```text
//! block ─jump→ block ─call→ block, jcc        a hop of three blocks, with one return address to keep
//!                                  ├─0→ hop
//!                                  └─1→ hop
//! ```
//!
//! A hop has the number of its first block. It stays within a section or the kernel, for its blocks are linked, and it is short: a
//! circle of direct jumps is none. Where a hop is not possible, execution goes on block by block.

use super::block::{Exit, LOOSE, NONE, Source};
use super::prefix::Wanted;
use super::{CodeMap, ON_HOPS};

/// Most blocks and instructions of a hop.
const MOST_BLOCKS: u8 = 64;
const MOST_INSTRUCTIONS: u32 = 4096;

/// What ends a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Turn {
    /// It was not looked for yet.
    Unknown,
    /// There is none from this block.
    Never,
    /// A conditional branch.
    Branch,
    /// A near return.
    Return,
    /// An indirect jump or a far transfer: a TIP.
    Target,
    /// An indirect call: a TIP.
    CallTarget,
}

/// The way from a block to the next branch that needs a packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Hop {
    /// The hops after the branch, not taken and taken, once known and where they may be linked.
    pub(in crate::native) links: [u32; 2],
    /// Instructions, that of the branch included.
    pub(in crate::native) instructions: u32,
    /// The block with the branch.
    pub(in crate::native) last: u32,
    /// The only block that ends with a call, where there is one.
    pub(in crate::native) call: u32,
    /// How many blocks end with a call that leaves a return address.
    pub(in crate::native) calls: u8,
    /// How many blocks it has.
    pub(in crate::native) blocks: u8,
    pub(in crate::native) turn: Turn,
    /// Whether its branch lies in the kernel.
    pub(in crate::native) kernel: bool,
    /// Whether it ends with a conditional branch and has no call.
    pub(in crate::native) is_plain: bool,
}

impl Hop {
    /// Not looked for yet.
    pub(super) const UNKNOWN: Hop = Hop {
        links: [NONE; 2],
        instructions: 0,
        last: NONE,
        call: NONE,
        calls: 0,
        blocks: 0,
        turn: Turn::Unknown,
        kernel: false,
        is_plain: false,
    };
    /// Of [`LOOSE`].
    pub(super) const NEVER: Hop = Hop { turn: Turn::Never, ..Hop::UNKNOWN };
}

impl CodeMap {
    /// The hop from the block with this number, looked for if it is not known.
    pub(in crate::native) fn hop(&mut self, number: u32, source: &Source<'_>) -> Hop {
        let known = self.hops[number as usize];
        if known.turn != Turn::Unknown {
            return known;
        }
        let generation = self.generation;
        let hop = self.find_hop(number, source).unwrap_or(Hop::NEVER);
        if generation != self.generation {
            // No number means anything now.
            return Hop::NEVER;
        }
        self.hops[number as usize] = hop;
        hop
    }

    fn find_hop(&mut self, first: u32, source: &Source<'_>) -> Option<Hop> {
        let mut hop = Hop { last: first, ..Hop::UNKNOWN };
        loop {
            let block = self.blocks[hop.last as usize];
            if self.is_watched(&block) {
                return None;
            }
            hop.instructions += u32::from(block.instructions);
            hop.blocks += 1;
            hop.turn = match block.exit {
                Exit::Branch => Turn::Branch,
                Exit::Return => Turn::Return,
                Exit::Indirect | Exit::Far => Turn::Target,
                Exit::IndirectCall => Turn::CallTarget,
                Exit::Border | Exit::OverMark => return None,
                Exit::Long | Exit::Jump | Exit::Call => {
                    if hop.blocks >= MOST_BLOCKS || hop.instructions >= MOST_INSTRUCTIONS {
                        return None;
                    }
                    if block.leaves_address() {
                        (hop.call, hop.calls) = (hop.last, hop.calls + 1);
                    }
                    hop.last = self.follow(hop.last, block.exit != Exit::Long, source)?;
                    continue;
                }
            };
            hop.kernel = block.ip >> 63 != 0;
            hop.is_plain = hop.turn == Turn::Branch && hop.calls == 0;
            hop.links = [block.next_link, block.target_link];
            return Some(hop);
        }
    }

    /// The block that follows a block at its end, if the two may be linked.
    pub(in crate::native) fn follow(&mut self, from: u32, taken: bool, source: &Source<'_>) -> Option<u32> {
        let block = self.blocks[from as usize];
        let (ip, link) = block.way(taken);
        if link != NONE {
            return Some(link);
        }
        let generation = self.generation;
        self.last = self.section_at(block.ip)?;
        if !self.may_link(block.ip, ip) {
            return None;
        }
        let to = self.at(ip, source).ok()?;
        if to == LOOSE || generation != self.generation {
            return None;
        }
        self.link(from, taken, to);
        let (_, link) = self.blocks[from as usize].way(taken);
        (link != NONE).then_some(link)
    }

    /// Whether execution comes to the instruction at `ip`, and beyond it without a branch of its own, on the hop `number`, if there is one.
    pub(in crate::native) fn lies_on_hop(&mut self, number: u32, ip: u64) -> bool {
        let Some(hop) = self.hops.get(number as usize) else { return false };
        if matches!(hop.turn, Turn::Unknown | Turn::Never) {
            return false;
        }
        #[allow(clippy::cast_possible_truncation, reason = "a hash")]
        let slot = (ip ^ u64::from(number)) as usize % ON_HOPS;
        if self.on_hops[slot] == (number, ip) {
            return true;
        }
        let part = self.blocks_in(number, hop).find_map(|block| self.prefix(block, Wanted::With(ip)));
        let found = part.is_some_and(|part| part.block.exit == Exit::Border);
        if found {
            self.on_hops[slot] = (number, ip);
        }
        found
    }

    /// The numbers of the blocks of `hop`, which begins with block `number`.
    pub(super) fn blocks_in(&self, number: u32, hop: &Hop) -> impl Iterator<Item = u32> {
        let blocks = std::iter::successors(Some(number), |&number| Some(self.block(number).way_on()));
        blocks.take(usize::from(hop.blocks))
    }

    /// The hop after the branch of hop `number`, if it was remembered.
    #[inline]
    pub(in crate::native) fn linked(&mut self, number: u32, taken: bool) -> u32 {
        let hop = &mut self.hops[number as usize];
        let link = &mut hop.links[usize::from(taken)];
        if *link == NONE {
            (_, *link) = self.blocks[hop.last as usize].way(taken);
        }
        *link
    }
}
