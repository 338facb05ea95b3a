use model::Certainty;
use proptest::prelude::*;

use super::*;

fn segment(offset_ns: u64, duration_ns: u64, during: Vec<SegmentReport>) -> SegmentReport {
    SegmentReport {
        ticks: 0,
        offset_ns,
        duration_ns,
        cpu: None,
        tid: None,
        cause: "offcpu.lock".to_owned(),
        certainty: Certainty::Measured,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty_ns: 0,
        during,
        serving: Vec::new(),
        evidence: Vec::new(),
    }
}

fn outlier() -> OutlierReport {
    let below = vec![segment(100, 50, Vec::new()), segment(150, 750, vec![segment(150, 100, Vec::new())])];
    let segments = vec![segment(0, 100, Vec::new()), segment(100, 800, below), segment(900, 100, Vec::new())];
    OutlierReport { duration_ns: 1000, segments, ..OutlierReport::default() }
}

fn paths(part: &SegmentsPart) -> Vec<Vec<usize>> {
    part.lines(&outlier()).into_iter().map(|line| line.path).collect()
}

#[test]
fn a_wait_unfolds_and_folds_with_all_below_it() {
    let mut part = SegmentsPart::default();
    assert!(!part.unfold(&outlier()), "the first segment is no wait");
    part.cursor = Cursor::new(1);
    assert!(part.unfold(&outlier()));
    part.cursor = Cursor::new(3);
    assert!(part.unfold(&outlier()));
    assert_eq!(paths(&part), [vec![0], vec![1], vec![1, 0], vec![1, 1], vec![1, 1, 0], vec![2]]);
    part.cursor = Cursor::new(1);
    assert!(part.unfold(&outlier()));
    assert_eq!(paths(&part), [[0], [1], [2]]);
}

#[test]
fn zoom_goes_to_the_segment_and_back() {
    let mut part = SegmentsPart { cursor: Cursor::new(2), ..SegmentsPart::default() };
    part.zoom(&outlier(), true);
    assert_eq!(part.view(&outlier()), (750, 1000), "a quarter, around 950, within the interval");
    part.zoom_to_segment(&outlier());
    assert_eq!(part.view(&outlier()), (887, 1000), "13 on either side, where there is time");
    part.pan(&outlier(), false);
    assert_eq!(part.view(&outlier()), (859, 972));
    part.zoom_to_all();
    assert_eq!(part.view(&outlier()), (0, 1000));
}

#[test]
fn the_view_follows_the_cursor() {
    let mut part = SegmentsPart::default();
    part.zoom_to_segment(&outlier());
    assert_eq!(part.view(&outlier()), (0, 113));
    part.cursor = Cursor::new(2);
    part.follow(&outlier());
    assert_eq!(part.view(&outlier()), (887, 1000), "as wide as before");
}

proptest! {
    #[test]
    fn any_walk_stays_within_the_interval(steps in prop::collection::vec(0u8..6, 0..40), duration in 0u64..5000) {
        let outlier = OutlierReport { duration_ns: duration, ..outlier() };
        let mut part = SegmentsPart::default();
        for step in steps {
            match step {
                0 => part.zoom(&outlier, true),
                1 => part.zoom(&outlier, false),
                2 => part.pan(&outlier, true),
                3 => part.pan(&outlier, false),
                4 => part.cursor.step(1, 3),
                _ => part.zoom_to_segment(&outlier),
            }
            let (from, to) = part.view(&outlier);
            prop_assert!(from < to && to <= duration.max(1));
        }
    }
}
