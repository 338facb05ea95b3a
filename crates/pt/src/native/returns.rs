//! Where compressed returns lead: the addresses after the calls that have not returned.
//!
//! ```text
//! call a, call b, ret, ret        taken bit = "to where the last call came from": b's, then a's
//! ```
//!
//! 64 entries, of which a new one replaces the oldest. Cleared where the processor clears its own: at each PSB and each
//! overflow. A direct call of the next instruction reads the address and never returns, so it is left out. Source:
//! Intel SDM vol. 3, "Intel Processor Trace", "Indirect Transfer Compression for Returns (RETs)".

const ENTRIES: usize = 64;

/// The stack.
pub(super) struct Returns {
    addresses: [u64; ENTRIES],
    /// Calls so far; the latest is at the index before it.
    top: usize,
    /// How many of them are there.
    depth: usize,
}

impl Returns {
    pub(super) fn new() -> Returns {
        Returns { addresses: [0; ENTRIES], top: 0, depth: 0 }
    }

    /// A call was made that returns to `address`.
    #[inline]
    pub(super) fn push(&mut self, address: u64) {
        self.addresses[self.top % ENTRIES] = address;
        self.top = self.top.wrapping_add(1);
        self.depth = (self.depth + 1).min(ENTRIES);
    }

    /// Where a compressed return leads.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u64> {
        self.depth = self.depth.checked_sub(1)?;
        self.top = self.top.wrapping_sub(1);
        Some(self.addresses[self.top % ENTRIES])
    }

    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_more_than_64_is_gone() {
        let mut returns = Returns::new();
        (1..=70).for_each(|address| returns.push(address));
        let popped: Vec<u64> = std::iter::from_fn(|| returns.pop()).collect();
        assert_eq!(popped, (7..=70).rev().collect::<Vec<u64>>());
        assert_eq!(returns.pop(), None);
    }

    #[test]
    fn nothing_is_left_after_a_clear() {
        let mut returns = Returns::new();
        returns.push(1);
        returns.clear();
        assert_eq!(returns.pop(), None);
        returns.push(2);
        assert_eq!((returns.pop(), returns.pop()), (Some(2), None));
    }
}
