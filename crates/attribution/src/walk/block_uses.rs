//! Counts how often each block of user code runs.
//!
//! ```text
//! block ──→ the slot of its node and address ──→ one more          a loop's blocks run again and again
//!                  └─ another one's: that one's count ──→ UserCode
//! ```
//!
//! What [`UserCode`] has is complete after [`BlockUses::settle`].

use pt::Block;

use super::user_code::{BlockUse, NodeKey, UserCode};

/// The blocks that are found without a hash map, as a power of two.
const SLOT_BITS: u32 = 9;

/// What makes a slot of a node and an address.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A block of a node, and how often it ran since it has the slot.
type Slot = ((NodeKey, u64), BlockUse);

/// See the module.
#[derive(Default)]
pub(super) struct BlockUses {
    slots: Vec<Slot>,
}

impl BlockUses {
    /// `block` of `node` runs; the result is how many of its code lines did not run before.
    pub(super) fn run(&mut self, node: NodeKey, block: &Block, code: &mut UserCode) -> u64 {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); 1 << SLOT_BITS];
        }
        let key = (node, block.ip);
        #[allow(clippy::cast_possible_truncation)] // Few bits.
        let slot = ((node.bits() ^ block.ip).wrapping_mul(SPREAD) >> (u64::BITS - SLOT_BITS)) as usize;
        let (held, used) = &mut self.slots[slot];
        let mut new_lines = 0;
        if *held != key || used.executions == 0 {
            code.add_use(*held, *used);
            (*held, *used) = (key, BlockUse::default());
            new_lines = code.meet(key, block);
        }
        used.executions += 1;
        used.instructions += u64::from(block.instructions);
        new_lines
    }

    /// Gives `code` all that it does not have yet.
    pub(super) fn settle(&mut self, code: &mut UserCode) {
        for (key, used) in self.slots.drain(..) {
            code.add_use(key, used);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Tsc;
    use pt::{BlockEnd, TimeBounds};

    use super::*;

    fn block(ip: u64, end_ip: u64) -> Block {
        let time = TimeBounds::between(Tsc(0), Tsc(0));
        let (end, bits, kernel, thread, aux_offset) = (BlockEnd::Jump, 64, false, None, 0);
        Block { ip, end_ip, instructions: 10, end, bits, kernel, thread, time, aux_offset }
    }

    /// Bytes 0x1010 to 0x1043: windows 0x1000, 0x1020 and 0x1040 in lines 0x1000 and 0x1040.
    #[test]
    fn lines_and_windows_are_counted_once() {
        let (mut uses, mut code) = (BlockUses::default(), UserCode::default());
        let node = code.node(NodeKey::default(), None);
        assert_eq!(uses.run(node, &block(0x1010, 0x1043), &mut code), 2);
        assert_eq!(uses.run(node, &block(0x1010, 0x1043), &mut code), 0);
        assert_eq!(uses.run(node, &block(0x1030, 0x1038), &mut code), 0);
        assert_eq!((code.footprint.lines(), code.footprint.windows()), (2, 3));
        assert_eq!(uses.run(node, &block(0x1060, 0x1061), &mut code), 0, "its line ran already");
        assert_eq!(code.footprint.windows(), 4);
        uses.settle(&mut code);
        assert_eq!(code.blocks[&(node, 0x1010)], BlockUse { executions: 2, instructions: 20 });
        assert_eq!(code.blocks.len(), 3);
    }

    /// More blocks than there are slots, each of them three times, in two nodes.
    #[test]
    fn blocks_that_take_turns_in_a_slot_are_counted_like_others() {
        let (mut uses, mut code) = (BlockUses::default(), UserCode::default());
        let node = code.node(NodeKey::default(), None);
        for _ in 0..3 {
            for at in 0..2 << SLOT_BITS {
                uses.run(node, &block(0x1000 + at * 8, 0x1004 + at * 8), &mut code);
                uses.run(NodeKey::default(), &block(0x1000 + at * 8, 0x1004 + at * 8), &mut code);
            }
        }
        uses.settle(&mut code);
        assert_eq!(code.blocks.len(), 4 << SLOT_BITS);
        assert!(code.blocks.values().all(|&used| used == BlockUse { executions: 3, instructions: 30 }));
    }
}
