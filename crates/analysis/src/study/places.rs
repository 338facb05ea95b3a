//! Where a slice's records stood in its recording: a report on a slice names the same places as one on the recording.

use model::FileOffset;
use perfdata::PerfData;
use report::{Report, SegmentReport};

/// Names the places of the recording; changes nothing of a report on a recording.
pub(crate) fn of_recording(perf: &PerfData, report: &mut Report) {
    if perf.slice_note().is_none() {
        return;
    }
    for outlier in &mut report.outliers {
        outlier.segments.iter_mut().for_each(|segment| of_segment(perf, segment));
    }
}

fn of_segment(perf: &PerfData, segment: &mut SegmentReport) {
    for offset in segment.evidence.iter_mut().filter_map(|evidence| evidence.file_offset.as_mut()) {
        *offset = perf.origin(FileOffset(*offset)).0;
    }
    segment.during.iter_mut().for_each(|segment| of_segment(perf, segment));
}
