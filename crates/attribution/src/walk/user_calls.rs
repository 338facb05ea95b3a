//! Which calls of user code have not returned, as far back as the flow shows.
//!
//! Input: the blocks of user code in order. As for the kernel, returns are matched with the calls whose return
//! address they go to.
//!
//! | how execution comes into the middle of a function | what is open then |
//! | --- | --- |
//! | by a return or jump from another one, and it had called (`longjmp`, the landing pad of an exception) | what was open when it called |
//! | by a return, and it had not called (`swapcontext`), or from a function that changes stacks (`runtime.gogo`) | nothing is known: it is another stack |
//! | from `runtime.gogo`, and it had called for a larger stack (`runtime.morestack`) | what was open when it called |
//! | from `runtime.gogo`, after a panic (`runtime.recovery`), and it had called | the same |
//! | from `runtime.gogo`, and the thread is kept for one goroutine | what was open when that one called the scheduler |
//! | by another jump (parts of one function under several names) | the same as before |

use pt::{Block, BlockEnd};

use super::calls::CallSites;
use crate::inputs::functions::Function;
use crate::tables::goroutines::{awaits_its_goroutine, goes_to_goroutine, recovers};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct UserCalls {
    calls: CallSites,
    returning: bool,
    /// The function of the last block, and whether it changes stacks.
    from: Option<(u64, bool)>,
    /// The thread has waited for the one goroutine that it is kept for, which runs next.
    own_goroutine: bool,
    /// Its goroutine recovered from a panic, and goes on.
    recovered: bool,
    /// How the last block ended, and its last instruction.
    last: Option<(BlockEnd, u64)>,
    /// The instruction that an interrupt or exception hit after it: it has not retired.
    hit: Option<u64>,
}

impl UserCalls {
    /// The next block of user code, in `function`; whether it is on a stack of which nothing is known.
    pub(crate) fn block(&mut self, block: &Block, function: Option<&Function>) -> bool {
        let returned = std::mem::take(&mut self.returning);
        let on_other_stack =
            !(returned && self.calls.return_to(block.ip)) && self.see_other_ways(block, function, returned);
        if self.from.map(|(start, _)| start) != function.map(|function| function.start) {
            self.from = function.map(|function| (function.start, changes_stacks(&function.name)));
            let is = |what: fn(&str) -> bool| function.is_some_and(|function| what(&function.name));
            self.own_goroutine |= is(awaits_its_goroutine);
            self.recovered |= is(recovers);
        }
        match block.end {
            BlockEnd::Call => self.calls.call(block.end_ip),
            BlockEnd::Return => self.returning = true,
            _ => {}
        }
        self.last = Some((block.end, block.end_ip));
        self.hit = None;
        on_other_stack
    }

    /// `block` was not reached by a return to where it was called from: it may be in the middle of another function. Whether a
    /// function that changes stacks led to one of which nothing is known.
    fn see_other_ways(&mut self, block: &Block, function: Option<&Function>, returned: bool) -> bool {
        let Some((start, changes_stacks)) = self.from else { return false };
        let jumped = self.last.is_some_and(|(end, _)| end == BlockEnd::Jump);
        let Some(function) = function.filter(|function| function.start != start) else { return false };
        // `runtime.gogo` is no more than a jump to `gogo`.
        let is_on_its_way = function.start == block.ip && goes_to_goroutine(&function.name);
        if changes_stacks && !is_on_its_way {
            let is_known = self.goes_on_with_own(block.ip, function);
            if !is_known {
                self.calls.cut_to(0);
            }
            return !is_known;
        }
        if function.start != block.ip {
            let had_called = (returned || jumped) && self.calls.unwind_to(&function.range);
            if returned && !had_called {
                self.calls.cut_to(0);
            }
        }
        false
    }

    /// `runtime.gogo` jumps to `ip` in `function`: whether this is a goroutine whose calls are known, which are open again.
    fn goes_on_with_own(&mut self, ip: u64, function: &Function) -> bool {
        // `function` had called `morestack`, that had called `newstack`, and that the function which jumps: its stack was copied.
        let sites = self.calls.innermost();
        let grown = sites.len().checked_sub(3).is_some_and(|at| function.range.contains(&sites[at]));
        let (is_own, recovered) =
            (std::mem::take(&mut self.own_goroutine), std::mem::take(&mut self.recovered));
        (grown || recovered) && self.calls.unwind_to(&function.range) || is_own && self.calls.return_to(ip)
    }

    /// Whether a return to `ip` ends one of the open calls.
    pub(crate) fn expects(&self, ip: u64) -> bool {
        self.calls.clone().return_to(ip)
    }

    /// The calls from number `depth` on are over, without a return.
    pub(crate) fn cut_to(&mut self, depth: usize) {
        self.calls.cut_to(depth);
        (self.returning, self.from) = (false, None);
    }

    /// An interrupt or exception hits the instruction at `ip`.
    pub(crate) fn hit(&mut self, ip: u64) {
        self.hit = Some(ip);
    }

    /// How many calls are open.
    pub(crate) fn depth(&self) -> usize {
        self.calls.depth()
    }

    /// How many open calls are left out of [`UserCalls::sites`], the outermost ones.
    pub(crate) fn left_out(&self) -> usize {
        self.calls.depth().saturating_sub(self.calls.innermost().len())
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
        let last = self.last.filter(|&(end, _)| end != BlockEnd::Call).map(|(_, ip)| ip);
        self.calls.innermost().iter().copied().chain(self.hit.or(last))
    }
}

/// Functions that go on another stack by a jump (Go's `runtime/asm_amd64.s`, Boost.Context, the C library).
fn changes_stacks(function: &str) -> bool {
    let others = ["jump_fcontext", "ontop_fcontext", "setcontext", "__start_context"];
    goes_to_goroutine(function) || others.contains(&function)
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
            calls.block(&block(ip, end), None);
        }
        assert_eq!(calls.sites().collect::<Vec<_>>(), [0x100b, 0x201b]);
        // A page fault is at the instruction that faults.
        calls.hit(0x2020);
        assert_eq!(calls.sites().collect::<Vec<_>>(), [0x100b, 0x2020]);
        calls.forget();
        assert_eq!(calls.sites().count(), 0);
    }
}
