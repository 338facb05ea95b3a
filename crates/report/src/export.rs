//! The report for other tools: folded stacks, a table of segments, Firefox Profiler, Perfetto.
//!
//! Input: a [`Report`](crate::Report). Output: what those tools read. Each outlier stands for itself, at its own perf
//! time where the clocks are joined, else at zero; lengths in ticks stand in for nanoseconds where nothing is known.

mod csv;
mod firefox;
mod folded;
mod perfetto;
mod protobuf;

pub use csv::export_csv;
pub use firefox::export_firefox;
pub use folded::export_folded;
pub use perfetto::export_perfetto;

use std::collections::BTreeMap;

use crate::{OutlierReport, SegmentReport};

/// Deeper `during` is left out.
const DEEPEST: usize = 8;

/// `order 50`, not escaped.
fn name(outlier: &OutlierReport) -> String {
    format!("{} {}", outlier.label, outlier.id).trim().to_owned()
}

/// All segments with their level: 0 for those of the sum, else how deep below a wait.
fn all_segments(outlier: &OutlierReport) -> Vec<(usize, &SegmentReport)> {
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
fn by_thread(outlier: &OutlierReport) -> BTreeMap<(usize, Option<i32>), Vec<&SegmentReport>> {
    let mut threads: BTreeMap<_, Vec<&SegmentReport>> = BTreeMap::new();
    for (level, segment) in all_segments(outlier) {
        threads.entry((level, segment.tid)).or_default().push(segment);
    }
    for segments in threads.values_mut() {
        segments.sort_by_key(|segment| segment.offset_ns);
    }
    threads
}

/// `engine 412`, `tid 130`, `unknown thread`; not escaped.
fn thread_name(outlier: &OutlierReport, tid: Option<i32>) -> String {
    let Some(tid) = tid else { return "unknown thread".to_owned() };
    let own = [&outlier.start_thread, &outlier.stop_thread].into_iter().flatten();
    match own.into_iter().find(|thread| thread.tid == tid && !thread.comm.is_empty()) {
        Some(thread) => format!("{} {tid}", thread.comm),
        None => format!("tid {tid}"),
    }
}
