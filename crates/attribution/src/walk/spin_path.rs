//! What ran since a loop's head: the blocks of an iteration, in order.
//!
//! Input: the blocks as they run. An iteration may hold loops: of rounds of these that are alike, one after the other, one is kept, so that
//! an iteration that reads a lot is as long as one that reads little. Invariant: execution went from each block to the next.

use std::ops::Range;

use pt::{Block, BlockEnd};

/// The longest jump that makes a loop, in bytes.
const LONGEST: u64 = 512;

/// See the module.
#[derive(Default)]
pub(super) struct Path {
    pub(super) blocks: Vec<Block>,
    /// A hash of their addresses.
    pub(super) hash: u64,
    /// What runs is another round of the loop at the end.
    again: Option<Round>,
    /// The rounds that were kept of inner loops, by the indices of their blocks.
    rounds: Vec<Range<usize>>,
    /// How many blocks ran, with all rounds.
    ran: usize,
}

/// A round of an inner loop like the ones before it.
#[derive(Clone, Copy)]
struct Round {
    /// The index of its first block; the last block of a round is the last of all.
    begin: usize,
    /// The index of the next one.
    next: usize,
}

impl Path {
    pub(super) fn of(blocks: &[Block]) -> Path {
        let mut path = Path { ran: blocks.len(), ..Path::default() };
        for block in blocks {
            path.add(block);
        }
        path
    }

    /// A path that begins with `block`.
    pub(super) fn anew(mut self, block: &Block) -> Path {
        self.blocks.clear();
        self.rounds.clear();
        (self.hash, self.again, self.ran) = (0, None, 1);
        self.add(block);
        self
    }

    /// Whether an inner loop goes on like before.
    pub(super) fn repeats(&self) -> bool {
        self.again.is_some()
    }

    /// Whether it held an inner loop of several rounds that were alike.
    pub(super) fn has_rounds(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// One round of each such loop.
    pub(super) fn rounds(&self) -> impl Iterator<Item = &[Block]> {
        self.rounds.iter().map(|round| &self.blocks[round.clone()])
    }

    /// How many blocks ran, with all rounds.
    pub(super) fn ran(&self) -> usize {
        self.ran
    }

    /// `block` runs next.
    pub(super) fn push(&mut self, block: &Block) {
        self.ran += 1;
        if let Some(round) = &mut self.again {
            if is_same(&self.blocks[round.next], block) {
                round.next += 1;
                if round.next == self.blocks.len() {
                    round.next = round.begin;
                }
                return;
            }
            self.end_round();
        }
        self.add(block);
        self.notice_round();
    }

    /// What began as a round like the ones before went on otherwise, or is all.
    pub(super) fn end_round(&mut self) {
        let Some(round) = self.again.take() else { return };
        for index in round.begin..round.next {
            let block = self.blocks[index];
            self.add(&block);
        }
    }

    fn add(&mut self, block: &Block) {
        // Fibonacci hashing, as of short keys of few words elsewhere.
        let word = block.ip ^ block.end_ip.rotate_left(32);
        self.hash = (self.hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.blocks.push(*block);
    }

    /// Forgets the second of two rounds that were alike, where the last block begins a third one.
    fn notice_round(&mut self) {
        let [before @ .., last, block] = &self.blocks[..] else { return };
        if !jumps_back(last, block) {
            return;
        }
        let third = before.len() + 1;
        let Some(second) = self.blocks[..third].iter().rposition(|known| known.ip == block.ip) else {
            return;
        };
        let Some(first) = second.checked_sub(third - second) else { return };
        let are_alike = |(one, other): (&Block, &Block)| is_same(one, other);
        let goes_on = is_same(&self.blocks[first], block);
        if goes_on && self.blocks[first..second].iter().zip(&self.blocks[second..third]).all(are_alike) {
            let next = if third - second == 1 { first } else { first + 1 };
            let kept = std::mem::take(&mut self.blocks);
            self.hash = 0;
            kept[..second].iter().for_each(|block| self.add(block));
            self.again = Some(Round { begin: first, next });
            // What is nested in it stays: it lies before the end.
            let round = first..second;
            self.rounds.retain(|known| known.end <= second && *known != round);
            self.rounds.push(round);
        }
    }
}

fn is_same(one: &Block, other: &Block) -> bool {
    (one.ip, one.end_ip) == (other.ip, other.end_ip)
}

/// Whether execution went from `last` back to `block`, as in a short loop.
pub(super) fn jumps_back(last: &Block, block: &Block) -> bool {
    let jump = matches!(last.end, BlockEnd::ConditionalBranch | BlockEnd::Jump);
    jump && block.ip <= last.end_ip && last.end_ip - block.ip < LONGEST
}

#[cfg(test)]
mod tests;
