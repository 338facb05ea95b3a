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
const CALLERS: usize = 2;

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
    pub(crate) notable: Vec<HotFunction>,
}

/// A function on the way to where the time passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotFunction {
    pub(crate) name: Arc<str>,
    /// Whether it belongs to a library.
    pub(crate) library: bool,
    /// Whether it had more than half of the time, with all it called, whoever called it; of the others each had most of what its caller had.
    pub(crate) hot: bool,
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
        named.truncate(1 + CALLERS);
        let Some((function, callers)) = named.split_first() else { return Some(first.spoken()) };
        let by =
            if callers.is_empty() { String::new() } else { format!(" called by {}", callers.join(" < ")) };
        Some(format!("{function}{by}"))
    }

    /// The outermost function of the program itself that had half of stretch `index` and is not one of `usual`; before it what it
    /// called of another library, where that is none of these and had as much. One without a name gets that of the next below it, or
    /// of the one with most time. Where no function of the program above it is usual, it may be no more than where a thread or
    /// goroutine begins: then the innermost one says what ran.
    pub(crate) fn unusual(&self, index: usize, usual: &HashSet<Arc<str>>) -> Option<String> {
        let new = |one: &&HotFunction| !one.library && !usual.contains(&one.name);
        let path = self.paths.get(index)?;
        let mut found = path.way.iter().filter(new);
        let first = found.next().filter(|one| one.hot)?;
        if let Some(library) = of_library(&path.way, first).filter(|one| !usual.contains(&one.name)) {
            return Some(format!("{} called by {}", library.spoken(), first.spoken()));
        }
        if !is_unnamed(&first.name) {
            let begins = path.way.iter().find(|one| !one.library).is_some_and(|one| one == first);
            let below = self.innermost(index).filter(|_| begins);
            let first = first.spoken();
            return Some(match below {
                Some(below) if below.ends_with(&first) => below,
                Some(below) => format!("{} below {first}", below.split(' ').next().unwrap_or(&below)),
                None => first,
            });
        }
        let is_named = |one: &&HotFunction| !is_unnamed(&one.name);
        let named = found.find(is_named).or_else(|| path.notable.iter().filter(new).find(is_named));
        Some(named.map_or_else(|| first.spoken(), |named| format!("{} below {}", named.spoken(), first.name)))
    }
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
    fn of(code: &UserCode, node: NodeKey, hot: bool) -> Option<HotFunction> {
        let known = code.nodes.get(&node)?;
        let library = known.library || is_library(&spoken(&known.function));
        Some(HotFunction { name: Arc::clone(&known.function), library, hot })
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
            .filter_map(|(key, _)| HotFunction::of(code, key, true))
            .collect();
        path.reverse();
        return HotPath { way: path, notable: Vec::new() };
    }
    let whole: u64 = by_node.values().sum();
    let by_name = with_callees_by_name(code, &by_node);
    let inclusive = with_callees(code, by_node);
    let by_name = |node: &NodeKey| by_name.get(&*code.nodes.get(node)?.function).copied();
    let is_hot = |node: &NodeKey| by_name(node).is_some_and(|ticks| ticks > whole / 2);
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
        path.extend(HotFunction::of(code, node, is_hot(&node)));
        (at, left) = (Some(node), left - 1);
    }
    let mut notable: Vec<(Reverse<u64>, NodeKey)> = inclusive
        .iter()
        .filter(|(_, (ticks, _))| *ticks >= whole / LEAST)
        .map(|(&node, &(ticks, _))| (Reverse(ticks), node))
        .collect();
    notable.sort_unstable();
    let notable = notable.into_iter().filter_map(|(_, node)| HotFunction::of(code, node, false)).collect();
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

#[cfg(test)]
mod tests {
    use model::{Ticks, Tsc};

    use super::*;
    use crate::inputs::functions::Function;

    /// One stretch whose way is these functions, outermost first: name, of a library, at least half of the time.
    fn hot(way: &[(&str, bool, bool)]) -> HotPaths {
        let function =
            |&(name, library, hot): &(&str, bool, bool)| HotFunction { name: name.into(), library, hot };
        let path = HotPath { way: way.iter().map(function).collect(), notable: Vec::new() };
        HotPaths { functions: HashSet::new(), paths: vec![path] }
    }

    #[test]
    fn what_the_program_called_of_another_library_is_named() {
        let usual = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        let way = [
            ("serve", false, true),
            ("send_page", false, true),
            ("server+0x1a20", false, true),
            ("deflate", true, true),
            ("libz.so.1+0x40", true, true),
            ("memcpy", true, false),
        ];
        let compressed = hot(&way);
        let expected = "deflate() called by send_page() < serve()";
        assert_eq!(compressed.innermost(0).as_deref(), Some(expected));
        let unusual = |names| compressed.unusual(0, &usual(names));
        assert_eq!(unusual(&["serve"]).as_deref(), Some("deflate() called by send_page()"));
        assert_eq!(unusual(&["serve", "deflate"]).as_deref(), Some("send_page()"));
        assert_eq!(unusual(&["serve", "send_page", "server+0x1a20"]), None);
        // It had little of the time, or is the language's own.
        for library in [("deflate", true, false), ("std::sort", true, true), ("memcpy", true, true)] {
            let other = hot(&[way[0], way[1], library]);
            assert_eq!(other.innermost(0).as_deref(), Some("send_page() called by serve()"));
        }
    }

    #[test]
    fn what_is_unusual_is_named_with_what_it_did() {
        let usual: HashSet<Arc<str>> = ["serve", "step"].map(Arc::from).into();
        let named = |way: &[&str]| {
            let way: Vec<_> = way.iter().map(|&name| (name, is_library(name), true)).collect();
            hot(&way).unusual(0, &usual)
        };
        assert_eq!(named(&["serve", "sort_all", "compare", "memcpy"]).as_deref(), Some("sort_all()"));
        // Nothing above it is known to be usual.
        let goroutine = ["runtime.goexit", "main.feed", "main.parse", "step", "runtime.memmove"];
        assert_eq!(named(&goroutine).as_deref(), Some("step() called by main.parse() < main.feed()"));
        let deep = ["feed", "next", "parse", "split", "step"];
        assert_eq!(named(&deep).as_deref(), Some("step() below feed()"));
        assert_eq!(named(&["feed", "memcpy"]).as_deref(), Some("feed()"));
        assert_eq!(named(&["serve", "step"]), None);
    }

    fn run(node: NodeKey, range: TscRange) -> Run {
        let (cold, uncertainty) = (Ticks(0), Ticks(0));
        let (instructions, calls, ratio, aux_offset) = (10, 1, 0, 0);
        Run {
            range,
            function: None,
            node,
            instructions,
            calls,
            cold,
            ratio,
            cpu: None,
            uncertainty,
            aux_offset,
        }
    }

    /// Two goroutines that run `price`, each in a tree of its own with less than half of the time.
    #[test]
    fn a_function_is_hot_whoever_called_it() {
        let mut code = UserCode::default();
        let named = |name: &str| Function { start: 1, range: 1..2, name: Arc::from(name), library: false };
        let mut runs = Vec::new();
        for (at, root) in [(0, "first"), (50, "second")] {
            let root = code.node(NodeKey::default(), Some(&named(root)));
            let price = code.node(root, Some(&named("price")));
            let node = code.node(price, Some(&named("step")));
            runs.push(run(node, TscRange::new(Tsc(at), Tsc(at + 50))));
        }
        let paths = HotPaths::of(&code, &runs, [TscRange::new(Tsc(0), Tsc(100))].into_iter());
        assert_eq!(paths.innermost(0).as_deref(), Some("step() called by price()"));
    }
}
