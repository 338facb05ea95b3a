use super::{Composition, Constituents, PERCENTILES, PathClass, around, nearest_rank};

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

/// By hand: of 100 intervals the faster half are 50 of 11 us, the slowest hundredth is the one of 511 us. Only the lock differs.
#[test]
fn the_slowest_against_the_faster_half() {
    let found = Composition::of(intervals(), 100).tail;
    assert_eq!((found.fast, found.slow), (50, 1));
    let shown: Vec<(&str, f64, f64, f64, f64)> = (found.causes.iter())
        .map(|one| (one.cause.as_str(), one.fast_ns, one.slow_ns, one.share, one.more_often))
        .collect();
    assert_eq!(
        shown,
        [
            ("offcpu.lock", 0.0, 500_000.0, 1.0, 1.0),
            ("kernel.page-fault.minor", 1_000.0, 1_000.0, 0.0, 0.5),
            ("user.expected", 10_000.0, 10_000.0, 0.0, 0.5),
        ]
    );
}

/// The faster half goes up to the median; one interval alone is both, and nothing is compared.
#[test]
fn a_tail_needs_two_intervals() {
    let take = |count| Composition::of(intervals().into_iter().take(count).collect(), 3).tail;
    assert_eq!((take(3).fast, take(3).slow), (2, 1));
    assert_eq!((take(2).fast, take(2).slow), (1, 1));
    assert_eq!((take(1).fast, take(1).slow), (0, 0));
}

/// Twelve intervals of 10 us by `find` and `put`; two of 50 us that also `grow`; one of 9 us without `put`. The median is 10 us.
#[test]
fn paths_are_the_functions_entered() {
    let by = |time: u64, functions: &[&str]| {
        one(&[("user.expected", time)]).entering(functions.iter().map(|&name| name.into()))
    };
    let mut intervals: Vec<Constituents> = (0..12).map(|_| by(10_000, &["put", "find", "put"])).collect();
    intervals.extend((0..2).map(|_| by(50_000, &["find", "put", "grow"])));
    intervals.push(by(9_000, &["find"]));
    let found = Composition::of(intervals, 15).paths;
    let figures =
        |path: &PathClass| (path.lengths.count, path.functions, path.lengths.max_ns, path.excess_ns);
    let shown: Vec<(u64, u64, u64, u64)> = found.iter().map(figures).collect();
    assert_eq!(shown, [(12, 2, 10_000, 0), (2, 3, 50_000, 80_000), (1, 1, 9_000, 0)]);
    let names: Vec<(String, String)> =
        found.iter().map(|path| (path.also.join(" "), path.lacks.join(" "))).collect();
    let expected = [("", ""), ("grow", ""), ("", "put")];
    assert_eq!(names, expected.map(|(also, lacks)| (also.to_owned(), lacks.to_owned())));
    // printf 'find\nput\n' | sha256sum
    assert_eq!(found[0].id, "62bdb9159de7693a");
}

/// Without control flow no function is known to be entered, and there are no paths.
#[test]
fn no_functions_no_paths() {
    assert!(Composition::of(intervals(), 100).paths.is_empty());
}

/// 32 intervals, one each 1 us from 5 us on: four parts of 31,001 / 4 ns, eight in each; the last quarter takes 20 us.
#[test]
fn periods_are_equal_parts_of_the_time() {
    let begun = |n: u64| {
        let time = if n < 24 { 10_000 } else { 20_000 };
        one(&[("user.expected", time)]).starting(5_000 + n * 1_000)
    };
    let found = Composition::of((0..32).map(begun).collect(), 32).periods;
    let shown: Vec<(u64, u64, u64, u64)> =
        (found.iter()).map(|one| (one.from_ns, one.to_ns, one.lengths.count, one.lengths.p50_ns)).collect();
    assert_eq!(
        shown,
        [
            (5_000, 12_751, 8, 10_000),
            (12_751, 20_501, 8, 10_000),
            (20_501, 28_251, 8, 10_000),
            (28_251, 36_001, 8, 20_000),
        ]
    );
    assert_eq!(found[3].causes, [("user.expected".to_owned(), 20_000.0)]);
    assert!(Composition::of((0..15).map(begun).collect(), 15).periods.is_empty());
}

/// Tenths of all, of the slowest tenth and of the slowest hundredth; 100 intervals distinguish no more.
#[test]
fn the_curve_goes_in_steps() {
    let found = Composition::of(intervals(), 100).curve;
    let shown: Vec<f64> = found.iter().map(|point| point.percentile).collect();
    let tenths = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0];
    let hundredths = [91.0, 92.0, 93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0, 100.0];
    assert_eq!(shown, [tenths, hundredths].concat());
    assert_eq!(found[14].duration_ns, 11_000);
    assert_eq!(found[15].duration_ns, 111_000);
}
