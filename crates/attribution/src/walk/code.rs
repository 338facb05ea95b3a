//! Which function the walk is in.

use std::sync::Arc;

use model::{Pid, ThreadId, Tsc};
use pt::Block;

use super::user_code::ByAddress;
use crate::inputs::functions::{Function, Functions};

/// See the module.
pub(super) struct Code<'a> {
    pub(super) functions: &'a dyn Functions,
    /// The process of the last block that was looked up.
    pub(super) pid: Pid,
    current: Option<Function>,
}

/// What was inlined where kernel blocks begin.
pub(super) struct Inlined<'a> {
    functions: &'a dyn Functions,
    known: ByAddress<u64, Arc<[Arc<str>]>>,
}

impl<'a> Inlined<'a> {
    /// Of `functions`, each place looked up once.
    pub(super) fn new(functions: &'a dyn Functions) -> Inlined<'a> {
        Inlined { functions, known: ByAddress::default() }
    }

    /// The functions that were inlined at the kernel's `ip`, outermost first, as perf writes them: `find_vma (inlined)`.
    pub(super) fn at(&mut self, ip: u64, at: Tsc) -> Arc<[Arc<str>]> {
        let functions = self.functions;
        let named = |name: Arc<str>| Arc::from(format!("{name} (inlined)"));
        let found = || functions.inlined_at(Pid::KERNEL, ip, at).into_iter().map(named).collect();
        Arc::clone(self.known.entry(ip).or_insert_with(found))
    }
}

impl<'a> Code<'a> {
    /// In no function yet.
    pub(super) fn new(functions: &'a dyn Functions) -> Code<'a> {
        Code { functions, pid: Pid::KERNEL, current: None }
    }

    /// `block` runs at `at`.
    pub(super) fn look_up(&mut self, block: &Block, at: Tsc) {
        if !self.current.as_ref().is_some_and(|function| function.range.contains(&block.ip)) {
            self.pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
            self.current = self.functions.function_at(self.pid, block.ip, at);
        }
    }

    /// The function that runs; `None` where no symbol covers it.
    pub(super) fn current(&self) -> Option<&Function> {
        self.current.as_ref()
    }

    /// The function at `ip` of `thread`, or of the process that runs.
    pub(super) fn function_at(&self, thread: Option<ThreadId>, ip: u64, at: Tsc) -> Option<Function> {
        let pid = thread.map_or(self.pid, |thread| thread.pid);
        self.functions.function_at(pid, ip, at)
    }

    /// The kernel's PT driver turns tracing off and on while it serves its own interrupt: the gap is a part of that
    /// interrupt.
    pub(super) fn in_trace_driver(&self) -> bool {
        let name = self.current().map_or("", |function| &*function.name);
        name.starts_with("pt_") || name.starts_with("intel_pt_") || name == "native_write_msr"
    }
}
