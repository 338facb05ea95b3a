//! The same tree for the same code, wherever the flow begins.
//!
//! How many callers of an interval's first function are known depends on where the last sync point lies, and two intervals with the same
//! code would have different trees. So the tree begins with the outermost function that ran itself in the interval, and not with one that
//! went on in another by a jump; and a function that returned to an unknown caller is called by what it returned to.

use std::collections::HashSet;

use model::TscRange;

use super::activity::{Activity, Run};
use super::user_code::{BlockUse, ByAddress, Node, NodeKey, UserCode, add_node};

/// Gives `activity` the tree that its interval `within` has by itself.
pub(crate) fn settle(activity: &mut Activity, within: TscRange) {
    // Runs of no length count, for several branches may share a timestamp; but not those at the very begin: they are what
    // ran between the timing packet before it and the marker.
    let within = |run: &&Run| run.range.start < within.stop && run.range.stop > within.start;
    let ran: HashSet<NodeKey> = activity.runs.iter().filter(within).map(|run| run.node).collect();
    let mut settled =
        Settled { code: &activity.code, ran, nodes: ByAddress::default(), keys: ByAddress::default() };
    for run in &mut activity.runs {
        run.node = settled.key(run.node);
    }
    let mut blocks: ByAddress<(NodeKey, u64), BlockUse> = ByAddress::default();
    for (&(node, ip), used) in &activity.code.blocks {
        let of_all = blocks.entry((settled.key(node), ip)).or_default();
        of_all.executions += used.executions;
        of_all.instructions += used.instructions;
    }
    let nodes = settled.nodes;
    activity.code.blocks = blocks;
    activity.code.nodes = nodes;
    activity.code.callers.clear();
}

/// The tree in the making.
struct Settled<'a> {
    code: &'a UserCode,
    /// The nodes that ran themselves.
    ran: HashSet<NodeKey>,
    nodes: ByAddress<NodeKey, Node>,
    /// From a node's old key to the new one.
    keys: ByAddress<NodeKey, NodeKey>,
}

impl<'a> Settled<'a> {
    fn key(&mut self, old: NodeKey) -> NodeKey {
        if let Some(&known) = self.keys.get(&old) {
            return known;
        }
        let chain = self.chain(old);
        let mut key = NodeKey::default();
        for node in chain.into_iter().rev() {
            key = add_node(&mut self.nodes, key, &node.function, || node.clone());
        }
        self.keys.insert(old, key);
        key
    }

    /// The node and its callers, innermost first, up to the outermost one that ran.
    fn chain(&self, node: NodeKey) -> Vec<&'a Node> {
        let mut chain: Vec<(NodeKey, &'a Node)> = self.code.lineage(node).collect();
        let outermost = chain.iter().rposition(|(key, _)| self.ran.contains(key)).unwrap_or(0);
        chain.truncate(outermost + 1);
        let mut chain: Vec<&'a Node> = chain.into_iter().map(|(_, node)| node).collect();
        // What the outermost one jumped to may as well have been reached before the flow begins.
        while chain.len() > 1 && chain[chain.len() - 2].jumped {
            chain.pop();
        }
        chain
    }
}
