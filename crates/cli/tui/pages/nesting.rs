//! How deep a run through a function is: how many calls, system calls and interrupts before it have not returned.
//!
//! Input: blocks in the order of their execution, thunks among them marked. Output: a depth for each, that may be below zero where a
//! function returns to a caller from before the first block.

use attribution::{CallSites, Thunk};
use pt::{Block, BlockEnd};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nesting {
    calls: CallSites,
    /// Minus how many callers from before the first block were returned to.
    base: i64,
    /// Whether the next block is where a return goes to.
    returns: bool,
}

impl Nesting {
    /// `block` runs, in a function that is no thunk; its depth.
    pub(crate) fn block(&mut self, block: &Block) -> i64 {
        if self.returns && !self.calls.return_to(block.ip) && self.calls.depth() == 0 {
            self.base -= 1;
        }
        let depth = self.depth();
        if matches!(block.end, BlockEnd::Call | BlockEnd::FarCall) {
            self.calls.call(block.end_ip);
        }
        self.returns = matches!(block.end, BlockEnd::Return | BlockEnd::FarReturn);
        depth
    }

    /// A block of a thunk runs: what called it calls what it jumps to.
    pub(crate) fn thunk(&mut self, thunk: Thunk) {
        self.returns = thunk == Thunk::Return;
    }

    /// An interrupt came before the instruction at `ip`, to which it returns.
    pub(crate) fn interrupt(&mut self, ip: u64) {
        self.calls.call(ip.saturating_sub(1));
        self.returns = false;
    }

    /// The depth of what runs now.
    pub(crate) fn depth(&self) -> i64 {
        self.base.saturating_add(i64::try_from(self.calls.depth()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use model::Tsc;
    use pt::TimeBounds;

    use super::*;

    fn block(ip: u64, end: BlockEnd) -> Block {
        Block {
            ip,
            end_ip: ip + 0x10,
            instructions: 3,
            end,
            bits: 64,
            kernel: false,
            thread: None,
            time: TimeBounds::between(Tsc(0), Tsc(1)),
            aux_offset: 0,
        }
    }

    fn depths(blocks: &[(u64, BlockEnd)]) -> Vec<i64> {
        let mut nesting = Nesting::default();
        blocks.iter().map(|&(ip, end)| nesting.block(&block(ip, end))).collect()
    }

    /// The call at 0x110 returns to 0x115, the system call at 0x125 to 0x127.
    #[test]
    fn calls_nest_until_they_return() {
        let blocks = [
            (0x100, BlockEnd::Call),
            (0x500, BlockEnd::Return),
            (0x115, BlockEnd::FarCall),
            (0x9000, BlockEnd::Call),
            (0xa000, BlockEnd::Return),
            (0x9015, BlockEnd::FarReturn),
            (0x127, BlockEnd::Jump),
        ];
        assert_eq!(depths(&blocks), [0, 1, 0, 1, 2, 1, 0]);
    }

    #[test]
    fn a_return_to_an_earlier_caller_is_less_deep() {
        assert_eq!(
            depths(&[(0x500, BlockEnd::Return), (0x115, BlockEnd::Return), (0x50, BlockEnd::Jump)]),
            [0, -1, -2]
        );
    }

    /// `call __x86_indirect_thunk_rax` calls what the thunk jumps to; `jmp __x86_return_thunk` returns.
    #[test]
    fn thunks_are_no_level() {
        let mut nesting = Nesting::default();
        assert_eq!(nesting.block(&block(0x100, BlockEnd::Call)), 0);
        nesting.thunk(Thunk::Call);
        assert_eq!(nesting.block(&block(0x500, BlockEnd::Jump)), 1);
        nesting.thunk(Thunk::Return);
        assert_eq!(nesting.block(&block(0x115, BlockEnd::Jump)), 0);
    }

    #[test]
    fn an_interrupt_returns_to_the_interrupted_instruction() {
        let mut nesting = Nesting::default();
        nesting.block(&block(0x100, BlockEnd::FallThrough));
        nesting.interrupt(0x108);
        assert_eq!(nesting.block(&block(0x9000, BlockEnd::FarReturn)), 1);
        assert_eq!(nesting.block(&block(0x108, BlockEnd::Jump)), 0);
    }
}
