//! The call tree of an interval with its time: for flame graphs and call tables.
//!
//! Input: an examined interval. Output: [`Calls`] whose stretches are its pieces, so their ticks add up to it, and calls that have no
//! time of their own. Time that is not user code is placed below the user function that ran before and named by its cause: the kernel's
//! own functions are not distinguished here.

use std::collections::HashMap;
use std::sync::Arc;

use model::{CallLayer, CallNode, CallStretch, Calls, Cause, Tsc, TscRange};

use crate::claims::partition::Piece;
use crate::examine::examined::Examined;
use crate::walk::user_code::{ByAddress, NodeKey};

/// Callers that are followed outwards; more are a loop made by two names with the same hash.
const DEEPEST: usize = 512;

/// The calls of `examined`.
pub fn calls(examined: &Examined) -> Calls {
    let mut tree =
        Tree { examined, calls: Calls::default(), nodes: ByAddress::default(), leaves: HashMap::new() };
    let mut last_user = None;
    for piece in &examined.pieces {
        let (node, calls) = match examined.run_of(piece) {
            Some(run) => {
                let node = tree.user(run.node);
                last_user = node;
                (node, if piece.range.start == run.range.start { run.calls } else { 0 })
            }
            None => tree.other(last_user, piece),
        };
        if let Some(node) = node {
            tree.calls.stretches.push(CallStretch { range: piece.range, node, calls });
        }
    }
    tree.add_short_runs();
    tree.calls
}

/// The tree in the making.
struct Tree<'a> {
    examined: &'a Examined,
    calls: Calls,
    nodes: ByAddress<NodeKey, u32>,
    leaves: HashMap<(Option<u32>, String), u32>,
}

impl Tree<'_> {
    /// The index of a user function under its callers; `None` where there is no room for more.
    fn user(&mut self, node: NodeKey) -> Option<u32> {
        let mut parent = None;
        let mut chain = Vec::new();
        for (key, known) in self.examined.code.lineage(node).take(DEEPEST) {
            parent = self.nodes.get(&key).copied();
            if parent.is_some() {
                break;
            }
            chain.push((key, known));
        }
        for (key, known) in chain.into_iter().rev() {
            let index = self.add(parent, known.function.clone(), CallLayer::User)?;
            self.nodes.insert(key, index);
            parent = Some(index);
        }
        parent
    }

    /// The index of time that is not user code, below the user function that ran before; and whether it begins here.
    fn other(&mut self, parent: Option<u32>, piece: &Piece) -> (Option<u32>, u64) {
        let claim = self.examined.claim_of(piece);
        let cause = claim.map_or(&Cause::Unexplained, |claim| &claim.cause);
        let begins = claim.is_some_and(|claim| claim.range().start == piece.range.start);
        let name = cause.to_string();
        let layer = if cause.is_kernel() { CallLayer::Kernel } else { CallLayer::Waiting };
        let known = self.leaves.get(&(parent, name.clone())).copied();
        let index = known.or_else(|| {
            let index = self.add(parent, name.as_str().into(), layer)?;
            self.leaves.insert((parent, name), index);
            Some(index)
        });
        (index, u64::from(begins))
    }

    /// Adds the calls of runs without a piece, as stretches without length: no packet separates the times of short functions, so that all
    /// of their time is another one's.
    fn add_short_runs(&mut self) {
        let mut counted: HashMap<(Tsc, u32), u64> = HashMap::new();
        for stretch in &self.calls.stretches {
            *counted.entry((stretch.range.start, stretch.node)).or_default() += stretch.calls;
        }
        let Examined { runs, interval, .. } = self.examined;
        for run in runs.iter().filter(|run| run.calls > 0 && interval.range.contains(run.range.start)) {
            let at = run.range.start;
            let Some(node) = self.user(run.node) else { continue };
            let known = counted.entry((at, node)).or_default();
            let calls = run.calls.saturating_sub(*known);
            *known -= run.calls - calls;
            if calls > 0 {
                self.calls.stretches.push(CallStretch { range: TscRange::new(at, at), node, calls });
            }
        }
        self.calls.stretches.sort_by_key(|stretch| (stretch.range.start, stretch.range.stop));
    }

    fn add(&mut self, parent: Option<u32>, name: Arc<str>, layer: CallLayer) -> Option<u32> {
        let index = u32::try_from(self.calls.nodes.len()).ok()?;
        self.calls.nodes.push(CallNode { parent, name, layer });
        Some(index)
    }
}

#[cfg(test)]
mod tests;
