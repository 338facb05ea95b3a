use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::nearest_rank;

fn sketch(lengths: &[u64]) -> Sketch {
    Sketch::of(lengths.iter().map(|&length| (length, 1)))
}

/// The length at rank ⌈`percentile`/100 · n⌉, from the buckets as the tables describe them; `percentile` in tenths.
fn quantile(sketch: &Sketch, percentile: u64) -> u64 {
    let rank = (percentile * sketch.count()).div_ceil(1000).max(1);
    let mut sum = sketch.zeros;
    let found = sketch.bins.iter().find(|(_, count)| {
        sum += count;
        sum >= rank
    });
    let of =
        |bucket: i64| 2.0 * sketch.gamma.powi(i32::try_from(bucket).expect("small")) / (sketch.gamma + 1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    if rank <= sketch.zeros { 0 } else { of(found.expect("a bucket").0).round() as u64 }
}

#[test]
fn what_a_table_holds_of_it() {
    let found = serde_json::to_string(&sketch(&[0, 1, 2, 1000])).expect("JSON");
    // ln 2 / ln γ = 34.66, ln 1000 / ln γ = 345.4: rounded up; 1 is the lower end of its bucket.
    assert_eq!(found, r#"{"gamma":1.02020202020202,"zeros":1,"bins":[[1,1],[35,1],[346,1]]}"#);
    assert_eq!(sketch(&[]), Sketch { bins: Vec::new(), zeros: 0, ..sketch(&[7]) });
    assert_eq!(Sketch::of([(7, 3), (0, 2)]), sketch(&[7, 0, 7, 0, 7]));
    assert_eq!(Sketch::of([(7, u64::MAX), (8, 9), (0, u64::MAX)]).count(), u64::MAX);
}

proptest! {
    /// The error of one per cent, a nanosecond for rounding, and what floats lose at a bucket's edge.
    #[test]
    fn a_quantile_is_within_one_per_cent(
        lengths in prop::collection::vec(prop_oneof![0_u64..50, 0_u64..1 << 40, any::<u64>()], 1..200),
        percentile in 0_u32..=1000,
    ) {
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        let exact = nearest_rank(&sorted, f64::from(percentile) / 10.0).expect("a length");
        let found = quantile(&sketch(&lengths), u64::from(percentile));
        prop_assert!(found.abs_diff(exact) <= exact / 100 + exact / 100_000 + 1, "{found} for {exact}");
    }

    /// The counts of parts, added, are the sketch of the whole.
    #[test]
    fn merged_is_as_counted_together(
        one in prop::collection::vec(any::<u64>(), 0..50),
        other in prop::collection::vec(0_u64..100, 0..50),
    ) {
        let whole = sketch(&[one.clone(), other.clone()].concat());
        let (one, other) = (sketch(&one), sketch(&other));
        let mut merged: BTreeMap<i64, u64> = one.bins.into_iter().collect();
        for (bucket, count) in other.bins {
            *merged.entry(bucket).or_default() += count;
        }
        prop_assert_eq!(merged.into_iter().collect::<Vec<_>>(), whole.bins);
        prop_assert_eq!(one.zeros + other.zeros, whole.zeros);
    }
}
