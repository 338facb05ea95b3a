//! The calls that had not returned at some moment: where a thread was when it left its CPU, or woke another one.
//!
//! Input: call instructions to which the flow has not returned, or the callchain of a record. Output: functions with
//! addresses, outermost first, user and kernel code apart. Calls from before the flow began are not in it.

use std::sync::Arc;

use model::{Pid, Tsc};

use crate::inputs::functions::{Function, Functions};
use crate::tables::goroutines::{is_scheduler, sleeps};
use crate::tables::kernel_entries::is_thunk;
use crate::tables::libraries::go::without_abi;
use crate::tables::libraries::{is_library, spoken};
use crate::walk::resched::Resched;

/// First address of the kernel's half.
const KERNEL_HALF: u64 = 1 << 63;

/// Whether the kernel's code lies at `ip`.
pub(crate) fn is_kernel(ip: u64) -> bool {
    ip >= KERNEL_HALF
}

/// How many calls of each half are kept, innermost first.
const DEEPEST: usize = 48;

/// How many user functions are named.
const TOLD: usize = 3;

/// A function that had not returned, and its current instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The call instruction, or the last instruction that ran.
    pub(crate) ip: u64,
    /// The function.
    pub(crate) function: Arc<str>,
    /// Its source line, as `queue.c:88`, where that is known.
    pub(crate) line: Option<Arc<str>>,
    /// Whether its file is one of the system's libraries.
    pub(crate) library: bool,
    /// As [`crate::Function::collector`].
    pub(crate) collector: Option<&'static str>,
}

impl Site {
    /// Whether the function belongs to a library or runtime.
    pub(crate) fn is_library(&self) -> bool {
        self.library || is_library(&spoken(&self.function))
    }
}

/// Where a thread was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallPath {
    /// When.
    pub(crate) at: Tsc,
    /// User functions, outermost first.
    pub(crate) user: Vec<Site>,
    /// Kernel functions, outermost first; empty where the thread ran user code or the kernel was not traced.
    pub(crate) kernel: Vec<Site>,
    /// Whether the scheduler throttled it there: its control group has used up its CPU quota.
    pub(crate) throttled: bool,
    /// What else the flow shows of the scheduler there.
    pub(crate) resched: Resched,
}

impl CallPath {
    /// Through these user functions, innermost last.
    #[cfg(test)]
    pub(crate) fn through(functions: &[&str]) -> CallPath {
        let site = |name: &&str| Site {
            ip: 0,
            function: (*name).into(),
            line: None,
            library: false,
            collector: None,
        };
        CallPath { user: functions.iter().map(site).collect(), ..CallPath::default() }
    }

    /// The path through the instructions at `ips`, outermost first, in process `pid` at time `at`.
    pub(crate) fn of(
        ips: impl Iterator<Item = u64>,
        pid: Pid,
        at: Tsc,
        functions: &dyn Functions,
    ) -> CallPath {
        let mut path = CallPath { at, ..CallPath::default() };
        for ip in ips {
            let Some(mut function) = functions.function_at(pid, ip, at) else { continue };
            let name = without_abi(&function.name);
            if name.len() < function.name.len() {
                function.name = Arc::from(name);
            }
            let half = if is_kernel(ip) { &mut path.kernel } else { &mut path.user };
            if !is_thunk(&function.name) && half.last().is_none_or(|last| last.function != function.name) {
                let line = if is_kernel(ip) { None } else { functions.line_at(pid, ip, at) };
                let Function { name, library, collector, .. } = function;
                half.push(Site { ip, function: name, line, library, collector });
            }
        }
        path
    }

    /// The path of a callchain: addresses innermost first. All but the first address of each half are return
    /// addresses.
    pub(crate) fn of_callchain(chain: &[u64], pid: Pid, at: Tsc, functions: &dyn Functions) -> CallPath {
        let kernel = chain.iter().take_while(|&&ip| is_kernel(ip)).count();
        let own = |index: usize, ip: u64| if index == 0 || index == kernel { ip } else { ip.wrapping_sub(1) };
        let ips = chain.iter().enumerate().take(2 * DEEPEST).map(|(index, &ip)| own(index, ip));
        CallPath::of(ips.collect::<Vec<_>>().into_iter().rev(), pid, at, functions)
    }

    /// The one of `paths` (in time order) that belongs to the end of a stay, `at`.
    pub(crate) fn at_end(paths: &[CallPath], at: Tsc) -> Option<&CallPath> {
        let from = paths.partition_point(|path| path.at < at);
        paths.get(from).filter(|path| path.at == at)
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.user.is_empty() && self.kernel.is_empty()
    }

    /// The kernel's functions, innermost first.
    pub(crate) fn kernel_functions(&self) -> impl Iterator<Item = &str> {
        self.kernel.iter().rev().map(|site| &*site.function)
    }

    /// Whether a user function's name contains all `parts`.
    pub(crate) fn passes_user(&self, parts: &[&str]) -> bool {
        self.user.iter().any(|site| parts.iter().all(|part| site.function.contains(part)))
    }

    /// The innermost user functions, and the innermost known line: `mutex_lock() < take() < consume() at queue.c:88`.
    /// The functions of a runtime's scheduler are left out where another function called them, and a line of the program itself is
    /// preferred.
    pub(crate) fn tell_user(&self) -> Option<String> {
        let called = self.user.iter().rposition(|site| !is_scheduler(&site.function));
        let sleeping = || self.user.iter().rposition(|site| !sleeps(&site.function));
        let innermost = called.or_else(sleeping).or(self.user.len().checked_sub(1))?;
        let user = &self.user[..=innermost];
        let own = user.iter().rposition(|site| site.line.is_some() && !site.is_library());
        let lined = own.or_else(|| user.iter().rposition(|site| site.line.is_some()));
        let last = lined.unwrap_or(0).min(innermost).max((innermost + 1).saturating_sub(TOLD));
        let mut told: Vec<String> =
            user[last..].iter().rev().map(|site| format!("{}()", site.function)).collect();
        if let Some(site) = lined.and_then(|index| user.get(index)) {
            let line = site.line.as_deref().unwrap_or_default();
            let at = format!("{}() at {line}", site.function);
            match told.iter_mut().rev().find(|name| **name == format!("{}()", site.function)) {
                Some(name) => *name = at,
                None => told.push(at),
            }
        }
        Some(told.join(" < "))
    }
}

/// The innermost of `sites`, as many as are kept.
pub(crate) fn innermost(sites: &[u64]) -> &[u64] {
    &sites[sites.len().saturating_sub(DEEPEST)..]
}

#[cfg(test)]
mod tests;
