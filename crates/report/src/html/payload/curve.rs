//! What the time is made of at each percentile, for the slider.

use serde::Serialize;

use super::texts::Texts;
use crate::composition::CompositionPoint;
use crate::html::family::{family, shade};
use crate::report::Report;
use crate::timebase::TimeUnit;

/// Causes of one percentile.
const MOST_CAUSES: usize = 40;

#[derive(Serialize)]
pub(super) struct PointTwin {
    percentile: f64,
    name: usize,
    intervals: u64,
    took: u64,
    mean: f64,
    ticks: bool,
    /// Name, colour class, shade and mean time of each cause.
    causes: Vec<(usize, &'static str, u8, f64)>,
}

/// In the order of the percentiles; none where nothing was explained for it.
pub(super) fn points(report: &Report, texts: &mut Texts) -> Vec<PointTwin> {
    let ticks = report.capture.time_unit == TimeUnit::Ticks;
    let curve = report.composition.iter().flat_map(|composition| &composition.curve);
    curve.map(|point| PointTwin::new(point, ticks, texts)).collect()
}

impl PointTwin {
    fn new(point: &CompositionPoint, ticks: bool, texts: &mut Texts) -> PointTwin {
        let causes = point.causes.iter().take(MOST_CAUSES);
        PointTwin {
            percentile: point.percentile,
            name: texts.index(&point.name()),
            intervals: point.intervals,
            took: point.duration_ns,
            mean: point.mean_ns,
            ticks,
            causes: causes
                .map(|(cause, mean)| (texts.index(cause), family(cause), shade(cause), *mean))
                .collect(),
        }
    }
}
