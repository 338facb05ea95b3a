//! Exceptions that functions return one by one: Nim's, where the code that it has the C compiler make tests a flag after each call
//! (`lib/system/excpt.nim`).
//!
//! Nothing unwinds. The function that raises makes the exception, sets the flag and returns, and so do its callers up to the one that handles
//! it, which takes it off a list. Input: the user code that ran. Output: who raised, where most calls ended so and did little else, and who
//! handled it, where a call or the debug information of inlined functions shows it.

use std::sync::Arc;

use model::{Pid, Tsc};

use crate::inputs::functions::Functions;
use crate::walk::user_code::{ByAddress, NodeKey, UserCode};

/// What raises calls, and what a handler does with its exception when it is done.
const RAISES: &str = "raiseExceptionEx";
const HANDLED: &str = "popCurrentException";

/// A function that runs more instructions for each exception that it makes and raises did something else besides: an object and a message
/// take some hundreds.
const MOST_INSTRUCTIONS: u64 = 5_000;

/// So many functions' handlers are looked for, in so many blocks of code.
const MOST_RAISERS: usize = 16;
const MOST_BLOCKS: usize = 4096;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Returned {
    /// What raised an exception in at least half of its calls, and did little else; with the innermost function that handled one.
    raisers: Vec<(NodeKey, Option<NodeKey>)>,
}

impl Returned {
    /// The exceptions of `code`, which ran in `pid` until `at`.
    pub(super) fn of(code: &UserCode, pid: Option<Pid>, at: Tsc, functions: &dyn Functions) -> Returned {
        let calls = |key: NodeKey| {
            let entry = code.nodes.get(&key).and_then(|node| code.blocks.get(&(key, node.start)));
            entry.map_or(0, |entry| entry.executions)
        };
        let raising = code.nodes.iter().filter(|(_, node)| &*node.function == RAISES);
        let mostly = raising.filter(|&(&raise, node)| (1..=2 * calls(raise)).contains(&calls(node.parent)));
        let raised: ByAddress<NodeKey, u64> =
            mostly.map(|(&raise, node)| (node.parent, calls(raise).max(1))).collect();
        if raised.is_empty() {
            return Returned::default();
        }
        let mut work = work_of(&raised, code);
        work.retain(|raiser, work| *work <= raised[raiser].saturating_mul(MOST_INSTRUCTIONS));
        let mut raisers: Vec<NodeKey> = work.into_keys().collect();
        raisers.sort_unstable();
        let inlines = |ip| pid.is_some_and(|pid| functions.inlined_at(pid, ip, at).iter().any(is_handled));
        let mut left = MOST_BLOCKS;
        let mut handler = |index: usize, raiser: NodeKey| {
            if index < MOST_RAISERS { handler_of(raiser, code, &mut left, &inlines) } else { None }
        };
        let raisers = raisers.into_iter().enumerate().map(|(index, raiser)| (raiser, handler(index, raiser)));
        Returned { raisers: raisers.collect() }
    }

    /// Whether what `node` was called for was mostly to raise an exception.
    pub(super) fn is_raiser(&self, node: NodeKey) -> bool {
        self.place_of(node).is_some()
    }

    /// Who handled what `raiser` raised.
    pub(super) fn handler(&self, raiser: NodeKey) -> Option<NodeKey> {
        self.raisers[self.place_of(raiser)?].1
    }

    fn place_of(&self, raiser: NodeKey) -> Option<usize> {
        self.raisers.binary_search_by_key(&raiser, |&(known, _)| known).ok()
    }
}

/// The instructions of each of `raisers` and of what it called, but for raising itself.
fn work_of(raisers: &ByAddress<NodeKey, u64>, code: &UserCode) -> ByAddress<NodeKey, u64> {
    let mut work: ByAddress<NodeKey, u64> = raisers.keys().map(|&raiser| (raiser, 0)).collect();
    let mut ran: ByAddress<NodeKey, u64> = ByAddress::default();
    for (&(node, _), used) in &code.blocks {
        let instructions = ran.entry(node).or_default();
        *instructions = instructions.saturating_add(used.instructions);
    }
    for (node, instructions) in ran {
        let around = code.lineage(node).take_while(|(_, node)| &*node.function != RAISES);
        for (key, _) in around {
            if let Some(work) = work.get_mut(&key) {
                *work = work.saturating_add(instructions);
            }
        }
    }
    work
}

/// The innermost of `raiser` and its callers that handled an exception; `inlines`: whether that is done at an address. Looks at `left` blocks at
/// most.
fn handler_of(
    raiser: NodeKey,
    code: &UserCode,
    left: &mut usize,
    inlines: &impl Fn(u64) -> bool,
) -> Option<NodeKey> {
    let callers: Vec<NodeKey> = code.lineage(raiser).map(|(key, _)| key).collect();
    let mut ran: ByAddress<NodeKey, Vec<u64>> = callers.iter().map(|&key| (key, Vec::new())).collect();
    for &(node, ip) in code.blocks.keys() {
        if let Some(ips) = ran.get_mut(&node) {
            ips.push(ip);
        }
    }
    let calls: Vec<NodeKey> =
        code.nodes.values().filter(|node| is_handled(&node.function)).map(|node| node.parent).collect();
    callers.into_iter().find(|caller| {
        let Some(ips) = ran.get_mut(caller) else { return false };
        ips.sort_unstable();
        let looked_at = ips.len().min(*left);
        *left -= looked_at;
        calls.contains(caller) || ips[..looked_at].iter().any(|&ip| inlines(ip))
    })
}

fn is_handled(function: &Arc<str>) -> bool {
    &**function == HANDLED
}
