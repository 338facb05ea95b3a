//! An outlier as tracks: its name, its segments by level and thread, the threads' names.

use std::collections::BTreeMap;

use model::CallLayer;

use crate::outlier::{OutlierReport, SegmentReport};

/// Deeper `during` is left out.
const DEEPEST: usize = 8;

/// `order 50`, not escaped.
pub(super) fn name(outlier: &OutlierReport) -> String {
    format!("{} {}", outlier.label, outlier.id).trim().to_owned()
}

/// Where a cause's time is spent.
pub(super) fn layer_of(cause: &str) -> CallLayer {
    match cause.split('.').next() {
        Some("user" | "runtime") => CallLayer::User,
        Some("kernel") => CallLayer::Kernel,
        _ => CallLayer::Waiting,
    }
}

/// All segments with their level: 0 for those of the sum, else how deep below a wait.
pub(super) fn all_segments(outlier: &OutlierReport) -> Vec<(usize, &SegmentReport)> {
    fn add<'a>(segments: &'a [SegmentReport], level: usize, all: &mut Vec<(usize, &'a SegmentReport)>) {
        for segment in segments {
            all.push((level, segment));
            if level < DEEPEST {
                add(&segment.during, level + 1, all);
            }
        }
    }
    let mut all = Vec::new();
    add(&outlier.segments, 0, &mut all);
    all
}

/// The segments of each level and thread, in order of time.
pub(super) fn by_thread(outlier: &OutlierReport) -> BTreeMap<(usize, Option<i32>), Vec<&SegmentReport>> {
    let mut threads: BTreeMap<_, Vec<&SegmentReport>> = BTreeMap::new();
    for (level, segment) in all_segments(outlier) {
        threads.entry((level, segment.tid)).or_default().push(segment);
    }
    for segments in threads.values_mut() {
        segments.sort_by_key(|segment| segment.offset_ns);
    }
    threads
}

/// Where one thread's time led to another's: the request that a server read, from the segment before the wait; the answer that ended a
/// wait, to the segment after it.
pub(super) fn handovers(outlier: &OutlierReport) -> Vec<(&SegmentReport, &SegmentReport)> {
    fn add<'a>(
        segments: &'a [SegmentReport],
        level: usize,
        all: &mut Vec<(&'a SegmentReport, &'a SegmentReport)>,
    ) {
        for (place, wait) in segments.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| &segments[place]);
            all.extend(before.zip(wait.during.iter().find(|piece| piece.story.takes)));
            all.extend(wait.during.last().zip(segments.get(place + 1)));
            if level < DEEPEST {
                add(&wait.during, level + 1, all);
            }
        }
    }
    let mut all = Vec::new();
    add(&outlier.segments, 0, &mut all);
    all
}
