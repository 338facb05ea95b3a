use super::{Composition, Constituents, PERCENTILES, around, nearest_rank};

fn one(causes: &[(&str, u64)]) -> Constituents {
    Constituents::of_causes(causes.iter().map(|&(cause, time)| (cause.to_owned(), time)))
}

/// 100 intervals of 10 us of the program's own work, of which five waited for a lock, for 100 to 500 us, and all for a fault of 1 us.
fn intervals() -> Vec<Constituents> {
    let quiet = (0..95).map(|_| one(&[("user.expected", 10_000), ("kernel.page-fault.minor", 1_000)]));
    let slow = (1..=5).map(|n| {
        one(&[("user.expected", 10_000), ("kernel.page-fault.minor", 1_000), ("offcpu.lock", n * 100_000)])
    });
    slow.chain(quiet).collect()
}

/// By hand: ranks 50, 90, 99, 100 and 100 of 100. One percent on either side of the first two is one interval; half of one percent
/// beside p99 is none.
#[test]
fn each_percentile_is_the_mean_of_the_intervals_around_it() {
    let found = Composition::of(intervals(), 100);
    assert_eq!((found.explained, found.intervals), (100, 100));
    let shown: Vec<(u64, u64, f64)> =
        found.points.iter().map(|point| (point.intervals, point.duration_ns, point.mean_ns)).collect();
    let slow = |ns: u32| (1, u64::from(ns), f64::from(ns));
    assert_eq!(
        shown,
        [(3, 11_000, 11_000.0), (3, 11_000, 11_000.0), slow(411_000), slow(511_000), slow(511_000)]
    );
    let last = found.points.last().expect("five points");
    assert_eq!(last.causes[0], ("offcpu.lock".to_owned(), 500_000.0));
    for point in &found.points {
        let sum: f64 = point.causes.iter().map(|(_, mean)| mean).sum();
        assert!((sum - point.mean_ns).abs() < 1e-6, "{point:?}");
    }
}

/// Without the lock all intervals take 11 us; without the fault each takes 1 us less. The program's own work is no cause to be without.
#[test]
fn percentiles_without_a_cause() {
    let found = Composition::of(intervals(), 100);
    let shown: Vec<(&str, &[u64])> =
        found.without.iter().map(|one| (one.cause.as_str(), one.percentiles_ns.as_slice())).collect();
    assert_eq!(
        shown,
        [
            ("offcpu.lock", [11_000; 5].as_slice()),
            ("kernel.page-fault.minor", &[10_000, 10_000, 410_000, 510_000, 510_000]),
        ]
    );
}

/// Ten intervals of 10 us; two waited 90 us for a lock, at different places, of which 80 us are more than typical. Without one place the
/// other still makes the longest.
#[test]
fn places_stand_below_their_cause() {
    let mut intervals: Vec<Constituents> = (0..8).map(|_| one(&[("user.expected", 10_000)])).collect();
    for place in ["in take()", "in take()", "in give()"] {
        let reason = (["offcpu.lock".to_owned(), place.to_owned()], 80_000);
        let waited = one(&[("user.expected", 10_000), ("offcpu.lock", 90_000)]);
        intervals.push(Constituents { reasons: vec![reason], ..waited });
    }
    let found = Composition::of(intervals, 11);
    let shown: Vec<(&str, &str, &[u64])> = (found.without.iter())
        .map(|one| (one.cause.as_str(), one.what.as_str(), one.percentiles_ns.as_slice()))
        .collect();
    assert_eq!(
        shown,
        [
            ("offcpu.lock", "", [10_000; 5].as_slice()),
            ("offcpu.lock", "in take()", &[10_000, 20_000, 100_000, 100_000, 100_000]),
        ]
    );
}

#[test]
fn nothing_explained_has_no_points() {
    let found = Composition::of(Vec::new(), 7);
    assert_eq!((found.explained, found.intervals, found.points.len(), found.without.len()), (0, 7, 0, 0));
}

proptest::proptest! {
    /// The ranks that stand for a percentile lie around its own, and the percentiles of any durations rise.
    #[test]
    fn ranks_lie_within(times in proptest::collection::vec(0_u64..1_000_000, 1..300)) {
        for percentile in PERCENTILES {
            let rank = nearest_rank(times.len(), percentile);
            let around = around(times.len(), rank, percentile);
            proptest::prop_assert!(around.contains(&rank) && around.end <= times.len());
        }
        let all = times.iter().map(|&time| one(&[("offcpu.lock", time)])).collect();
        let found = Composition::of(all, times.len() as u64);
        let durations: Vec<u64> = found.points.iter().map(|point| point.duration_ns).collect();
        proptest::prop_assert!(durations.is_sorted());
        proptest::prop_assert_eq!(durations.last(), times.iter().max());
    }
}
