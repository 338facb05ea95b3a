//! The calls part of an outlier's page: the call tree as a list one can open, the costliest first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use report::CallTree;

use super::cursor::Cursor;

/// From the start, functions open that hold at least one part in so many of the time.
const OPEN_PART: u64 = 10;

/// The part.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsPart {
    pub(crate) cursor: Cursor,
    open: BTreeSet<usize>,
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallLine {
    /// The node's index in the tree.
    pub(crate) node: usize,
    pub(crate) depth: usize,
    /// The outlier's time in it and below.
    pub(crate) total: u64,
    /// The baselines' mean time in it and below.
    pub(crate) typical: u64,
    pub(crate) has_calls: bool,
    pub(crate) is_open: bool,
}

impl CallsPart {
    /// With the costly branches open.
    pub(crate) fn new(tree: &CallTree) -> CallsPart {
        let totals = tree.totals();
        let whole: u64 = tree.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.self_ns));
        let costly = |&index: &usize| totals[index].0 > 0 && totals[index].0 >= whole / OPEN_PART;
        CallsPart { cursor: Cursor::default(), open: (0..tree.nodes.len()).filter(costly).collect() }
    }

    /// The functions in view, each below its caller.
    pub(crate) fn lines(&self, tree: &CallTree) -> Vec<CallLine> {
        let totals = tree.totals();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
        let mut roots = Vec::new();
        for (index, node) in tree.nodes.iter().enumerate() {
            match node.parent.filter(|&parent| parent < index) {
                Some(parent) => below[parent].push(index),
                None => roots.push(index),
            }
        }
        let cost = |&index: &usize| (Reverse(totals[index].0.max(totals[index].1)), index);
        let mut lines = Vec::new();
        roots.sort_by_key(cost);
        let mut next: Vec<(usize, usize)> = roots.into_iter().rev().map(|node| (node, 0)).collect();
        while let Some((node, depth)) = next.pop() {
            let is_open = self.open.contains(&node);
            let (total, typical) = totals[node];
            lines.push(CallLine { node, depth, total, typical, has_calls: !below[node].is_empty(), is_open });
            if is_open {
                below[node].sort_by_key(cost);
                next.extend(below[node].iter().rev().map(|&call| (call, depth + 1)));
            }
        }
        lines
    }

    /// Opens or closes the function under the cursor.
    pub(crate) fn toggle(&mut self, tree: &CallTree) {
        if let Some(line) = self.current(tree) {
            self.set(line.node, !line.is_open);
        }
    }

    /// Opens the function under the cursor.
    pub(crate) fn open(&mut self, tree: &CallTree) {
        if let Some(line) = self.current(tree) {
            self.set(line.node, true);
        }
    }

    /// Closes the function under the cursor; goes to its caller where it is closed.
    pub(crate) fn close(&mut self, tree: &CallTree) {
        let Some(line) = self.current(tree) else { return };
        if line.is_open && line.has_calls {
            self.set(line.node, false);
        } else if let Some(parent) = tree.nodes[line.node].parent
            && let Some(place) = self.lines(tree).iter().position(|line| line.node == parent)
        {
            self.cursor = Cursor::new(place);
        }
    }

    fn current(&self, tree: &CallTree) -> Option<CallLine> {
        let lines = self.lines(tree);
        lines.get(self.cursor.at(lines.len())).copied()
    }

    fn set(&mut self, node: usize, is_open: bool) {
        if is_open {
            self.open.insert(node);
        } else {
            self.open.remove(&node);
        }
    }
}

#[cfg(test)]
mod tests;
