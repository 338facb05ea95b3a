//! The call tree of an interval with its time: for flame graphs and call tables.
//!
//! Input: an examined interval. Output: [`Calls`] whose stretches are its pieces, so their ticks add up to it, and calls that have no
//! time of their own. Time that is not user code is placed below the user function that ran before and named by its cause. Below a cause
//! of kernel work stand the kernel's functions that the flow shows, from the one that the work began with.

use std::collections::HashMap;
use std::sync::Arc;

use model::{CallLayer, CallNode, CallStretch, Calls, Cause, Tsc, TscRange};

use crate::claims::partition::Piece;
use crate::claims::precedence::Rank;
use crate::examine::examined::Examined;
use crate::walk::kernel_runs::KernelRun;
use crate::walk::user_code::{ByAddress, NodeKey};

/// Callers that are followed outwards; more are a loop made by two names with the same hash.
const DEEPEST: usize = 512;

/// The calls of `examined`.
pub fn calls(examined: &Examined) -> &Calls {
    examined.calls.get_or_init(|| tree(examined))
}

fn tree(examined: &Examined) -> Calls {
    let mut tree = Tree {
        examined,
        calls: Calls::default(),
        nodes: ByAddress::default(),
        leaves: HashMap::new(),
        kernel_nodes: ByAddress::default(),
        works: ByAddress::default(),
        works_in: Vec::new(),
        counted: vec![false; examined.kernel.runs.len()],
        next_run: 0,
    };
    let mut last_user = None;
    for piece in &examined.pieces {
        if let Some(run) = examined.run_of(piece) {
            last_user = tree.user(run.node);
            let calls = if piece.range.start == run.range.start { run.calls } else { 0 };
            tree.add_stretch(last_user, piece.range, calls);
        } else {
            let (node, calls) = tree.other(last_user, piece);
            match node.zip(tree.work(piece)) {
                Some((cause, occurrence)) => tree.kernel(cause, occurrence, piece.range, calls),
                None => tree.add_stretch(node, piece.range, calls),
            }
        }
    }
    tree.add_short_runs();
    tree.add_short_kernel_runs();
    tree.calls.stretches.sort_by_key(|stretch| (stretch.range.start, stretch.range.stop));
    tree.calls
}

/// The tree in the making.
struct Tree<'a> {
    examined: &'a Examined,
    calls: Calls,
    nodes: ByAddress<NodeKey, u32>,
    leaves: HashMap<(Option<u32>, String), u32>,
    /// Kernel functions below a cause.
    kernel_nodes: ByAddress<(u32, NodeKey), u32>,
    /// The cause's index by the occurrence of the kernel work.
    works: ByAddress<u64, u32>,
    /// The same by time, in order.
    works_in: Vec<(TscRange, u32)>,
    /// Which kernel runs have their calls in a stretch.
    counted: Vec<bool>,
    /// The kernel runs before it ended before the current piece.
    next_run: usize,
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

    /// The occurrence of the kernel work that a piece is, where the flow shows that.
    fn work(&self, piece: &Piece) -> Option<u64> {
        let claim = self.examined.claim_of(piece)?;
        Some(claim.occurrence).filter(|_| claim.bid.rank == Rank::Kernel)
    }

    /// Time of kernel work below the node of its cause, divided among its functions; what no function has is the cause's own.
    fn kernel(&mut self, cause: u32, occurrence: u64, range: TscRange, calls: u64) {
        self.works.insert(occurrence, cause);
        self.works_in.push((range, cause));
        let runs = &self.examined.kernel.runs;
        while runs.get(self.next_run).is_some_and(|run| run.range.stop <= range.start) {
            self.next_run += 1;
        }
        self.add_stretch(Some(cause), TscRange::new(range.start, range.start), calls);
        let mut at = range.start;
        let mut index = self.next_run;
        while let Some(run) = runs.get(index).filter(|run| run.range.start < range.stop) {
            let part = run.range.intersection(range).filter(|part| !part.is_empty());
            if let Some(part) = part.filter(|_| run.occurrence == occurrence) {
                let node = self.kernel_node(cause, run.node);
                let calls = if part.start == run.range.start { run.calls } else { 0 };
                self.counted[index] |= part.start == run.range.start;
                self.add_stretch(Some(cause), TscRange::new(at, part.start), 0);
                self.add_stretch(node, part, calls);
                at = part.stop;
            }
            index += 1;
        }
        self.add_stretch(Some(cause), TscRange::new(at, range.stop), 0);
    }

    /// The index of a kernel function under its callers and, above them, its cause.
    fn kernel_node(&mut self, cause: u32, node: NodeKey) -> Option<u32> {
        let mut parent = Some(cause);
        let mut chain = Vec::new();
        for (key, known) in self.examined.kernel.lineage(node).take(DEEPEST) {
            if let Some(&known) = self.kernel_nodes.get(&(cause, key)) {
                parent = Some(known);
                break;
            }
            chain.push((key, known));
        }
        for (key, known) in chain.into_iter().rev() {
            let index = self.add(parent, known.function.clone(), CallLayer::Kernel)?;
            self.calls.nodes[index as usize].recording.clone_from(&known.recording);
            self.kernel_nodes.insert((cause, key), index);
            parent = Some(index);
        }
        parent
    }

    /// The index of the cause that kernel work without time, a spin-wait loop that found the lock free, took place in.
    fn work_at(&self, at: Tsc) -> Option<u32> {
        let later = self.works_in.partition_point(|(range, _)| range.start <= at);
        let (range, cause) = self.works_in[..later].last()?;
        Some(*cause).filter(|_| range.stop >= at)
    }

    /// Adds the calls of kernel runs without a piece, as [`Tree::add_short_runs`] does for user code.
    fn add_short_kernel_runs(&mut self) {
        let Examined { kernel, interval, .. } = self.examined;
        for (index, run) in kernel.runs.iter().enumerate() {
            let KernelRun { range, node, occurrence, calls } = *run;
            let is_left = calls > 0 && !self.counted[index] && interval.range.contains(range.start);
            if !is_left {
                continue;
            }
            if let Some(cause) = self.works.get(&occurrence).copied().or_else(|| self.work_at(range.start)) {
                let node = self.kernel_node(cause, node);
                self.add_stretch(node, TscRange::new(range.start, range.start), calls);
            }
        }
    }

    /// Time of a node, or calls without time; nothing of neither.
    fn add_stretch(&mut self, node: Option<u32>, range: TscRange, calls: u64) {
        if let Some(node) = node.filter(|_| calls > 0 || !range.is_empty()) {
            self.calls.stretches.push(CallStretch { range, node, calls });
        }
    }

    /// Adds the calls of runs without a piece, as stretches without length: no packet separates the times of short functions, so that all
    /// of their time is another one's.
    fn add_short_runs(&mut self) {
        let mut counted: ByAddress<(Tsc, u32), u64> = ByAddress::default();
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
            self.add_stretch(Some(node), TscRange::new(at, at), calls);
        }
    }

    fn add(&mut self, parent: Option<u32>, name: Arc<str>, layer: CallLayer) -> Option<u32> {
        let index = u32::try_from(self.calls.nodes.len()).ok()?;
        self.calls.nodes.push(CallNode { parent, name, layer, recording: None });
        Some(index)
    }
}

#[cfg(test)]
mod tests;
