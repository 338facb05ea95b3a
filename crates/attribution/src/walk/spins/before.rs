//! What ran before a loop was seen to be one.
//!
//! A jump back shows a loop when its first iteration is over. That one, and others that ran another way, is code that later iterations run,
//! too. What led there is other code.

use model::{Pid, Ticks, Tsc};
use pt::{Block, BlockEnd};

use crate::inputs::functions::Functions;
use crate::walk::waits_in_place::point_to_stack;

/// How many blocks are kept: some iterations. A power of two.
const MOST_BEFORE: usize = 256;

/// After so many blocks more it is looked anew whether the same registers point to the stack.
const ASKED_AGAIN: usize = 16 * MOST_BEFORE;

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
    /// General registers that point to the stack for as long as the thread is in a loop, as bits.
    in_stack: u16,
    /// Registers of which one did not, the head of the loop, and how many blocks had run then.
    elsewhere: Option<(u16, u64, usize)>,
}

impl Default for Before {
    fn default() -> Before {
        Before { blocks: Box::new([Ran::default(); MOST_BEFORE]), count: 0, in_stack: 0, elsewhere: None }
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
        (self.count, self.in_stack, self.elsewhere) = (0, 0, None);
    }

    /// The thread is in no loop.
    pub(super) fn leave_loop(&mut self) {
        self.in_stack = 0;
    }

    /// An iteration left only these registers as they were.
    pub(super) fn keep_registers(&mut self, kept: u16) {
        self.in_stack &= kept;
    }

    /// Whether all of `registers`, bits by their numbers in machine code, point to the stack where the iterations of a loop begin, the last one with
    /// the block that ran last. They keep doing so while the thread is in the loop and no iteration changes them, though what set them is
    /// forgotten. A loop that is none is not asked about again at each iteration.
    pub(super) fn point_to_stack(
        &mut self,
        registers: u16,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> bool {
        let wanted = registers & !self.in_stack;
        if wanted == 0 {
            return true;
        }
        let head = self.last_first().next().map_or(0, |ran| ran.ip);
        let asked = |&(registers, of, count): &(u16, u64, usize)| {
            (registers, of) == (wanted, head) && self.count - count < ASKED_AGAIN
        };
        if self.elsewhere.as_ref().is_some_and(asked) {
            return false;
        }
        let blocks: Vec<(u64, u64)> = self.last_first().skip(1).map(|ran| (ran.ip, ran.end_ip)).collect();
        let all = point_to_stack(wanted, &blocks, pid, at, functions);
        if all {
            self.in_stack |= wanted;
        } else {
            self.elsewhere = Some((wanted, head, self.count));
        }
        all
    }

    /// Those that ran up to `at`, the last one first.
    pub(super) fn up_to(&self, at: Tsc) -> Vec<Ran> {
        self.last_first().skip_while(|ran| ran.at > at).collect()
    }

    /// When the first one after `at` ran, if one did.
    pub(super) fn first_after(&self, at: Tsc) -> Option<Tsc> {
        self.last_first().take_while(|ran| ran.at > at).last().map(|ran| ran.at)
    }

    fn last_first(&self) -> impl Iterator<Item = Ran> {
        let kept = self.count.saturating_sub(MOST_BEFORE)..self.count;
        kept.rev().map(|count| self.blocks[count % MOST_BEFORE])
    }
}

/// Where a wait began.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entered {
    /// The time of its first block.
    pub(super) at: Tsc,
    /// Where other code that led to it has this time, too: then the wait began later.
    pub(super) shares: Option<Shares>,
    /// The next time of a block of the wait, if it is one of `before`.
    pub(super) next: Option<Tsc>,
}

/// What has the time of a wait's first block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// How many blocks of the wait, up to the next time, or up to the last one of `before`.
    pub(super) blocks: u64,
    /// What those that led to it take, at the rate of what ran before them.
    pub(super) led: Ticks,
}

/// When the wait in the loop of the blocks `known`, each by its first and its last instruction, began, of which `before` ran, the last one first, up
/// to `since`. A block that leads into the loop from above ends as one of the loop's does. In a loop that pauses the wait begins with the first
/// block that `pauses`: who looks first looks for work.
pub(super) fn entered(
    before: &[Ran],
    known: &[(u64, u64)],
    since: Tsc,
    mut pauses: impl FnMut(&Ran) -> bool,
) -> Entered {
    let is_known = |ran: &&Ran| known.iter().any(|(_, end)| *end == ran.end_ip);
    let of_wait = before.iter().take_while(is_known).enumerate();
    let Some((place, first)) = of_wait.filter(|(_, ran)| pauses(ran)).last() else {
        return Entered { at: since, shares: None, next: None };
    };
    let at = first.at;
    let blocks = before[..=place].iter().rev().take_while(|ran| ran.at == at).count();
    let next = place.checked_sub(blocks).map(|place| before[place].at);
    Entered { at, shares: shares(at, blocks as u64, &before[place + 1..]), next }
}

/// What has the time `at`, when a wait began, of which so many `blocks` have it: some of `others`, which ran before it, the last one first.
fn shares(at: Tsc, blocks: u64, others: &[Ran]) -> Option<Shares> {
    let led = others.iter().take_while(|ran| ran.at == at).count();
    let earlier = &others[led..];
    let took = at.since(earlier.last()?.at).0.saturating_mul(led as u64);
    (led > 0).then_some(Shares { blocks, led: Ticks(took / earlier.len() as u64) })
}

#[cfg(test)]
mod tests;
