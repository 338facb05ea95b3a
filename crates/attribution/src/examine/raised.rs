//! Exceptions of a runtime that keeps a chain of handlers and jumps from one to the next: Free Pascal's (`rtl/inc/except.inc`).
//!
//! There is no unwinder that has all the work: each `try` enters a handler, each `finally` raises again, and the one that has the exception frees
//! it. So whatever is busy with one below its handler stands for the call that raised it.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::examined::Examined;
use crate::walk::user_code::{ByAddress, Node, NodeKey};

/// What `raise` calls.
pub(super) const RAISES: &str = "fpc_raiseexception";
/// What a handler calls when it is done with its exception: since 3.0, and before.
pub(super) const HANDLED: [&str; 2] = ["fpc_doneexception", "fpc_destroyexception"];
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
    /// Below each function that handled one, the call that raised most.
    handlers: HashMap<NodeKey, Option<NodeKey>>,
}

impl<'a> Raised<'a> {
    pub(super) fn of(examined: &'a Examined) -> Raised<'a> {
        let nodes = &examined.code.nodes;
        let handles = |node: &&Node| HANDLED.iter().any(|name| is(node, name));
        let raises = nodes.values().any(|node| is(node, RAISES));
        let handling = nodes.values().filter(handles).filter(|_| raises).map(|node| node.parent);
        Raised { examined, handlers: handling.map(|node| (node, raised_below(node, examined))).collect() }
    }

    /// The call that raised the exception with which most of the time below the handler around `node` passed.
    pub(super) fn by(&self, node: NodeKey) -> Option<NodeKey> {
        let mut around = self.examined.code.lineage(node).filter(|_| !self.handlers.is_empty());
        around.find_map(|(key, _)| self.handlers.get(&key).copied()).flatten()
    }
}

/// Of the calls below `handler` that raise, the one with most time, where exceptions had at least half of all.
fn raised_below(handler: NodeKey, examined: &Examined) -> Option<NodeKey> {
    let (mut whole, mut busy, mut raising) = (0, 0, ByAddress::<NodeKey, u64>::default());
    for run in &examined.runs {
        let lineage: Vec<(NodeKey, &Node)> = examined.code.lineage(run.node).collect();
        let Some(depth) = lineage.iter().position(|&(key, _)| key == handler) else { continue };
        let below = &lineage[..depth];
        let ticks = run.range.ticks().0;
        whole += ticks;
        if below.iter().any(|(_, node)| is_of_exceptions(node)) {
            busy += ticks;
        }
        if let Some((key, _)) = below.iter().find(|(_, node)| is(node, RAISES)) {
            *raising.entry(*key).or_default() += ticks;
        }
    }
    let (call, _) = raising.into_iter().max_by_key(|&(key, ticks)| (ticks, Reverse(key)))?;
    (busy * 2 >= whole).then_some(call)
}

fn is_of_exceptions(node: &Node) -> bool {
    is(node, RAISES) || HANDLED.iter().chain(&OF_HANDLERS).any(|name| is(node, name))
}

/// The run-time library has each of these names twice: as it is called, and in capitals.
fn is(node: &Node, name: &str) -> bool {
    node.function.eq_ignore_ascii_case(name)
}
