//! Which intervals are typical of a path.

use model::{IntervalId, ThreadId, Tsc, TscRange};

use super::*;

/// An interval of 100 ticks and as many more as its number, with what it entered.
fn interval(number: usize, label: &str, tid: i32, path: &str) -> (Interval, Vec<Arc<str>>) {
    let start = 1_000 * number as u64;
    let range = TscRange::new(Tsc(start), Tsc(start + 100 + number as u64));
    let interval = Interval::new(IntervalId(number as u64), label, range, Some(ThreadId::new(1, tid)));
    (interval, path.split_whitespace().map(Arc::from).collect())
}

/// Up to `count` typical intervals for the last of `all`, each `(label, thread, path)`; in order of their numbers.
fn typical_for_the_last(all: &[(&str, i32, &str)], count: usize) -> Vec<usize> {
    let all = all.iter().enumerate().map(|(number, &(label, tid, path))| interval(number, label, tid, path));
    let (intervals, paths): (Vec<Interval>, Vec<Vec<Arc<str>>>) = all.unzip();
    let last = intervals.len() - 1;
    let typical = paths[..last].iter().map(Vec::as_slice).enumerate();
    let classes = PathClasses::of(&intervals, None, typical);
    let own = paths[last].iter().cloned().collect();
    let mut chosen = classes.typical([(last, own)], count).remove(&last).expect("an entry for each outlier");
    chosen.sort_unstable();
    chosen
}

#[test]
fn each_is_compared_with_its_path() {
    let all = [
        ("", 1, "get find"),
        ("", 1, "put store"),
        ("", 1, "get find"),
        ("", 1, "put store"),
        ("", 1, "put store rehash"),
    ];
    assert_eq!(typical_for_the_last(&all, 2), [1, 3]);
}

#[test]
fn where_its_path_has_too_few_the_next_has_more() {
    let all = [
        ("", 1, "get find"),
        ("", 1, "put store"),
        ("", 1, "put store sync"),
        ("", 1, "put store sync"),
        ("", 1, "put store"),
    ];
    assert_eq!(typical_for_the_last(&all, 1), [1]);
    assert_eq!(typical_for_the_last(&all, 3), [1, 2, 3], "one function more, where get differs in four");
    assert_eq!(typical_for_the_last(&all, 9), [0, 1, 2, 3]);
}

#[test]
fn what_few_do_is_no_path() {
    let mut all = vec![("", 1, "put store"); 8];
    all.push(("", 1, "put store rehash"));
    all.push(("", 1, "put store rehash"));
    assert_eq!(typical_for_the_last(&all, 9), [0, 1, 2, 3, 4, 5, 6, 7, 8], "one of nine is too few");
    all.remove(0);
    assert_eq!(typical_for_the_last(&all, 1), [7], "one of eight is not");
}

/// Of a path as of all: its own thread's first.
#[test]
fn labels_and_threads_count_first() {
    let all = [("a", 1, "get"), ("b", 1, "get"), ("a", 2, "get"), ("a", 2, "get"), ("a", 2, "get")];
    assert_eq!(typical_for_the_last(&all, 2), [2, 3]);
    assert_eq!(typical_for_the_last(&all, 3), [0, 2, 3]);
}

/// Without control flow no path is known, and any typical interval is as near.
#[test]
fn without_paths_all_are_alike() {
    assert_eq!(typical_for_the_last(&[("", 1, ""), ("", 1, ""), ("", 1, "")], 4), [0, 1]);
    assert_eq!(typical_for_the_last(&[("a", 1, ""), ("b", 1, "")], 4), [0; 0], "another label's are none");
}
