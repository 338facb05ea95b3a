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

/// Functions of the program that an interval entered.
pub(super) type Path = BTreeSet<Arc<str>>;

/// The functions by which paths differ.
pub(super) struct Counted(Path);

impl Counted {
    /// Those that enough of `paths` enter.
    pub(super) fn of<'p, P: IntoIterator<Item = &'p Arc<str>>>(
        paths: impl IntoIterator<Item = P>,
    ) -> Counted {
        let (mut counts, mut length): (BTreeMap<&Arc<str>, usize>, usize) = (BTreeMap::new(), 0);
        for path in paths {
            length += 1;
            for name in path {
                *counts.entry(name).or_default() += 1;
            }
        }
        let of_paths = counts.into_iter().filter(|(_, count)| count * ONE_OF >= length);
        Counted(of_paths.map(|(name, _)| name.clone()).collect())
    }

    /// What of `path` counts.
    pub(super) fn in_path<'p>(&self, path: impl IntoIterator<Item = &'p Arc<str>>) -> Path {
        path.into_iter().filter(|&name| self.0.contains(name)).cloned().collect()
    }
}

/// In how many functions two paths differ.
pub(super) fn distance(a: &Path, b: &Path) -> usize {
    a.symmetric_difference(b).count()
}

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
    let paths: Vec<Path> = candidates.iter().map(|candidate| path_of(candidate)).collect();
    let (places, same) = nearest_paths(&path_of(outlier), &paths, wanted);
    (places.into_iter().map(|place| candidates[place]).collect(), same)
}

/// The functions of the program that it entered.
pub(super) fn path_of(examined: &Examined) -> Path {
    entered(attribution::calls(examined)).collect()
}

/// The places of the nearest of `paths`, and how many of them do not differ.
fn nearest_paths(own: &Path, paths: &[Path], wanted: usize) -> (Vec<usize>, usize) {
    let counted = Counted::of(paths);
    let own = counted.in_path(own);
    let from_own = |path: &Path| distance(&own, &counted.in_path(path));
    let mut order: Vec<(usize, usize)> =
        paths.iter().enumerate().map(|(place, path)| (from_own(path), place)).collect();
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
