//! Functions that went on in another one by a jump: tail calls, and the parts that a compiler split off (`F.cold`).
//!
//! Input: the jumps from one function to another at one depth of calls. Output: the function that stands for the caller there. A
//! function that runs again ends what it had gone on to, so that two functions that take turns do not grow.

use super::user_code::NodeKey;

/// Deeper chains are a program's state machine, or damage.
const MOST: usize = 64;

/// What only passes a call on: a slot of the procedure linkage table, and glibc's lazy binding.
const PASSAGES: [&str; 2] = ["@plt", "_dl_runtime_resolve"];

/// Stands for the address of a signal's frame, which is no function.
const SIGNAL_FRAME: u64 = u64::MAX;

/// A function that went on in another one.
struct Jumped {
    /// The number of calls that were open.
    depth: usize,
    /// Its first address.
    start: u64,
    node: NodeKey,
}

/// See the module.
#[derive(Default)]
pub(super) struct TailCalls {
    open: Vec<Jumped>,
}

impl TailCalls {
    /// Code of the function at `start` runs with `depth` calls open; whether it had gone on in another one.
    pub(super) fn reach(&mut self, depth: usize, start: u64) -> bool {
        self.open.retain(|jumped| jumped.depth <= depth);
        let again = self.open.iter().position(|jumped| (jumped.depth, jumped.start) == (depth, start));
        let again = again.filter(|_| start != 0);
        self.open.truncate(again.unwrap_or(self.open.len()));
        again.is_some()
    }

    /// The function at `start`, called `name`, jumps to another one.
    pub(super) fn jump(&mut self, depth: usize, start: u64, node: NodeKey, name: &str) {
        let passes_on = PASSAGES.iter().any(|passage| name.contains(passage));
        if start != 0 && !passes_on && self.open.len() < MOST {
            self.open.push(Jumped { depth, start, node });
        }
    }

    /// The function at `start` is interrupted by a signal, whose handler stands below `frame`.
    pub(super) fn interrupt(&mut self, depth: usize, (start, node): (u64, NodeKey), frame: NodeKey) {
        if self.open.len() + 1 < MOST {
            self.open.push(Jumped { depth, start, node });
            self.open.push(Jumped { depth, start: SIGNAL_FRAME, node: frame });
        }
    }

    /// The handler is done: what it interrupted runs again.
    pub(super) fn resume(&mut self) {
        if let Some(frame) = self.open.iter().rposition(|jumped| jumped.start == SIGNAL_FRAME) {
            self.open.truncate(frame.saturating_sub(1));
        }
    }

    /// The innermost function that went on in what runs now.
    pub(super) fn caller(&self, depth: usize) -> Option<NodeKey> {
        self.open.last().filter(|jumped| jumped.depth == depth).map(|jumped| jumped.node)
    }

    /// The first addresses of the functions that went on in what ran next, with `depth` calls open, outermost first.
    pub(super) fn at(&self, depth: usize) -> impl Iterator<Item = u64> {
        let here =
            self.open.iter().filter(move |jumped| jumped.depth == depth && jumped.start != SIGNAL_FRAME);
        here.map(|jumped| jumped.start)
    }

    /// The outermost function returned, or execution continued untraced.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}
