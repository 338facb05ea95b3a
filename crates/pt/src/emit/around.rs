//! What ran last on each privilege level, where only watched calls are wanted: of which call a function is.
//!
//! ```text
//! call F                                                by itself
//! call stub; stub: jmp *F                               by the stub of a procedure linkage table
//! call thunk; thunk: call over; mov %rax,(%rsp); ret    by a retpoline, whose `ret` may lie after a `jmp`
//! ```
//!
//! User and kernel are held apart, for an interrupt may come between a call and its function.

use model::Tsc;

use super::Emitter;
use crate::flow::{BlockEnd, EventKind};

/// How many blocks are held.
const HELD: usize = 4;

/// How a block ended, and the address after it in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) end: BlockEnd,
    pub(crate) next: u64,
}

/// The last blocks of a level, each after the one before, the latest last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PastBlocks([Option<Past>; HELD]);

impl PastBlocks {
    /// A block ran after those.
    pub(crate) fn add(&mut self, block: Past) {
        self.0[0] = Some(block);
        self.0.rotate_left(1);
    }

    /// `later` after those.
    pub(crate) fn then(mut self, later: &PastBlocks) -> PastBlocks {
        later.0.iter().flatten().for_each(|block| self.add(*block));
        self
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<Past> {
        self.0[HELD - 1]
    }

    /// Where the call returns to that leads to `ip`, which runs next: by itself, through one jump, or through a return that replaced the
    /// address of a call of its own.
    pub(crate) fn return_address(&self, ip: u64) -> Option<u64> {
        let mut past = self.0.iter().rev().map_while(|block| *block);
        let is_call = |block: &Past| block.end == BlockEnd::Call;
        let mut is = past.next()?;
        if is.end == BlockEnd::Return {
            let own = past.find(|block| block.end != BlockEnd::Jump)?;
            is = past.next().filter(|_| is_call(&own) && own.next != ip)?;
        } else if is.end == BlockEnd::Jump {
            is = past.next()?;
        }
        is_call(&is).then_some(is.next)
    }
}

/// The levels: of users and of the kernel.
#[derive(Default)]
pub(super) struct Around {
    levels: [PastBlocks; 2],
    /// On which the last block ran.
    in_kernel: bool,
    /// The thread at hand was given.
    is_seen: bool,
    /// Up to where the trace was read then.
    at: u64,
}

impl Emitter<'_> {
    /// What ran last on a level.
    pub(crate) fn past(&self, kernel: bool) -> PastBlocks {
        self.around.levels[usize::from(kernel)]
    }

    /// This ran last on a level.
    pub(crate) fn set_past(&mut self, kernel: bool, past: PastBlocks) {
        self.around.levels[usize::from(kernel)] = past;
    }

    /// Whether the last block was the kernel's.
    pub(crate) fn in_kernel(&self) -> bool {
        self.around.in_kernel
    }

    /// What runs next follows nothing that is held.
    pub(crate) fn part(&mut self) {
        self.around.levels = <[PastBlocks; 2]>::default();
    }

    /// Another thread runs. Where the time is not known yet it is given later.
    pub(super) fn enter_thread(&mut self) {
        self.part();
        self.around.is_seen = false;
        if self.wants_calls() && self.now > Tsc(0) {
            self.see_thread();
        }
    }

    fn see_thread(&mut self) {
        if !std::mem::replace(&mut self.around.is_seen, true) {
            self.event(EventKind::WatchedThread, self.around.at);
        }
    }

    /// So many instructions ran on a level up to a position in the trace, of which no block is given.
    pub(crate) fn count(&mut self, kernel: bool, instructions: u64, at: u64) {
        self.around.at = at;
        self.see_thread();
        self.around.in_kernel = kernel;
        self.stats.instructions += instructions;
    }

    /// Nothing more is wanted.
    pub(crate) fn break_off(&mut self) {
        self.broken_off = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that end like this, with the address after each.
    fn past(blocks: &[(BlockEnd, u64)]) -> PastBlocks {
        let mut past = PastBlocks::default();
        for &(end, next) in blocks {
            past.add(Past { end, next });
        }
        past
    }

    #[test]
    fn a_function_is_of_the_call_that_leads_to_it() {
        use BlockEnd::{Call, ConditionalBranch, Jump, Return};
        let of = |blocks: &[(BlockEnd, u64)]| past(blocks).return_address(100);
        assert_eq!(of(&[(Return, 1), (Call, 2)]), Some(2));
        assert_eq!(of(&[(Call, 1), (Jump, 2)]), Some(1), "a stub");
        assert_eq!(of(&[(Call, 1), (Call, 2), (Return, 3)]), Some(1), "a retpoline");
        assert_eq!(
            of(&[(Call, 1), (Call, 2), (Jump, 3), (Return, 4)]),
            Some(1),
            "one whose return lies elsewhere"
        );
        assert_eq!(of(&[(Call, 1), (Call, 100), (Return, 3)]), None, "a return of what was called");
        assert_eq!(of(&[(Call, 1), (ConditionalBranch, 2), (Jump, 3)]), None, "a tail call");
        assert_eq!(of(&[(Call, 1), (ConditionalBranch, 2)]), None);
        assert_eq!(of(&[(Jump, 1)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn four_blocks_are_held() {
        let mut past = past(&[]);
        for next in 1..=9 {
            past.add(Past { end: BlockEnd::Call, next });
        }
        let held: Vec<u64> = past.0.iter().flatten().map(|block| block.next).collect();
        assert_eq!((held, past.last().map(|last| last.next)), (vec![6, 7, 8, 9], Some(9)));
    }
}
