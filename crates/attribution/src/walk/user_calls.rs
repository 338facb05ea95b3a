//! Which calls of user code have not returned, as far back as the flow shows.
//!
//! Input: the blocks of user code in order. As for the kernel, returns are matched with the calls whose return
//! address they go to, so `longjmp` and exceptions only leave calls open until an outer one returns.

use pt::{Block, BlockEnd};

use super::calls::CallSites;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct UserCalls {
    calls: CallSites,
    returning: bool,
    last: Option<Block>,
    /// The instruction that an interrupt or exception hit after it: it has not retired.
    hit: Option<u64>,
}

impl UserCalls {
    /// Execution reaches `ip`; whether that follows from the calls: not if a return went to no known one.
    pub(crate) fn reach(&mut self, ip: u64) -> bool {
        !std::mem::take(&mut self.returning) || self.calls.return_to(ip)
    }

    /// The calls from number `depth` on are over, without a return.
    pub(crate) fn cut_to(&mut self, depth: usize) {
        self.calls.cut_to(depth);
    }

    /// The block that begins where execution was reached has run.
    pub(crate) fn pass(&mut self, block: &Block) {
        match block.end {
            BlockEnd::Call => self.calls.call(block.end_ip),
            BlockEnd::Return => self.returning = true,
            _ => {}
        }
        self.last = Some(*block);
        self.hit = None;
    }

    /// An interrupt or exception hits the instruction at `ip`.
    pub(crate) fn hit(&mut self, ip: u64) {
        self.hit = Some(ip);
    }

    /// How many calls are open.
    pub(crate) fn depth(&self) -> usize {
        self.calls.depth()
    }

    /// The innermost open call.
    pub(crate) fn call_site(&self) -> Option<u64> {
        self.calls.innermost().last().copied()
    }

    /// Execution continued untraced.
    pub(crate) fn forget(&mut self) {
        *self = UserCalls::default();
    }

    /// The open calls, outermost first, then the instruction that was hit, or the last one that ran.
    pub(crate) fn sites(&self) -> impl Iterator<Item = u64> {
        let called = self.last.is_some_and(|block| block.end == BlockEnd::Call);
        let last = self.last.filter(|_| !called).map(|block| block.end_ip);
        self.calls.innermost().iter().copied().chain(self.hit.or(last))
    }
}

#[cfg(test)]
mod tests {
    use model::Tsc;
    use pt::TimeBounds;

    use super::*;

    fn block(ip: u64, end: BlockEnd) -> Block {
        let time = TimeBounds::between(Tsc(0), Tsc(0));
        let (bits, kernel, thread, aux_offset) = (64, false, None, 0);
        Block { ip, end_ip: ip + 11, instructions: 10, end, bits, kernel, thread, time, aux_offset }
    }

    /// `main` calls `work`, which calls `lock`; `lock` returns, `work` makes a system call.
    #[test]
    fn what_returned_is_not_on_the_way() {
        let mut calls = UserCalls::default();
        for (ip, end) in [
            (0x1000, BlockEnd::Call),
            (0x2000, BlockEnd::Call),
            (0x3000, BlockEnd::Return),
            (0x2010, BlockEnd::FarCall),
        ] {
            calls.reach(ip);
            calls.pass(&block(ip, end));
        }
        assert_eq!(calls.sites().collect::<Vec<_>>(), [0x100b, 0x201b]);
        // A page fault is at the instruction that faults.
        calls.hit(0x2020);
        assert_eq!(calls.sites().collect::<Vec<_>>(), [0x100b, 0x2020]);
        calls.forget();
        assert_eq!(calls.sites().count(), 0);
    }
}
