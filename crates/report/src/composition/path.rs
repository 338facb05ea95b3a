//! Intervals by the functions of the program that they entered: how often each path is taken, and how slow it is.
//!
//! Not the order of the calls, nor how often: a loop that runs once more is the same path. What an interval was in already when it began is
//! not entered in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::constituents::Constituents;
use crate::distribution::{Lengths, nearest_rank};

/// Paths that are kept.
const MOST_PATHS: usize = 50;
/// Functions of one that are named.
const MOST_FUNCTIONS: usize = 20;

/// The intervals that entered the same functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathClass {
    /// The same for the same names, in any capture: the first 64 bits of SHA-256 over the sorted names, each with a line feed; in hexadecimal.
    pub id: String,
    /// How many functions it enters.
    pub functions: u64,
    /// What it enters and the most frequent path does not, some of the names; of the most frequent path itself none.
    pub also: Vec<String>,
    /// What the most frequent path enters and this one does not, some of the names.
    pub lacks: Vec<String>,
    /// How many functions `also` and `lacks` were before they were cut.
    pub differing: u64,
    /// How long its intervals are.
    pub lengths: Lengths,
    /// What its intervals took above the median of all, in sum.
    pub excess_ns: u64,
}

/// Of intervals in the order of their durations; none where no function was seen.
pub(super) fn of(ordered: &[Constituents]) -> Vec<PathClass> {
    let Some(median) = ordered.get(nearest_rank(ordered.len(), 50.0)).map(|one| one.duration_ns) else {
        return Vec::new();
    };
    let mut classes: BTreeMap<&[Arc<str>], Vec<u64>> = BTreeMap::new();
    for one in ordered {
        classes.entry(&one.entered).or_default().push(one.duration_ns);
    }
    if classes.keys().all(|functions| functions.is_empty()) {
        return Vec::new();
    }
    let Some((usual, _)) = classes.iter().max_by_key(|(_, durations)| durations.len()) else {
        return Vec::new();
    };
    let usual: &[Arc<str>] = usual;
    let mut paths: Vec<PathClass> =
        classes.iter().map(|(functions, durations)| path(functions, usual, durations, median)).collect();
    paths.sort_by_key(|path| (path.differing > 0, Reverse(path.excess_ns), Reverse(path.lengths.count)));
    paths.truncate(MOST_PATHS);
    paths
}

fn path(functions: &[Arc<str>], usual: &[Arc<str>], durations: &[u64], median: u64) -> PathClass {
    let (own, others): (BTreeSet<&str>, BTreeSet<&str>) =
        (functions.iter().map(|name| &**name).collect(), usual.iter().map(|name| &**name).collect());
    let names = |of: &BTreeSet<&str>, but: &BTreeSet<&str>| -> Vec<String> {
        of.difference(but).take(MOST_FUNCTIONS).map(|&name| name.to_owned()).collect()
    };
    PathClass {
        id: id(functions),
        functions: own.len() as u64,
        also: names(&own, &others),
        lacks: names(&others, &own),
        differing: own.symmetric_difference(&others).count() as u64,
        lengths: Lengths::of(durations.to_vec()),
        excess_ns: durations.iter().fold(0, |sum, &one| sum.saturating_add(one.saturating_sub(median))),
    }
}

fn id(functions: &[Arc<str>]) -> String {
    let mut hash = Sha256::new();
    for name in functions {
        hash.update(name.as_bytes());
        hash.update(b"\n");
    }
    let first = hash.finalize().first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}
