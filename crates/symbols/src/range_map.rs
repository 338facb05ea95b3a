//! A persistent map from address ranges to values: a copy costs nothing, and no later change touches it.
//!
//! Input: ranges laid over one another in order of time. Output: what covers an address. Invariant: the pieces are
//! ordered and never overlap; a newer range hides what it covers and the rest of the older piece stays.
//! Structure: a treap (Seidel and Aragon, "Randomized search trees", 1996) whose nodes are shared between copies.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Pieces of address space, each with a value. Cloning shares everything.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap<V> {
    root: Link<V>,
}

type Link<V> = Option<Arc<Node<V>>>;

#[derive(Clone, Debug)]
struct Node<V> {
    range: Range<u64>,
    value: V,
    left: Link<V>,
    right: Link<V>,
}

impl<V> Default for RangeMap<V> {
    fn default() -> RangeMap<V> {
        RangeMap { root: None }
    }
}

impl<V: Clone> RangeMap<V> {
    /// Lays `range` over what is there. An empty range changes nothing.
    pub(crate) fn insert(&mut self, range: Range<u64>, value: V) {
        if range.is_empty() {
            return;
        }
        let (before, after) = self.cut_out(&range);
        let piece = leaf(range, value);
        self.root = join(join(before, Some(piece)), after);
    }

    /// Takes away whatever lies in `range`.
    pub(crate) fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (before, after) = self.cut_out(range);
        self.root = join(before, after);
    }

    /// The piece that covers `address`.
    pub(crate) fn get(&self, address: u64) -> Option<(&Range<u64>, &V)> {
        self.floor(address).filter(|(range, _)| address < range.end)
    }

    /// The piece that covers `address`, else the first one after it.
    pub(crate) fn at_or_after(&self, address: u64) -> Option<(&Range<u64>, &V)> {
        let mut found = None;
        let mut link = &self.root;
        while let Some(node) = link {
            if node.range.end > address {
                found = Some((&node.range, &node.value));
                link = &node.left;
            } else {
                link = &node.right;
            }
        }
        found
    }

    /// All pieces, in order of address.
    pub(crate) fn iter(&self) -> Iter<'_, V> {
        let mut iter = Iter { stack: Vec::new() };
        iter.descend(self.root.as_ref());
        iter
    }

    fn floor(&self, address: u64) -> Option<(&Range<u64>, &V)> {
        let mut found = None;
        let mut link = &self.root;
        while let Some(node) = link {
            if node.range.start <= address {
                found = Some((&node.range, &node.value));
                link = &node.right;
            } else {
                link = &node.left;
            }
        }
        found
    }

    /// What lies before and after `range`, with pieces that reach into it shortened.
    fn cut_out(&self, range: &Range<u64>) -> (Link<V>, Link<V>) {
        let (mut before, rest) = split(self.root.clone(), range.start);
        let (_, mut after) = split(rest, range.end);
        if let Some((old, value)) = self.floor(range.end - 1).filter(|(old, _)| old.end > range.end) {
            after = join(Some(leaf(range.end..old.end, value.clone())), after);
        }
        let reaching_in = range.start.checked_sub(1).and_then(|last| self.floor(last));
        if let Some((old, value)) = reaching_in.filter(|(old, _)| old.end > range.start) {
            let kept = leaf(old.start..range.start, value.clone());
            before = join(split(before, old.start).0, Some(kept));
        }
        (before, after)
    }
}

/// The heap order of a node: a mix of its start address (`SplitMix64`'s finaliser) and a number of this run, so that
/// no file can choose addresses that make the tree a list.
fn priority(start: u64) -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0u8));
    let mut mixed = start.wrapping_add(*SEED);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn leaf<V>(range: Range<u64>, value: V) -> Arc<Node<V>> {
    Arc::new(Node { range, value, left: None, right: None })
}

/// Pieces that begin before `at`, and the others.
fn split<V: Clone>(link: Link<V>, at: u64) -> (Link<V>, Link<V>) {
    let Some(node) = link else { return (None, None) };
    let mut node = Arc::unwrap_or_clone(node);
    if node.range.start < at {
        let (low, high) = split(node.right.take(), at);
        node.right = low;
        (Some(Arc::new(node)), high)
    } else {
        let (low, high) = split(node.left.take(), at);
        node.left = high;
        (low, Some(Arc::new(node)))
    }
}

/// Both together; all of `left` lies before all of `right`.
fn join<V: Clone>(left: Link<V>, right: Link<V>) -> Link<V> {
    match (left, right) {
        (None, link) | (link, None) => link,
        (Some(left), Some(right)) if priority(left.range.start) >= priority(right.range.start) => {
            let mut node = Arc::unwrap_or_clone(left);
            node.right = join(node.right.take(), Some(right));
            Some(Arc::new(node))
        }
        (left, Some(right)) => {
            let mut node = Arc::unwrap_or_clone(right);
            node.left = join(left, node.left.take());
            Some(Arc::new(node))
        }
    }
}

/// See [`RangeMap::iter`].
pub(crate) struct Iter<'a, V> {
    stack: Vec<&'a Node<V>>,
}

impl<'a, V> Iter<'a, V> {
    fn descend(&mut self, root: Option<&'a Arc<Node<V>>>) {
        let mut link = root;
        while let Some(node) = link {
            self.stack.push(node);
            link = node.left.as_ref();
        }
    }
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Range<u64>, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.stack.pop()?;
        self.descend(node.right.as_ref());
        Some((&node.range, &node.value))
    }
}

#[cfg(test)]
mod tests;
