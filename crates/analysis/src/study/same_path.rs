//! Typical intervals on the path of an outlier: where one label stands for several kinds of work, each kind is compared with its own.
//!
//! Input: an outlier and typical intervals of its label, examined. Output: those whose path is nearest to its own. A path is the functions
//! of the program that an interval entered, as in `stat --causes`: not their order, nor how often.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use attribution::Examined;
use model::{CallLayer, Calls};

/// Candidates for each typical interval that is wanted.
pub(super) const CANDIDATES: usize = 4;
/// One in so many candidates enters a function that belongs to a path. What fewer enter may be the very reason for slowness: an outlier
/// would be compared with its like and have no excess.
const ONE_OF: usize = 8;

/// The functions of the program that were entered.
pub(super) fn entered(calls: &Calls) -> impl Iterator<Item = Arc<str>> {
    let nodes = calls.stretches.iter().filter(|stretch| stretch.calls > 0);
    let nodes = nodes.filter_map(|stretch| calls.nodes.get(stretch.node as usize));
    nodes.filter(|node| node.layer == CallLayer::User).map(|node| node.name.clone())
}

/// Up to `wanted` of `candidates`, the nearest to the path of `outlier` first; where two are equally near, in the order of the candidates.
/// And how many of them are on the very same path.
pub(super) fn nearest<'e>(
    outlier: &Examined,
    candidates: &[&'e Examined],
    wanted: usize,
) -> (Vec<&'e Examined>, usize) {
    let path = |examined: &Examined| entered(attribution::calls(examined)).collect();
    let paths: Vec<BTreeSet<Arc<str>>> = candidates.iter().map(|candidate| path(candidate)).collect();
    let (places, same) = nearest_paths(&path(outlier), &paths, wanted);
    (places.into_iter().map(|place| candidates[place]).collect(), same)
}

/// The places of the nearest of `paths`, and how many of them do not differ.
fn nearest_paths(
    own: &BTreeSet<Arc<str>>,
    paths: &[BTreeSet<Arc<str>>],
    wanted: usize,
) -> (Vec<usize>, usize) {
    let mut counts: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for name in paths.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let is_of_path = |name: &&Arc<str>| counts.get(name).is_some_and(|&count| count * ONE_OF >= paths.len());
    let distance = |path: &BTreeSet<Arc<str>>| own.symmetric_difference(path).filter(is_of_path).count();
    let mut order: Vec<(usize, usize)> =
        paths.iter().enumerate().map(|(place, path)| (distance(path), place)).collect();
    order.sort_unstable();
    order.truncate(wanted);
    let same = order.partition_point(|&(distance, _)| distance == 0);
    (order.into_iter().map(|(_, place)| place).collect(), same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(of: &[&str]) -> Vec<BTreeSet<Arc<str>>> {
        of.iter().map(|names| names.split_whitespace().map(Arc::from).collect()).collect()
    }

    #[test]
    fn each_kind_of_work_is_compared_with_its_own() {
        let candidates =
            paths(&["get find", "put store", "get find", "put store", "get find retry", "get find"]);
        let own = |names| paths(&[names]).remove(0);
        assert_eq!(nearest_paths(&own("put store"), &candidates, 2), (vec![1, 3], 2));
        assert_eq!(nearest_paths(&own("get find"), &candidates, 4), (vec![0, 2, 5, 4], 3));
        assert_eq!(
            nearest_paths(&own("put store rehash"), &candidates, 2),
            (vec![1, 3], 2),
            "what only it does"
        );
        assert_eq!(nearest_paths(&own("get find"), &[], 2), (vec![], 0));
    }

    #[test]
    fn what_few_do_belongs_to_no_path() {
        let mut candidates = paths(&["put store rehash"]);
        candidates.extend(paths(&["put store"; 8]));
        let own = paths(&["put store rehash"]).remove(0);
        assert_eq!(nearest_paths(&own, &candidates, 3), (vec![0, 1, 2], 3), "all are as near");
        let enough = paths(&["put store rehash", "put store", "put store"]);
        assert_eq!(nearest_paths(&own, &enough, 2), (vec![0, 1], 1));
    }
}
