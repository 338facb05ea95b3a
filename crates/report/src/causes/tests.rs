use model::{Cause, FaultKind, Interval, IntervalId, Ticks, TimeConversion, Tsc, TscRange};
use proptest::prelude::*;

use super::*;

const CAUSES: [Cause; 4] =
    [Cause::UserExpected, Cause::PageFault(FaultKind::Minor), Cause::Timer, Cause::Unexplained];

fn attribution(start: u64, pieces: &[(u64, usize, u64)]) -> Attribution {
    let mut edge = start;
    let segments: Vec<Segment> = pieces
        .iter()
        .map(|&(ticks, cause, occurrence)| {
            let range = TscRange::new(Tsc(edge), Tsc(edge + ticks));
            edge += ticks;
            Segment {
                range,
                cpu: None,
                thread: None,
                cause: CAUSES[cause].clone(),
                occurrence,
                certainty: if occurrence == 0 { Certainty::Inferred } else { Certainty::Measured },
                detail: if occurrence == 0 { String::new() } else { format!("no. {occurrence}") },
                story: model::Story::default(),
                edge_uncertainty: Ticks(0),
                during: Vec::new(),
                evidence: Vec::new(),
            }
        })
        .collect();
    let range = TscRange::new(Tsc(start), Tsc(edge));
    Attribution::new(Interval::new(IntervalId(1), "test", range, None), segments).expect("a partition")
}

fn total<'a>(totals: &'a [CauseTotal], cause: &Cause) -> &'a CauseTotal {
    totals.iter().find(|total| total.cause == cause.to_string()).expect("a total")
}

/// Two faults, one of them in two pieces around a timer interrupt.
#[test]
fn counts_happenings_not_pieces() {
    let outlier = attribution(0, &[(5, 0, 0), (10, 1, 1), (3, 2, 1), (20, 1, 1), (7, 1, 2)]);
    let (totals, mean) = cause_totals::<Attribution>(&outlier, &[], Timebase::Ticks);
    let faults = total(&totals, &CAUSES[1]);
    assert_eq!((faults.count, faults.duration_ns, faults.excess_ns), (2, 37, 37));
    assert_eq!(faults.detail, "no. 1 (and 1 other)");
    assert_eq!(total(&totals, &CAUSES[2]).count, 1);
    assert_eq!(total(&totals, &CAUSES[0]).certainty, Certainty::Inferred);
    assert_eq!(mean, None);
    assert_eq!(totals[0].cause, "kernel.page-fault.minor");
}

/// Occurrence 0 is inferred and the others measured: the weaker one counts where it has a tenth of the time, in either order.
#[test]
fn a_total_is_as_certain_as_its_weakest_part() {
    for pieces in [[(5, 1, 1), (7, 1, 0)], [(5, 1, 0), (7, 1, 1)]] {
        let (totals, _) = cause_totals::<Attribution>(&attribution(0, &pieces), &[], Timebase::Ticks);
        assert_eq!(totals[0].certainty, Certainty::Inferred);
    }
}

/// A sliver does not lower the certainty of a cause; a tenth of its time does.
#[test]
fn certainty_is_weighed_by_time() {
    for (inferred, expected) in [(9, Certainty::Measured), (10, Certainty::Inferred)] {
        let pieces = [(inferred, 1, 0), (100 - inferred, 1, 1)];
        let (totals, _) = cause_totals::<Attribution>(&attribution(0, &pieces), &[], Timebase::Ticks);
        assert_eq!(totals[0].certainty, expected);
    }
}

/// Means 10/3, 7/3 and 3/3 of a whole of 20/3: floors 3, 2, 1 lack one to the rounded mean 7. Both first remainders
/// are a third; the first by name (the page fault) gets it.
#[test]
fn apportions_means_by_largest_remainder() {
    let baselines =
        [attribution(0, &[(10, 0, 0)]), attribution(0, &[(7, 1, 1)]), attribution(0, &[(3, 2, 1)])];
    let outlier = attribution(0, &[(100, 0, 0)]);
    let (totals, mean) = cause_totals(&outlier, &baselines, Timebase::Ticks);
    assert_eq!(mean, Some(7));
    assert_eq!(total(&totals, &CAUSES[0]).typical_ns, 3);
    assert_eq!(total(&totals, &CAUSES[1]).typical_ns, 3);
    assert_eq!(total(&totals, &CAUSES[2]).typical_ns, 1);
    assert_eq!(total(&totals, &CAUSES[2]).excess_ns, -1);
    assert_eq!(total(&totals, &CAUSES[2]).count, 0);
}

#[test]
fn one_detail_among_many_is_only_an_example() {
    let outlier = attribution(0, &[(10, 1, 1), (11, 1, 2), (10, 1, 3)]);
    let (totals, _) = cause_totals::<Attribution>(&outlier, &[], Timebase::Ticks);
    assert_eq!(totals[0].detail, "3 different, foremost: no. 2");
}

/// 10 of 40 ticks have the only detail there is, then 30.
#[test]
fn the_only_detail_may_be_that_of_a_part() {
    for (pieces, detail) in
        [([(30, 1, 0), (10, 1, 2)], "in part: no. 2"), ([(10, 1, 0), (30, 1, 2)], "no. 2")]
    {
        let (totals, _) = cause_totals::<Attribution>(&attribution(0, &pieces), &[], Timebase::Ticks);
        assert_eq!(totals[0].detail, detail);
    }
}

#[test]
fn differences_stay_within_their_type() {
    assert_eq!(signed_difference(0, u64::MAX), i64::MIN);
    assert_eq!(signed_difference(u64::MAX, 0), i64::MAX);
    assert_eq!(signed_difference(3, 5), -2);
}

fn pieces() -> impl Strategy<Value = Vec<(u64, usize, u64)>> {
    proptest::collection::vec((1u64..100_000, 0usize..4, 0u64..5), 1..12)
}

proptest! {
    #[test]
    fn excesses_add_up_exactly(
        outlier in pieces(),
        baselines in proptest::collection::vec(pieces(), 0..7),
        start in 0u64..1 << 50,
        mult in 100_000_000u32..4_000_000_000,
        hertz in 1u64..10_000_000_000,
    ) {
        let outlier = attribution(start, &outlier);
        let baselines: Vec<Attribution> = baselines.iter().map(|pieces| attribution(start / 3, pieces)).collect();
        let conversion = TimeConversion::new(31, mult, 7).expect("usable");
        for timebase in [Timebase::Perf(conversion), Timebase::Hertz(hertz), Timebase::Ticks] {
            let (totals, mean) = cause_totals(&outlier, &baselines, timebase);
            let duration = timebase.duration(outlier.interval().range);
            let whole: u128 = baselines.iter().map(|one| u128::from(timebase.duration(one.interval().range))).sum();
            let count = baselines.len() as u128;
            let expected = (count > 0).then(|| u64::try_from((2 * whole + count) / (2 * count.max(1))).expect("small"));
            prop_assert_eq!(mean, expected);
            let mean = mean.unwrap_or(0);
            prop_assert_eq!(totals.iter().map(|total| total.duration_ns).sum::<u64>(), duration);
            prop_assert_eq!(totals.iter().map(|total| total.typical_ns).sum::<u64>(), mean);
            let excess: i128 = totals.iter().map(|total| i128::from(total.excess_ns)).sum();
            prop_assert_eq!(excess, i128::from(duration) - i128::from(mean));
            prop_assert!(totals.is_sorted_by(|a, b| a.excess_ns >= b.excess_ns));
        }
    }
}
