//! What was different in some user code: functions of the program itself that no typical interval runs.
//!
//! Input: a thread's stretches with their functions, and the functions that are usual. Output: for each stretch the outermost unusual
//! function and the one that did its work.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{HotFunction, HotPath, HotPaths, of_library};
use crate::tables::libraries::is_unnamed;

/// The time that a function had in all stretches that have the same unusual function, that first.
type Times<'a> = HashMap<(&'a str, &'a str), u64>;

impl HotPaths {
    /// Of each stretch the outermost function of the program itself that had half of it and is not one of `usual`; before it what it
    /// called of another library, where that is none of these and had as much, else the function that had most of its time. One without
    /// a name gets that of the next below it, or of the one with most time there; else of a usual one that did its work, or called it. Where
    /// no function of the program above it is usual, it may
    /// be no more than where a thread or goroutine begins: then the innermost one says what ran.
    pub(crate) fn unusual(&self, usual: &HashSet<Arc<str>>) -> Vec<Option<String>> {
        let mut times: Times<'_> = HashMap::new();
        for path in &self.paths {
            let Some(first) = path.unusual(usual).next() else { continue };
            for one in &path.way {
                *times.entry((&*first.name, &*one.name)).or_default() += one.ticks;
            }
        }
        (0..self.paths.len()).map(|index| self.unusual_at(index, usual, &times)).collect()
    }

    fn unusual_at(&self, index: usize, usual: &HashSet<Arc<str>>, times: &Times<'_>) -> Option<String> {
        let path = &self.paths[index];
        let mut found = path.unusual(usual);
        let first = found.next().filter(|one| one.hot)?;
        if let Some(library) = of_library(&path.way, first).filter(|one| !usual.contains(&one.name)) {
            return Some(format!("{} called by {}", library.spoken(), first.spoken()));
        }
        if !first.is_named() {
            let below = found.find(|one| one.is_named()).or_else(|| path.notable_below(first, usual));
            return Some(path.placed(first, below));
        }
        let begins = path.way.iter().find(|one| !one.library).is_some_and(|one| one == first);
        let spoken = first.spoken();
        if !begins {
            return Some(path.doing_work_of(first, usual, times));
        }
        Some(match self.innermost(index) {
            Some(below) if below.ends_with(&spoken) => below,
            Some(below) => format!("{} below {spoken}", below.split(' ').next().unwrap_or(&below)),
            None => spoken,
        })
    }

    /// Of each stretch the unusual function with most time, however little of the stretch that was, with the one that did its work, and
    /// the ticks that it had.
    pub(crate) fn most_unusual(&self, usual: &HashSet<Arc<str>>) -> Vec<Option<(String, u64)>> {
        self.paths.iter().map(|path| path.most_unusual(usual)).collect()
    }
}

impl HotPath {
    /// The functions of the program itself on the way that are none of `usual`, outermost first.
    fn unusual<'a>(&'a self, usual: &'a HashSet<Arc<str>>) -> impl Iterator<Item = &'a HotFunction> {
        self.way.iter().filter(|one| one.is_unusual(usual))
    }

    /// The unusual function with a name below `first` that had most of the time.
    fn notable_below(&self, first: &HotFunction, usual: &HashSet<Arc<str>>) -> Option<&HotFunction> {
        let function = |at: usize| &self.notable[at].function;
        let is_below = |&at: &usize| self.callers(at).skip(1).any(|caller| function(caller) == first);
        let is_found = |&at: &usize| function(at).is_unusual(usual) && function(at).is_named();
        (0..self.notable.len()).filter(is_found).find(is_below).map(function)
    }

    /// Where `first` lies, which has no name: above `below`, above the usual function that did its work, or below the one that called it.
    fn placed(&self, first: &HotFunction, below: Option<&HotFunction>) -> String {
        let own = || self.way.iter().filter(|one| !one.library);
        let worker = || own().skip_while(|one| *one != first).filter(|one| one.hot && one.is_named()).last();
        if let Some(below) = below.or_else(worker) {
            return format!("{} below {}", below.spoken(), first.name);
        }
        let caller = own().take_while(|one| *one != first).filter(|one| one.is_named()).last();
        caller.map_or_else(|| first.spoken(), |caller| format!("{} below {}", first.name, caller.spoken()))
    }

    /// `first`, and the innermost unusual function of the program itself below it that had most of its time: a handler often does no
    /// more than to call another.
    fn doing_work_of(&self, first: &HotFunction, usual: &HashSet<Arc<str>>, times: &Times<'_>) -> String {
        let time = |one: &HotFunction| times.get(&(&*first.name, &*one.name)).copied().unwrap_or(0);
        let does_most =
            |one: &&HotFunction| one.is_unusual(usual) && one.is_named() && time(one) * 2 > time(first);
        let own: Vec<&HotFunction> =
            self.way.iter().skip_while(|one| *one != first).filter(|one| !one.library).collect();
        let worker = own.iter().skip(1).rposition(does_most);
        let between = worker.unwrap_or(0);
        said(worker.map(|at| own[at + 1]), between == 0, first)
    }

    fn most_unusual(&self, usual: &HashSet<Arc<str>>) -> Option<(String, u64)> {
        let is_unusual = |at: &usize| {
            let function = &self.notable[*at].function;
            function.is_unusual(usual) && function.is_named()
        };
        let outermost = |at: &usize| !self.callers(*at).skip(1).any(|caller| is_unusual(&caller));
        // The first of equals is the one with most time.
        let first = (0..self.notable.len()).filter(is_unusual).find(outermost)?;
        let whole = self.notable[first].function.ticks;
        let within = |at: &usize| self.notable[*at].function.ticks * 2 > whole;
        let own = |at: &usize| !self.notable[*at].function.library;
        let depth = |at: usize| self.callers(at).position(|caller| caller == first);
        let below = (0..self.notable.len()).filter(is_unusual).filter(within);
        let (worker, _) = below.filter_map(|at| Some((at, depth(at)?))).max_by_key(|&(_, depth)| depth)?;
        let between = self.callers(worker).skip(1).take_while(|&caller| caller != first).filter(own).count();
        let function = |at: usize| &self.notable[at].function;
        let worker = Some(worker).filter(|&worker| worker != first).map(function);
        Some((said(worker, between == 0, function(first)), whole))
    }

    /// A notable function and its callers, by their places.
    fn callers(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |&at| self.notable[at].caller).take(self.notable.len())
    }
}

/// `parse_orders() called by handle()`, with `below` where others are between them; `handle()` without a worker.
fn said(worker: Option<&HotFunction>, adjacent: bool, first: &HotFunction) -> String {
    let by = if adjacent { "called by" } else { "below" };
    worker.map_or_else(|| first.spoken(), |worker| format!("{} {by} {}", worker.spoken(), first.spoken()))
}

impl HotFunction {
    fn is_named(&self) -> bool {
        !is_unnamed(&self.name)
    }

    fn is_unusual(&self, usual: &HashSet<Arc<str>>) -> bool {
        !self.library && !usual.contains(&self.name)
    }
}
