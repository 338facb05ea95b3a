//! Which user code ran: a tree of calls, how often each block ran, and which code lines were touched.
//!
//! Input: blocks of user code with the node that called them. Output: the same node for the same chain of functions
//! in every interval, whatever the counts of calls and iterations, so that two intervals can be compared.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use pt::Block;

use crate::inputs::functions::Function;
use crate::inputs::functions::NO_SYMBOL;
use crate::tables::libraries::go::without_abi;
use crate::tables::libraries::{called, is_library, spoken};

/// The search for callers stops here: the tree of a damaged trace may be deep.
const FURTHEST: usize = 4096;

/// How many callers are named.
const MOST_CALLERS: usize = 2;

/// A node's identity: the hash of the functions' names from the outermost known one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeKey(u64);

impl NodeKey {
    /// The hash.
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The function `name` as called by this one.
    pub(super) fn below(self, name: &str) -> NodeKey {
        let mut hasher = AddressHasher::default();
        self.hash(&mut hasher);
        name.hash(&mut hasher);
        NodeKey(hasher.finish())
    }
}

/// A function as called by the functions above it. Direct recursion is one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its caller; the default key where the flow began in it.
    pub(crate) parent: NodeKey,
    /// Its name.
    pub(crate) function: Arc<str>,
    /// Its first address, 0 where no symbol covers it.
    pub(crate) start: u64,
    /// Whether its file is one of the system's libraries.
    pub(crate) library: bool,
    /// Whether the function above went on in it by a jump.
    pub(crate) jumped: bool,
    /// The runtime of the garbage collector that contains or calls it.
    pub(crate) collector: Option<&'static str>,
}

impl Node {
    /// The function's name, without the suffix of Go's functions that assembly calls.
    pub(crate) fn name(&self) -> &str {
        without_abi(&self.function)
    }

    /// Whether the function belongs to a library or runtime.
    pub(crate) fn is_library(&self) -> bool {
        self.library || is_library(&spoken(&self.function))
    }
}

/// How often a block ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockUse {
    pub(crate) executions: u64,
    /// Instructions of all executions together.
    pub(crate) instructions: u64,
}

/// Keyed by an address or a node: one multiplication spreads the keys.
pub(crate) type ByAddress<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserCode {
    /// The tree.
    pub(crate) nodes: ByAddress<NodeKey, Node>,
    /// Blocks by node and first address.
    pub(crate) blocks: ByAddress<(NodeKey, u64), BlockUse>,
    /// The code lines touched.
    pub(crate) footprint: Footprint,
    /// The callers that showed themselves only when a function without a known one returned.
    pub(crate) callers: ByAddress<NodeKey, NodeKey>,
}

impl UserCode {
    /// The functions that ran, and their callers, each as a person says it: `serve()`.
    pub(crate) fn spoken_functions(&self) -> HashSet<String> {
        let functions: HashSet<&str> = self.nodes.values().map(|node| &*node.function).collect();
        functions.into_iter().map(|function| called(&spoken(function))).collect()
    }

    /// `function` runs, called by `parent`.
    pub(crate) fn node(&mut self, parent: NodeKey, function: Option<&Function>) -> NodeKey {
        self.node_by(parent, function, false)
    }

    /// The same; `jumped`: by a jump.
    pub(crate) fn node_by(&mut self, parent: NodeKey, function: Option<&Function>, jumped: bool) -> NodeKey {
        let name = function.map_or(NO_SYMBOL, |function| whole_name(&function.name));
        let make = || Node {
            parent,
            function: Arc::from(name),
            start: function.map_or(0, |function| function.start),
            library: function.is_some_and(|function| function.library),
            jumped,
            collector: function.and_then(|function| function.collector),
        };
        add_node(&mut self.nodes, parent, name, make)
    }

    /// The outermost function above `node` returned to `caller`.
    pub(crate) fn returned(&mut self, node: NodeKey, caller: NodeKey) {
        let root = self.root(node);
        // A loop of callers would be the work of two names with one hash.
        if root != self.root(caller) {
            self.callers.insert(root, caller);
        }
    }

    /// `node` and its callers, innermost first.
    pub(crate) fn lineage(&self, node: NodeKey) -> impl Iterator<Item = (NodeKey, &Node)> {
        let mut next = node;
        let step = move || {
            let at = next;
            let known = self.nodes.get(&at)?;
            next = self.callers.get(&at).copied().unwrap_or(known.parent);
            Some((at, known))
        };
        std::iter::from_fn(step).take(FURTHEST)
    }

    fn root(&self, node: NodeKey) -> NodeKey {
        self.lineage(node).last().map_or(node, |(root, _)| root)
    }

    /// The function of `node` and the innermost of its callers: `copy < insert < work`.
    pub(crate) fn path(&self, node: NodeKey) -> String {
        let mut names: Vec<&str> =
            self.lineage(node).map(|(_, known)| known.name()).take(2 * (MOST_CALLERS + 1)).collect();
        names.dedup();
        names.truncate(MOST_CALLERS + 1);
        names.join(" < ")
    }

    /// The runtime of the garbage collector that `node` is a part of.
    pub(crate) fn collector(&self, node: NodeKey) -> Option<&'static str> {
        self.nodes.get(&node).and_then(|node| node.collector)
    }

    /// A block, by its node and first address, ran so often.
    pub(crate) fn add_use(&mut self, block: (NodeKey, u64), more: BlockUse) {
        if more.executions > 0 {
            let used = self.blocks.entry(block).or_default();
            used.executions += more.executions;
            used.instructions += more.instructions;
        }
    }

    /// `block`, with this key, is about to run; the result is how many of its lines did not run before.
    pub(crate) fn meet(&mut self, key: (NodeKey, u64), block: &Block) -> u64 {
        match self.blocks.entry(key) {
            Entry::Occupied(_) => 0,
            Entry::Vacant(new) => {
                new.insert(BlockUse::default());
                self.footprint.touch(block)
            }
        }
    }

    /// How many instructions ran at least once: approximately the micro-operations, fused as the front end counts
    /// them.
    pub(crate) fn distinct_instructions(&self) -> u64 {
        let by_block: ByAddress<u64, u64> = self
            .blocks
            .iter()
            .map(|(&(_, ip), used)| (ip, used.instructions / used.executions.max(1)))
            .collect();
        by_block.values().sum()
    }

    /// Adds what another thread ran.
    pub(crate) fn add(&mut self, other: UserCode) {
        self.nodes.extend(other.nodes);
        self.callers.extend(other.callers);
        for (key, more) in other.blocks {
            self.add_use(key, more);
        }
        for (line, windows) in other.footprint.lines {
            *self.footprint.lines.entry(line).or_default() |= windows;
        }
    }
}

/// Adds a node for the function `name` below `parent`; `make` makes one that is new. A function that calls itself is one node.
pub(super) fn add_node(
    nodes: &mut ByAddress<NodeKey, Node>,
    parent: NodeKey,
    name: &str,
    make: impl FnOnce() -> Node,
) -> NodeKey {
    let caller = nodes.get(&parent);
    if caller.is_some_and(|caller| &*caller.function == name) {
        return parent;
    }
    let key = parent.below(name);
    let inherited = caller.and_then(|caller| caller.collector);
    nodes.entry(key).or_insert_with(|| {
        let node = make();
        Node { parent, collector: inherited.or(node.collector), ..node }
    });
    key
}

/// The name of the function that `part` is a part of: compilers move what rarely runs into `F.cold`, `F.cold.1`, which demangled is
/// `F [clone .cold]`.
pub(super) fn whole_name(part: &str) -> &str {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = inner.rsplit_once('.').filter(|(_, number)| is_number(number));
    let bare = numbered.map_or(inner, |(name, _)| name);
    bare.strip_suffix(" [clone .cold").or_else(|| bare.strip_suffix(".cold")).unwrap_or(part)
}

/// Which code lines ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Address / 64 → a bit for each of its two 32-byte windows.
    lines: ByAddress<u64, u8>,
}

impl Footprint {
    /// The code of `block` runs; the result is how many of its lines did not run before.
    pub(crate) fn touch(&mut self, block: &Block) -> u64 {
        let mut new_lines = 0;
        // A block ends at most where its instructions can: a damaged end must not cause an endless loop.
        let last = block.end_ip.min(block.ip.saturating_add(u64::from(block.instructions) * 15));
        for window in block.ip >> 5..=last.max(block.ip) >> 5 {
            let windows = self.lines.entry(window >> 1).or_default();
            new_lines += u64::from(*windows == 0);
            *windows |= 1 << (window & 1);
        }
        new_lines
    }

    /// 64-byte lines.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// 32-byte windows.
    pub(crate) fn windows(&self) -> u64 {
        self.lines.values().map(|windows| u64::from(windows.count_ones())).sum()
    }
}

/// Hashes short keys of few words: the keys come from a decoder and cannot be chosen freely.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // Fibonacci hashing; the shift moves the high bits, which are mixed best, down to where tables look.
        let mixed = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
