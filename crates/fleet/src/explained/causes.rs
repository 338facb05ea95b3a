//! The rows in `causes` and `segments` of an explained outlier.

use report::{OutlierReport, function_of, unnamed_function};

use super::facts::Facts;
use crate::hash;
use crate::row::{CauseRow, SegmentRow, filled, int};
use crate::rows::Rows;

/// Adds them.
pub(super) fn add(rows: &mut Rows, facts: &Facts<'_, '_>, outlier: &OutlierReport) {
    let capture = facts.capture;
    for (rank, (cause, chain)) in outlier.causes.iter().zip(facts.chains(outlier)).enumerate() {
        let unnamed = unnamed_function(&chain.function);
        let (file, offset) = unnamed.map(|(file, offset)| (file.to_owned(), int(offset))).unzip();
        rows.push(CauseRow {
            capture: capture.to_owned(),
            interval: int(outlier.id),
            cause: cause.cause.clone(),
            rank: int(rank as u64),
            duration_ns: int(cause.duration_ns),
            typical_ns: int(cause.typical_ns),
            excess_ns: cause.excess_ns,
            count: int(cause.count),
            certainty: cause.certainty.to_string(),
            what: chain.what,
            who: filled(chain.who),
            object: filled(chain.object),
            function: filled(chain.function),
            build_id: file.as_deref().and_then(|file| facts.build_id(file)),
            file,
            offset,
            story: hash::story(&chain.chain),
            chain: chain.chain,
        });
    }
    for (number, segment) in outlier.segments.iter().enumerate() {
        rows.push(SegmentRow {
            capture: capture.to_owned(),
            interval: int(outlier.id),
            segment: int(number as u64),
            offset_ns: int(segment.offset_ns),
            ticks: int(segment.ticks),
            duration_ns: int(segment.duration_ns),
            cpu: segment.cpu.map(i64::from),
            cause: segment.cause.clone(),
            certainty: segment.certainty.to_string(),
            function: function_of(&segment.story.place).map(str::to_owned),
            object: filled(&*segment.story.object),
            who: filled(&*segment.story.by),
        });
    }
}
