//! What ran before a loop was seen to be one.
//!
//! A jump back shows a loop when its first iteration is over. That one, and others that ran another way, is code that later iterations run,
//! too. What led there is other code.

use model::Tsc;
use pt::{Block, BlockEnd};

/// How many blocks are kept: some iterations. A power of two.
const MOST_BEFORE: usize = 256;

/// A block by its first and its last instruction, and when it ran.
#[derive(Clone, Copy, Default)]
pub(super) struct Ran {
    pub(super) ip: u64,
    pub(super) end_ip: u64,
    /// Whether a system call ended it.
    pub(super) calls: bool,
    at: Tsc,
}

/// The last blocks that ran, in turn.
pub(super) struct Before {
    blocks: Box<[Ran; MOST_BEFORE]>,
    /// How many ran; the next one is put at this place, modulo.
    count: usize,
}

impl Default for Before {
    fn default() -> Before {
        Before { blocks: Box::new([Ran::default(); MOST_BEFORE]), count: 0 }
    }
}

impl Before {
    /// `block` runs at `at`.
    pub(super) fn push(&mut self, block: &Block, at: Tsc) {
        let calls = block.end == BlockEnd::FarCall;
        self.keep(Ran { ip: block.ip, end_ip: block.end_ip, calls, at });
    }

    fn keep(&mut self, ran: Ran) {
        self.blocks[self.count % MOST_BEFORE] = ran;
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Those that ran up to `at`, the last one first.
    pub(super) fn up_to(&self, at: Tsc) -> Vec<Ran> {
        let kept = self.count.saturating_sub(MOST_BEFORE)..self.count;
        let last_first = kept.rev().map(|count| self.blocks[count % MOST_BEFORE]);
        last_first.skip_while(|ran| ran.at > at).collect()
    }
}

/// When the wait in the loop of the blocks `known`, each by its first and its last instruction, began, of which `before` ran, the last one first, up
/// to `since`. A block that leads into the loop from above ends as one of the loop's does. In a loop that pauses the wait begins with the first
/// block that `pauses`: who looks first looks for work.
pub(super) fn entered(
    before: &[Ran],
    known: &[(u64, u64)],
    since: Tsc,
    mut pauses: impl FnMut(&Ran) -> bool,
) -> Tsc {
    let is_known = |ran: &&Ran| known.iter().any(|(_, end)| *end == ran.end_ip);
    let first = before.iter().take_while(is_known).filter(|ran| pauses(ran)).last();
    first.map_or(since, |ran| ran.at)
}

#[cfg(test)]
mod tests;
