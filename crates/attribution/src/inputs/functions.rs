//! The interface to symbols: which function or variable an address lies in.

use std::ops::Range;
use std::sync::Arc;

use model::{Pid, Tsc};

use crate::tables::libraries::spoken;

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
    /// Whether its file is one of the system's libraries ([`crate::is_system_library`]), or its source is not the program's.
    pub library: bool,
    /// The runtime whose garbage collector the function is, with all that it calls ([`crate::collector_of`]).
    pub collector: Option<&'static str>,
}

/// A variable of a program, and how far an address lies from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, demangled.
    pub name: Arc<str>,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes from its start to the address.
    pub offset: u64,
}

impl Variable {
    /// `lock`; `queue+0x40` within one that holds more than a lock. A C compiler's number for a variable of a function is left out.
    pub fn called(&self) -> String {
        let (name, number) = self.name.rsplit_once('.').unwrap_or((&self.name, ""));
        let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let name = spoken(if is_numbered { name } else { &self.name });
        if self.offset == 0 || self.size <= LARGEST_LOCK {
            return name;
        }
        format!("{name}+{:#x}", self.offset)
    }
}

/// Bytes of glibc's largest object to wait for (`pthread_rwlock_t`): what is no larger holds nothing else.
const LARGEST_LOCK: u64 = 56;

/// Finds functions and variables. Implemented over `symbols` for captures, and by hand-written tables in tests.
pub trait Functions: Sync {
    /// The function that holds `address` in process `pid` at time `at`; `None` where no symbol covers it.
    fn function_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Function>;

    /// The source line of `address`, as `queue.c:88`; `None` where no line table covers it.
    fn line_at(&self, _pid: Pid, _address: u64, _at: Tsc) -> Option<Arc<str>> {
        None
    }

    /// The functions that the compiler inlined at `address`, of the kernel where `pid` is [`Pid::KERNEL`], into the one that holds it, outermost
    /// first; empty where no debug information is there.
    fn inlined_at(&self, _pid: Pid, _address: u64, _at: Tsc) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The variable that holds `address` in process `pid` at time `at`; `None` where no symbol covers it.
    fn variable_at(&self, _pid: Pid, _address: u64, _at: Tsc) -> Option<Variable> {
        None
    }

    /// Copies code bytes at `address` into `into`; returns how many are known.
    fn code_at(&self, _pid: Pid, _address: u64, _at: Tsc, _into: &mut [u8]) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_called_by_its_variable() {
        for (name, size, offset, called) in [
            ("lock", 40, 0, "lock"),
            ("lock.0", 40, 0, "lock"),
            ("ledger::BOOK", 8, 4, "ledger::BOOK"),
            ("(anonymous namespace)::quoted", 48, 0, "quoted"),
            ("table.lto_priv", 4, 0, "table.lto_priv"),
            // Beside a condition variable's counters, and within a structure that has more than that.
            ("filled", 48, 40, "filled"),
            ("queue", 400, 64, "queue+0x40"),
            ("queue.12", 400, 0, "queue"),
        ] {
            let variable = Variable { name: name.into(), size, offset };
            assert_eq!(variable.called(), called);
        }
    }
}
