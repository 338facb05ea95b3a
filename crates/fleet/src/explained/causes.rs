//! The rows in `causes` and `segments` of explained outliers.

use model::Tsc;
use report::{CauseChain, OutlierReport, function_of};

use super::facts::Facts;
use super::homes::{Home, Homes};
use crate::hash;
use crate::row::{CauseRow, SegmentRow, filled, int};
use crate::rows::Rows;

/// An outlier with the chains of its causes.
pub(super) struct ExplainedOutlier<'r> {
    pub(super) outlier: &'r OutlierReport,
    /// In the order of the causes.
    pub(super) chains: Vec<CauseChain>,
}

/// Adds them.
pub(super) fn add(rows: &mut Rows, facts: &Facts<'_, '_>, outliers: Vec<ExplainedOutlier<'_>>) {
    let homes = Homes::of(facts.study.capture(), facts.build_ids());
    for ExplainedOutlier { outlier, chains } in outliers {
        causes(rows, facts.capture, &homes, outlier, chains);
        segments(rows, facts.capture, outlier);
    }
}

fn causes(
    rows: &mut Rows,
    capture: &str,
    homes: &Homes<'_, '_>,
    outlier: &OutlierReport,
    chains: Vec<CauseChain>,
) {
    for (rank, (cause, chain)) in outlier.causes.iter().zip(chains).enumerate() {
        let Home { file, build_id, offset } = homes.home(&chain.function, Tsc(outlier.start_tsc));
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
            file,
            build_id,
            offset,
            story: hash::story(&chain.chain),
            chain: chain.chain,
        });
    }
}

fn segments(rows: &mut Rows, capture: &str, outlier: &OutlierReport) {
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
