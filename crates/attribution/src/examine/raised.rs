//! Exceptions of a runtime that keeps a chain of handlers and jumps from one to the next: Free Pascal's (`rtl/inc/except.inc`).
//!
//! There is no unwinder that has all the work: each `try` enters a handler, each `finally` raises again, and the one that has the exception frees
//! it. So whatever is busy with one below its handler stands for the call that raised it.

use std::cmp::Reverse;

use model::TscRange;

use super::examined::Examined;
use crate::walk::activity::runs_within;
use crate::walk::user_code::{ByAddress, NodeKey};

/// What `raise` calls.
const RAISES: &str = "fpc_raiseexception";
/// What a handler calls when it is done with its exception: since 3.0, and before.
const HANDLED: [&str; 2] = ["fpc_doneexception", "fpc_destroyexception"];
/// What else handlers are entered, found and left by.
const OF_HANDLERS: [&str; 9] = [
    "fpc_catches",
    "fpc_longjmp",
    "fpc_popaddrstack",
    "fpc_popobjectstack",
    "fpc_popsecondobjectstack",
    "fpc_pushexceptaddr",
    "fpc_raise_nested",
    "fpc_reraise",
    "fpc_setjmp",
];

/// The exceptions of an interval.
pub(super) struct Raised<'a> {
    examined: &'a Examined,
    machinery: Machinery,
    /// Below each function that handled one, the call that raised most.
    handlers: ByAddress<NodeKey, Option<NodeKey>>,
}

/// The nodes in which exceptions are raised and handled, and whether each is one that raises.
type Machinery = ByAddress<NodeKey, bool>;

/// What ran below a function that handled an exception.
#[derive(Default)]
struct Below {
    whole: u64,
    /// In what raises and handles exceptions.
    busy: u64,
    /// In each call that raised one.
    raising: ByAddress<NodeKey, u64>,
}

impl<'a> Raised<'a> {
    pub(super) fn of(examined: &'a Examined) -> Raised<'a> {
        let nodes = &examined.code.nodes;
        let of_exceptions = nodes.iter().filter(|(_, node)| is_of_exceptions(&node.function));
        let machinery: Machinery = of_exceptions.map(|(&key, node)| (key, raises(&node.function))).collect();
        let is_any = machinery.values().any(|&raises| raises);
        let handling = nodes.values().filter(|node| is_any && handles(&node.function));
        let mut below = handling.map(|node| (node.parent, Below::default())).collect();
        add_runs(&mut below, &machinery, examined);
        let handlers = below.into_iter().map(|(handler, below)| (handler, below.raised())).collect();
        Raised { examined, machinery, handlers }
    }

    /// The call that raised the exception with which most of the time below the handler around `node` passed; nothing where neither `node`
    /// nor half of `range` is a part of that.
    pub(super) fn by(&self, node: NodeKey, range: TscRange) -> Option<NodeKey> {
        if self.handlers.is_empty() {
            return None;
        }
        let mut around = self.examined.code.lineage(node);
        let (handler, call) = around.find_map(|(key, _)| Some((key, *self.handlers.get(&key)?)))?;
        call.filter(|_| self.is_part(node, handler) || self.is_most(range, handler))
    }

    /// Whether `node` is a part of what raises and handles exceptions below `handler`.
    fn is_part(&self, node: NodeKey, handler: NodeKey) -> bool {
        let mut is_part = false;
        for (key, _) in self.examined.code.lineage(node) {
            if key == handler {
                return is_part;
            }
            is_part |= self.machinery.contains_key(&key);
        }
        false
    }

    /// Whether at least half of `range` is.
    fn is_most(&self, range: TscRange, handler: NodeKey) -> bool {
        let (mut whole, mut busy) = (0u64, 0u64);
        for (node, ticks) in runs_within(&self.examined.runs, range) {
            whole = whole.saturating_add(ticks.0);
            if self.is_part(node, handler) {
                busy = busy.saturating_add(ticks.0);
            }
        }
        whole > 0 && busy >= whole - busy
    }
}

impl Below {
    /// Of the calls that raise, the one with most time, where exceptions had at least half of all.
    fn raised(self) -> Option<NodeKey> {
        let (call, _) = self.raising.into_iter().max_by_key(|&(key, ticks)| (ticks, Reverse(key)))?;
        (self.busy >= self.whole - self.busy).then_some(call)
    }
}

/// Adds all runs to the handlers that they are below: the callers of each node are followed once, however many runs and handlers there are.
fn add_runs(handlers: &mut ByAddress<NodeKey, Below>, machinery: &Machinery, examined: &Examined) {
    let mut times: ByAddress<NodeKey, u64> = ByAddress::default();
    for run in examined.runs.iter().filter(|_| !handlers.is_empty()) {
        let time = times.entry(run.node).or_default();
        *time = time.saturating_add(run.range.ticks().0);
    }
    for (node, ticks) in times {
        let (mut busy, mut raised) = (0, None);
        for (key, _) in examined.code.lineage(node) {
            if let Some(below) = handlers.get_mut(&key) {
                below.whole = below.whole.saturating_add(ticks);
                below.busy = below.busy.saturating_add(busy);
                if let Some(call) = raised {
                    let time = below.raising.entry(call).or_default();
                    *time = time.saturating_add(ticks);
                }
            }
            if let Some(&raises) = machinery.get(&key) {
                busy = ticks;
                raised = raised.or(raises.then_some(key));
            }
        }
    }
}

fn is_of_exceptions(function: &str) -> bool {
    raises(function) || handles(function) || OF_HANDLERS.iter().any(|name| is(function, name))
}

/// Whether `function` raises an exception.
pub(super) fn raises(function: &str) -> bool {
    is(function, RAISES)
}

/// Whether a handler that is done with its exception calls `function`.
pub(super) fn handles(function: &str) -> bool {
    HANDLED.iter().any(|name| is(function, name))
}

/// The run-time library has each of these names twice: as it is called, and in capitals.
fn is(function: &str, name: &str) -> bool {
    function.eq_ignore_ascii_case(name)
}
