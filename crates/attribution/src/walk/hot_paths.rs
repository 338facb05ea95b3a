//! Through which functions most of some user code's time passed.
//!
//! Input: runs of user code and stretches of time. Output: for each stretch the chain of functions, outermost first, of which each one
//! with all it called had at least half of the stretch's user time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::TscRange;

use crate::tables::libraries::{called, is_library, is_unnamed, spoken};
use crate::walk::activity::Run;
use crate::walk::user_code::{NodeKey, UserCode};

/// How many callers are named.
const CALLERS: usize = 2;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotPaths {
    /// All functions that ran, and their callers.
    pub(crate) functions: HashSet<Arc<str>>,
    /// One for each stretch; empty where no user code ran in it.
    pub(crate) paths: Vec<Vec<HotFunction>>,
}

/// A function that had most of the time, with all it called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotFunction {
    pub(crate) name: Arc<str>,
    /// Whether it belongs to a library.
    pub(crate) library: bool,
}

impl HotPaths {
    /// Of `runs`, in order of time, in each of `stretches`.
    pub(crate) fn of(code: &UserCode, runs: &[Run], stretches: impl Iterator<Item = TscRange>) -> HotPaths {
        HotPaths {
            functions: code.nodes.values().map(|node| Arc::clone(&node.function)).collect(),
            paths: stretches.map(|stretch| hot_path(code, runs, stretch)).collect(),
        }
    }

    /// The innermost function of the program itself on the path of stretch `index`, and the nearest two that called it:
    /// `sort() called by rank() < serve()`. One with a name is preferred.
    pub(crate) fn innermost(&self, index: usize) -> Option<String> {
        let own = self.paths.get(index)?.iter().rev().filter(|one| !one.library);
        let first = own.clone().next()?;
        let mut named: Vec<String> =
            own.filter(|one| !is_unnamed(&one.name)).map(|one| called(&spoken(&one.name))).collect();
        named.dedup();
        named.truncate(1 + CALLERS);
        let Some((function, callers)) = named.split_first() else {
            return Some(called(&spoken(&first.name)));
        };
        let by =
            if callers.is_empty() { String::new() } else { format!(" called by {}", callers.join(" < ")) };
        Some(format!("{function}{by}"))
    }

    /// The first function of the program itself on the path of stretch `index` that is not one of `usual`.
    pub(crate) fn unusual(&self, index: usize, usual: &HashSet<Arc<str>>) -> Option<String> {
        let new = |one: &&HotFunction| !one.library && !usual.contains(&one.name);
        let mut found = self.paths.get(index)?.iter().filter(new);
        let first = found.next()?;
        let named = std::iter::once(first).chain(found).find(|one| !is_unnamed(&one.name));
        Some(called(&spoken(&named.unwrap_or(first).name)))
    }
}

fn hot_path(code: &UserCode, runs: &[Run], stretch: TscRange) -> Vec<HotFunction> {
    let first = runs.partition_point(|run| run.range.stop <= stretch.start);
    let inside = runs[first..].iter().take_while(|run| run.range.start < stretch.stop);
    let mut by_node: HashMap<NodeKey, u64> = HashMap::new();
    for run in inside {
        *by_node.entry(run.node).or_default() +=
            run.range.intersection(stretch).map_or(0, |range| range.ticks().0);
    }
    let whole: u64 = by_node.values().sum();
    let mut inclusive: HashMap<NodeKey, (u64, usize)> = HashMap::new();
    for (node, ticks) in by_node {
        let lineage: Vec<NodeKey> = code.lineage(node).map(|(key, _)| key).collect();
        for (above, key) in lineage.iter().rev().enumerate() {
            let (sum, depth) = inclusive.entry(*key).or_default();
            (*sum, *depth) = (*sum + ticks, above);
        }
    }
    let mut hot: Vec<(usize, Reverse<u64>, NodeKey)> = inclusive
        .into_iter()
        .filter(|&(_, (ticks, _))| ticks > whole / 2)
        .map(|(node, (ticks, depth))| (depth, Reverse(ticks), node))
        .collect();
    hot.sort_unstable();
    let function = |&(.., node): &(usize, Reverse<u64>, NodeKey)| {
        let known = code.nodes.get(&node)?;
        let library = known.library || is_library(&spoken(&known.function));
        Some(HotFunction { name: Arc::clone(&known.function), library })
    };
    hot.iter().filter_map(function).collect()
}
