//! Where compressed returns lead: the addresses after the calls that have not returned.
//!
//! ```text
//! call a, call b, ret, ret        taken bit = "to where the last call came from": b's, then a's
//! ```
//!
//! 64 entries, of which a new one replaces the oldest. Cleared where the processor clears its own: at each PSB and each
//! overflow. A direct call of the next instruction reads the address and never returns, so it is left out. Source:
//! Intel SDM vol. 3, "Intel Processor Trace", "Indirect Transfer Compression for Returns (RETs)".

use super::blocks::NONE;

const ENTRIES: usize = 64;

/// Where a call returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) address: u64,
    /// The block there, if known.
    pub(super) block: u32,
    /// The block with the call, if it is in the map.
    pub(super) call: u32,
}

/// The stack.
pub(super) struct Returns {
    entries: [Return; ENTRIES],
    /// Calls so far; the latest is at the index before it.
    top: usize,
    /// How many of them are there.
    depth: usize,
}

impl Returns {
    pub(super) fn new() -> Returns {
        let nowhere = Return { address: 0, block: NONE, call: NONE };
        Returns { entries: [nowhere; ENTRIES], top: 0, depth: 0 }
    }

    /// A call was made.
    #[inline]
    pub(super) fn push(&mut self, entry: Return) {
        self.entries[self.top % ENTRIES] = entry;
        self.top = self.top.wrapping_add(1);
        self.depth = (self.depth + 1).min(ENTRIES);
    }

    /// Where a compressed return leads.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Return> {
        self.depth = self.depth.checked_sub(1)?;
        self.top = self.top.wrapping_sub(1);
        Some(self.entries[self.top % ENTRIES])
    }

    /// Where the next compressed return leads.
    #[inline]
    pub(super) fn last(&self) -> Option<&Return> {
        if self.depth > 0 { self.entries.get(self.top.wrapping_sub(1) % ENTRIES) } else { None }
    }

    /// Calls were made and all of them returned, at most so many open at a time: they replaced the oldest.
    #[inline]
    pub(super) fn nest(&mut self, open: u8) {
        self.depth = self.depth.min(ENTRIES - usize::from(open));
    }

    /// Where the last compressed return led, if no call came after it.
    pub(super) fn popped(&self) -> Option<Return> {
        self.entries.get(self.top % ENTRIES).copied()
    }

    /// Whether no compressed return can follow.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    /// The numbers of blocks mean nothing any more: another address space, or all blocks went.
    pub(super) fn forget_blocks(&mut self) {
        for entry in &mut self.entries {
            (entry.block, entry.call) = (NONE, NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(address: u64) -> Return {
        Return { address, block: 7, call: 3 }
    }

    #[test]
    fn the_oldest_of_more_than_64_is_gone() {
        let mut returns = Returns::new();
        (1..=70).for_each(|address| returns.push(to(address)));
        let popped: Vec<u64> = std::iter::from_fn(|| returns.pop().map(|entry| entry.address)).collect();
        assert_eq!(popped, (7..=70).rev().collect::<Vec<u64>>());
        assert_eq!(returns.pop(), None);
    }

    #[test]
    fn nothing_is_left_after_a_clear() {
        let mut returns = Returns::new();
        returns.push(to(1));
        returns.clear();
        assert_eq!(returns.pop(), None);
        returns.push(to(2));
        assert_eq!((returns.pop(), returns.pop()), (Some(to(2)), None));
    }

    #[test]
    fn calls_that_returned_replace_the_oldest() {
        for (depth, open) in (0..=ENTRIES).flat_map(|depth| (0..=3).map(move |open| (depth, open))) {
            let mut one = Returns::new();
            (0..depth as u64).for_each(|address| one.push(to(address)));
            let mut other = Returns { entries: one.entries, ..one };
            other.nest(open);
            (0..open).for_each(|_| one.push(to(99)));
            (0..open).for_each(|_| assert_eq!(one.pop(), Some(to(99))));
            let left = |mut returns: Returns| std::iter::from_fn(move || returns.pop()).collect::<Vec<_>>();
            assert_eq!(left(one), left(other), "{depth} deep, {open} more");
        }
    }

    #[test]
    fn addresses_stay_where_blocks_are_forgotten() {
        let mut returns = Returns::new();
        returns.push(to(1));
        returns.forget_blocks();
        assert_eq!(returns.pop(), Some(Return { address: 1, block: NONE, call: NONE }));
    }
}
