use proptest::prelude::*;

use super::*;
use crate::nearest_rank;

fn sketch(lengths: &[u64]) -> Sketch {
    Sketch::of(lengths.iter().map(|&length| (length, 1)))
}

#[test]
fn what_a_table_holds_of_it() {
    let found = serde_json::to_string(&sketch(&[0, 1, 2, 1000])).expect("JSON");
    // ln 2 / ln γ = 34.66, ln 1000 / ln γ = 345.4: rounded up.
    assert_eq!(found, r#"{"gamma":1.02020202020202,"zeros":1,"bins":[[0,1],[35,1],[346,1]]}"#);
    assert_eq!(sketch(&[]).quantile(50.0), None);
    assert_eq!(sketch(&[7]).quantile(101.0), None);
    let mut own = sketch(&[7]);
    let other: Sketch = serde_json::from_str(r#"{"gamma":1.5,"zeros":1,"bins":[]}"#).expect("a sketch");
    assert!(!own.merge(&other));
    assert_eq!(own, sketch(&[7]));
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
        let percentile = f64::from(percentile) / 10.0;
        let exact = nearest_rank(&sorted, percentile).expect("a length");
        let found = sketch(&lengths).quantile(percentile).expect("a length");
        prop_assert!(found.abs_diff(exact) <= exact / 100 + exact / 100_000 + 1, "{found} for {exact}");
    }

    /// Sketches of parts, merged in any order, are the sketch of the whole.
    #[test]
    fn merged_is_as_counted_together(
        one in prop::collection::vec(any::<u64>(), 0..50),
        other in prop::collection::vec(0_u64..100, 0..50),
    ) {
        let whole = sketch(&[one.clone(), other.clone()].concat());
        let (mut first, mut second) = (sketch(&one), sketch(&other));
        prop_assert!(first.merge(&sketch(&other)) && second.merge(&sketch(&one)));
        prop_assert_eq!(&first, &whole);
        prop_assert_eq!(&second, &whole);
        prop_assert_eq!(whole.count(), (one.len() + other.len()) as u64);
    }
}
