//! Test that shares add up and outliers with one story come together, whatever the order.

use proptest::prelude::*;

use super::*;
use crate::CauseTotal;

/// An outlier with these excesses; causes come with the largest first, as from `OutlierReport::new`.
fn outlier(id: u64, excesses: &[(&str, i64)]) -> OutlierReport {
    let total = |&(cause, excess_ns): &(&str, i64)| CauseTotal {
        cause: cause.to_owned(),
        duration_ns: excess_ns.unsigned_abs(),
        typical_ns: 0,
        excess_ns,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: String::new(),
    };
    let mut causes: Vec<CauseTotal> = excesses.iter().map(total).collect();
    causes.sort_by_key(|total| Reverse(total.excess_ns));
    let duration_ns = causes.iter().map(|total| total.duration_ns).sum();
    OutlierReport { id, duration_ns, causes, ..OutlierReport::default() }
}

/// Excess 900 + 100 and 1000: 1900 of 2000 for the lock, 100 for the timer; what is less than typical does not count.
#[test]
fn shares_by_hand() {
    let outliers = [
        outlier(1, &[("offcpu.lock", 900), ("kernel.timer", 100), ("user.expected", -50)]),
        outlier(2, &[("offcpu.lock", 1000)]),
    ];
    let view = View::of(&outliers);
    let told: Vec<(&str, u64, u64, u64)> = view
        .causes
        .iter()
        .map(|share| (&*share.cause, share.dominates, share.outliers, share.excess_ns))
        .collect();
    let expected = [("offcpu.lock", 2, 2, 1900), ("kernel.timer", 0, 1, 100), ("user.expected", 0, 0, 0)];
    assert_eq!(told, expected);
    assert!((view.causes[0].share - 0.95).abs() < 1e-12);
}

/// A tenth of the excess is no part of the story, a fifth is; the order of weight distinguishes stories.
#[test]
fn the_same_story_is_told_once() {
    let outliers = [
        outlier(1, &[("offcpu.lock", 900), ("kernel.timer", 100)]),
        outlier(2, &[("offcpu.lock", 800), ("offcpu.runnable", 200)]),
        outlier(3, &[("offcpu.lock", 10)]),
        outlier(4, &[("offcpu.runnable", 800), ("offcpu.lock", 200)]),
        outlier(5, &[("user.expected", -1)]),
    ];
    let many = outlier(6, &[("a", 19), ("b", 18), ("c", 17), ("d", 16), ("e", 15), ("f", 14)]);
    assert_eq!(View::of(&[many]).stories[0].causes, ["a"], "the largest, however small");
    let told: Vec<(String, Vec<u64>)> =
        View::of(&outliers).stories.into_iter().map(|story| (story.words, story.ids)).collect();
    let expected = [
        ("waited for a lock or an event", vec![1, 3]),
        ("waited for a lock or an event, and queued for a CPU", vec![2]),
        ("queued for a CPU, and waited for a lock or an event", vec![4]),
        ("took no longer than typical", vec![5]),
    ];
    assert_eq!(told, expected.map(|(words, ids)| (words.to_owned(), ids)));
}

/// A system call that nothing names has no name in the story; without typical intervals no code is usual.
#[test]
fn a_story_names_only_what_is_known() {
    let outliers = [
        outlier(1, &[("kernel.syscall.unknown", 10)]),
        outlier(2, &[("kernel.syscall.read", 10)]),
        outlier(3, &[("user.expected", 10)]),
    ];
    let told: BTreeMap<u64, String> =
        View::of(&outliers).stories.into_iter().map(|story| (story.ids[0], story.words)).collect();
    let expected = ["was in a system call", "was in the system call read", "ran its own code"];
    assert!(told.into_values().eq(expected));
}

/// Nearest rank: of 1 to 200 the median is the 100th, p99 the 198th.
#[test]
fn lengths_are_by_nearest_rank() {
    let lengths = Lengths::of((1..=200).rev().collect());
    assert_eq!(lengths, Lengths { count: 200, total_ns: 20_100, p50_ns: 100, p99_ns: 198, max_ns: 200 });
    assert_eq!(Lengths::of(Vec::new()), Lengths::default());
}

const NAMES: [&str; 5] = ["offcpu.lock", "kernel.timer", "user.expected", "kernel.irq.nvme0q1", "new.cause"];

prop_compose! {
    fn some_outliers()(
        all in prop::collection::vec(prop::collection::btree_map(0usize..5, -1000i64..1_000_000, 0..5), 0..12)
    ) -> Vec<OutlierReport> {
        let one = |(id, causes): (usize, &BTreeMap<usize, i64>)| {
            let named: Vec<(&str, i64)> = causes.iter().map(|(&at, &excess)| (NAMES[at], excess)).collect();
            outlier(id as u64, &named)
        };
        all.iter().enumerate().map(one).collect()
    }
}

proptest! {
    /// Shares of causes and of stories add up to 1, every outlier has one story, and the order changes nothing but
    /// the order of ids.
    #[test]
    fn shares_add_up_in_any_order(outliers in some_outliers(), turn in 0usize..12) {
        let view = View::of(&outliers);
        let has_excess = view.causes.iter().any(|share| share.excess_ns > 0);
        let whole = if has_excess { 1.0 } else { 0.0 };
        prop_assert!((view.causes.iter().map(|share| share.share).sum::<f64>() - whole).abs() < 1e-9);
        prop_assert!((view.stories.iter().map(|story| story.share).sum::<f64>() - whole).abs() < 1e-9);
        prop_assert_eq!(view.stories.iter().map(|story| story.ids.len()).sum::<usize>(), outliers.len());
        let mut turned = outliers.clone();
        if !turned.is_empty() {
            turned.rotate_left(turn % outliers.len());
        }
        let mut again = View::of(&turned);
        for story in &mut again.stories {
            story.ids.sort_unstable();
        }
        prop_assert_eq!(again, view);
    }
}
