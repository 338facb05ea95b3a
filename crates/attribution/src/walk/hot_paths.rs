//! Through which functions most of some user code's time passed.
//!
//! Input: runs of user code and stretches of time. Output: for each stretch the chain of functions, outermost first, from each to the
//! callee with most time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::TscRange;

use crate::tables::libraries::{called, is_library, is_unnamed, spoken};
use crate::walk::activity::{Run, runs_within};
use crate::walk::user_code::{NodeKey, UserCode};

/// How many callers are named.
pub(crate) const CALLERS: usize = 2;

/// The way ends here: the tree of a damaged trace may be deep.
const DEEPEST: usize = 512;

/// The way ends where less than this part of the time passes.
const LEAST: u64 = 8;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotPaths {
    /// All functions that ran, and their callers.
    pub(crate) functions: HashSet<Arc<str>>,
    /// One for each stretch.
    pub(crate) paths: Vec<HotPath>,
}

/// One stretch's functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotPath {
    /// The way to where the time passed, outermost first.
    pub(crate) way: Vec<HotFunction>,
    /// All that had a notable part of the time with all they called, most first.
    pub(crate) notable: Vec<Notable>,
}

/// A function with a notable part of the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notable {
    pub(crate) function: HotFunction,
    /// The place of its caller among the notable functions.
    pub(crate) caller: Option<usize>,
}

/// A function on the way to where the time passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotFunction {
    pub(crate) name: Arc<str>,
    /// Whether it belongs to a library.
    pub(crate) library: bool,
    /// Whether it had more than half of the time, with all it called, whoever called it; of the others each had most of what its caller had.
    pub(crate) hot: bool,
    /// The time of the stretch that it had so, in ticks; 0 where no user code ran.
    pub(crate) ticks: u64,
}

impl HotPaths {
    /// Of `runs`, in order of time, in each of `stretches`.
    pub(crate) fn of(code: &UserCode, runs: &[Run], stretches: impl Iterator<Item = TscRange>) -> HotPaths {
        HotPaths {
            functions: code.nodes.values().map(|node| Arc::clone(&node.function)).collect(),
            paths: stretches.map(|stretch| hot_path(code, runs, stretch)).collect(),
        }
    }

    /// The innermost function of the program itself that had half of stretch `index`, and the nearest two that called it:
    /// `sort() called by rank() < serve()`. One with a name is preferred, and what it called of another library where that had as
    /// much.
    pub(crate) fn innermost(&self, index: usize) -> Option<String> {
        let way = &self.paths.get(index)?.way;
        let own = way.iter().rev().filter(|one| !one.library && one.hot);
        let first = own.clone().next()?;
        let named = own.filter(|one| !is_unnamed(&one.name));
        let mut named: Vec<String> =
            of_library(way, first).into_iter().chain(named).map(HotFunction::spoken).collect();
        named.dedup();
        Some(with_callers(&named).unwrap_or_else(|| first.spoken()))
    }
}

/// `sort() called by rank() < serve()` of the names of functions, innermost first; `None` of none.
pub(crate) fn with_callers(named: &[String]) -> Option<String> {
    let (function, callers) = named.split_first()?;
    let callers = &callers[..callers.len().min(CALLERS)];
    Some(match callers {
        [] => function.clone(),
        _ => format!("{function} called by {}", callers.join(" < ")),
    })
}

/// The outermost function below `own` on `way` that belongs to another library than the language's and had at least half of the time:
/// `deflate()`, and not `memcpy()`.
fn of_library<'a>(way: &'a [HotFunction], own: &HotFunction) -> Option<&'a HotFunction> {
    let is_other = |one: &&HotFunction| {
        let name = spoken(&one.name);
        one.library && one.hot && !is_library(&name) && !is_unnamed(&name)
    };
    way.iter().skip_while(|one| *one != own).find(is_other)
}

impl HotFunction {
    /// `ticks`: what it had of `whole`.
    fn of(code: &UserCode, node: NodeKey, ticks: u64, whole: u64) -> Option<HotFunction> {
        let known = code.nodes.get(&node)?;
        let library = known.is_library();
        Some(HotFunction { name: Arc::clone(&known.function), library, hot: ticks > whole / 2, ticks })
    }

    fn spoken(&self) -> String {
        called(&spoken(&self.name))
    }
}

/// The functions through which most of `stretch` passed, outermost first; where no user code ran in it, those in which it was left.
fn hot_path(code: &UserCode, runs: &[Run], stretch: TscRange) -> HotPath {
    let mut by_node: HashMap<NodeKey, u64> = HashMap::new();
    for (node, ticks) in runs_within(runs, stretch) {
        *by_node.entry(node).or_default() += ticks.0;
    }
    if by_node.is_empty() {
        let first = runs.partition_point(|run| run.range.stop <= stretch.start);
        let left = first.checked_sub(1).map(|last| runs[last].node);
        let mut path: Vec<HotFunction> = left
            .iter()
            .flat_map(|&node| code.lineage(node))
            .filter_map(|(key, _)| Some(HotFunction { hot: true, ..HotFunction::of(code, key, 0, 0)? }))
            .collect();
        path.reverse();
        return HotPath { way: path, notable: Vec::new() };
    }
    let whole: u64 = by_node.values().sum();
    let by_name = with_callees_by_name(code, &by_node);
    let inclusive = with_callees(code, by_node);
    let by_name = |node: &NodeKey| Some(by_name.get(&*code.nodes.get(node)?.function).copied().unwrap_or(0));
    let function = |node| HotFunction::of(code, node, by_name(&node)?, whole);
    let mut path = Vec::new();
    let mut at = None;
    let mut left = DEEPEST;
    // The outermost function has all of it; from each the way goes on to the callee with most.
    while left > 0
        && let Some((&node, _)) = inclusive
            .iter()
            .filter(|(_, (ticks, caller))| *caller == at && *ticks >= whole / LEAST)
            .max_by_key(|&(&node, &(ticks, _))| (ticks, Reverse(node)))
    {
        path.extend(function(node));
        (at, left) = (Some(node), left - 1);
    }
    let mut notable: Vec<(Reverse<u64>, NodeKey)> = inclusive
        .iter()
        .filter(|(node, (ticks, _))| *ticks >= whole / LEAST && code.nodes.contains_key(node))
        .map(|(&node, &(ticks, _))| (Reverse(ticks), node))
        .collect();
    notable.sort_unstable();
    let places: HashMap<NodeKey, usize> =
        notable.iter().zip(0..).map(|(&(_, node), at)| (node, at)).collect();
    let caller = |node| places.get(&inclusive.get(&node)?.1?).copied();
    let notable = notable
        .iter()
        .filter_map(|&(_, node)| Some(Notable { function: function(node)?, caller: caller(node) }));
    let notable = notable.collect();
    HotPath { way: path, notable }
}

/// The ticks of each function with all it called, by its name: two goroutines that run the same function have two trees.
fn with_callees_by_name<'a>(code: &'a UserCode, by_node: &HashMap<NodeKey, u64>) -> HashMap<&'a str, u64> {
    let mut inclusive: HashMap<&str, u64> = HashMap::new();
    for (&node, ticks) in by_node {
        let names: HashSet<&str> = code.lineage(node).map(|(_, node)| &*node.function).collect();
        for name in names {
            *inclusive.entry(name).or_default() += ticks;
        }
    }
    inclusive
}

/// The ticks of each function with all it called, and its caller.
pub(crate) fn with_callees(
    code: &UserCode,
    by_node: HashMap<NodeKey, u64>,
) -> HashMap<NodeKey, (u64, Option<NodeKey>)> {
    let mut inclusive: HashMap<NodeKey, (u64, Option<NodeKey>)> = HashMap::new();
    for (node, ticks) in by_node {
        let lineage: Vec<NodeKey> = code.lineage(node).map(|(key, _)| key).collect();
        for (at, &key) in lineage.iter().enumerate() {
            let (sum, caller) = inclusive.entry(key).or_default();
            (*sum, *caller) = (*sum + ticks, lineage.get(at + 1).copied());
        }
    }
    inclusive
}

mod unusual;

#[cfg(test)]
mod tests;
