//! The interface to symbols: which function an address lies in.

use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Tsc};

/// Code that no symbol covers.
pub(crate) const NO_SYMBOL: &str = "[no symbol]";

/// A function at its actual addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first address (AVMA).
    pub start: u64,
    /// The addresses (AVMA) for which the same answer holds: the whole function, or a part.
    pub range: Range<u64>,
    /// Its name: raw in the kernel, demangled in user code.
    pub name: Arc<str>,
    /// Whether its file is one of the system's libraries ([`crate::is_system_library`]).
    pub library: bool,
}

/// Finds functions. Implemented over `symbols` for captures, and by hand-written tables in tests.
pub trait Functions: Sync {
    /// The function that holds `address` in process `pid` at time `at`; `None` where no symbol covers it.
    fn function_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Function>;

    /// The source line of `address`, as `queue.c:88`; `None` where no line table covers it.
    fn line_at(&self, _pid: Pid, _address: u64, _at: Tsc) -> Option<Arc<str>> {
        None
    }

    /// Copies code bytes at `address` into `into`; returns how many are known.
    fn code_at(&self, _pid: Pid, _address: u64, _at: Tsc, _into: &mut [u8]) -> usize {
        0
    }
}
