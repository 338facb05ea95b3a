//! What ran before a loop was seen to be one.
//!
//! A jump back shows a loop when its first iteration is over. That one, and others that ran another way, is code that later iterations run,
//! too. What led there is other code.

use model::Tsc;
use pt::{Block, BlockEnd};

/// How many blocks are kept: some iterations.
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
#[derive(Default)]
pub(super) struct Before {
    blocks: Vec<Ran>,
    /// Where the next one is put.
    next: usize,
}

impl Before {
    /// `block` runs at `at`.
    pub(super) fn push(&mut self, block: &Block, at: Tsc) {
        let calls = block.end == BlockEnd::FarCall;
        self.keep(Ran { ip: block.ip, end_ip: block.end_ip, calls, at });
    }

    fn keep(&mut self, ran: Ran) {
        if self.blocks.len() < MOST_BEFORE {
            self.blocks.push(ran);
        } else {
            self.blocks[self.next] = ran;
            self.next = (self.next + 1) % MOST_BEFORE;
        }
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.next = 0;
    }

    /// Those that ran up to `at`, the last one first.
    pub(super) fn up_to(&self, at: Tsc) -> Vec<Ran> {
        let (older, newer) = (&self.blocks[self.next..], &self.blocks[..self.next]);
        newer.iter().rev().chain(older.iter().rev()).skip_while(|ran| ran.at > at).copied().collect()
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
