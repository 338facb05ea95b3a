//! Which calls of the kernel have not returned yet. This determines the end of a landmark function's frame.
//!
//! Input: the address of every executed call instruction and the target of every return. Counting the two is not
//! enough: `FILL_RETURN_BUFFER` at a context switch calls 32 times without a return, a retpoline calls once to jump,
//! call depth tracking's return thunk calls 16 times (`arch/x86/include/asm/nospec-branch.h`, `lib/retpoline.S`). So
//! a return is matched with the call whose return address it goes to, and later calls are dropped.

use std::ops::Range;

use crate::walk::call_path::innermost;

/// The longest instruction; a call's return address lies at most this many bytes after its first byte.
const LONGEST_INSTRUCTION: u64 = 15;

/// How many open calls the search for a return covers: twice the most calls that kernel code makes without returning.
const SEARCHED: usize = 64;

/// Beyond this depth the kernel's stack would have overflowed: the trace is damaged, and no further call is recorded.
const DEEPEST: usize = 4096;

/// The call instructions that have not returned, outermost first.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    sites: Vec<u64>,
}

impl CallSites {
    /// How many calls are open.
    pub fn depth(&self) -> usize {
        self.sites.len()
    }

    /// The innermost open calls, outermost of them first.
    pub(crate) fn innermost(&self) -> &[u64] {
        innermost(&self.sites)
    }

    /// The call instruction at `ip` executed.
    pub fn call(&mut self, ip: u64) {
        if self.sites.len() < DEEPEST {
            self.sites.push(ip);
        }
    }

    /// A return went to `ip`; whether the matching call is known.
    pub fn return_to(&mut self, ip: u64) -> bool {
        let from = self.sites.len().saturating_sub(SEARCHED);
        let behind = |site: u64| ip > site && ip - site <= LONGEST_INSTRUCTION;
        let found = self.sites[from..].iter().rposition(|&site| behind(site));
        if let Some(index) = found {
            self.sites.truncate(from + index);
        }
        found.is_some()
    }

    /// Execution is in the code at `function` again without a return: what was called from there, at last, is over. Whether
    /// it was called from there at all.
    pub(crate) fn unwind_to(&mut self, function: &Range<u64>) -> bool {
        let found = self.sites.iter().rposition(|site| function.contains(site));
        if let Some(index) = found {
            self.sites.truncate(index);
        }
        found.is_some()
    }

    /// An entry that began at `depth` has ended, and so has what it called.
    pub(crate) fn cut_to(&mut self, depth: usize) {
        self.sites.truncate(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_behind_the_call_undoes_it() {
        let mut calls = CallSites::default();
        calls.call(0x100);
        assert!(calls.return_to(0x105));
        assert_eq!(calls.depth(), 0);
        assert!(!calls.return_to(0x105));
    }

    /// `call 1f; …; 1: call 2f; …`, 32 times, then the stack pointer is restored and the function returns.
    #[test]
    fn stuffing_of_the_return_buffer_is_forgotten_with_the_return_of_its_caller() {
        let mut calls = CallSites::default();
        calls.call(0x1000);
        for call in 0..32 {
            calls.call(0x2000 + call * 16);
        }
        assert!(calls.return_to(0x1005));
        assert_eq!(calls.depth(), 0);
    }

    /// `call __x86_indirect_thunk_rax`; in the thunk `call`, then `ret` to the intended function.
    #[test]
    fn a_retpoline_is_one_call() {
        let mut calls = CallSites::default();
        calls.call(0x1000);
        calls.call(0x9000);
        assert!(!calls.return_to(0x5000));
        assert!(calls.return_to(0x1005));
        assert_eq!(calls.depth(), 0);
    }

    #[test]
    fn endless_calls_end() {
        let mut calls = CallSites::default();
        for call in 0..100_000 {
            calls.call(call * 32);
        }
        assert_eq!(calls.depth(), DEEPEST);
    }
}
