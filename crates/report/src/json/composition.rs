//! What the time of all intervals is made of.

use schemars::JsonSchema;
use serde::Serialize;

use super::words::CauseWord;
use crate::composition::{Composition, CompositionPoint, Without};
use crate::escape::bounded_for_json;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition")]
pub(super) struct CompositionTwin {
    explained: u64,
    intervals: u64,
    points: Vec<PointTwin>,
    without: Vec<WithoutTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_point")]
struct PointTwin {
    #[schemars(range(min = 0, max = 100))]
    percentile: f64,
    intervals: u64,
    duration_ns: u64,
    mean_ns: f64,
    causes: Vec<PartTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_part")]
struct PartTwin {
    cause: CauseWord,
    mean_ns: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_without")]
struct WithoutTwin {
    cause: CauseWord,
    what: Option<String>,
    percentiles_ns: Vec<u64>,
}

impl CompositionTwin {
    pub(super) fn new(composition: &Composition) -> CompositionTwin {
        CompositionTwin {
            explained: composition.explained,
            intervals: composition.intervals,
            points: composition.points.iter().map(PointTwin::new).collect(),
            without: composition.without.iter().map(WithoutTwin::new).collect(),
        }
    }
}

impl PointTwin {
    fn new(point: &CompositionPoint) -> PointTwin {
        let part =
            |(cause, mean_ns): &(String, f64)| PartTwin { cause: CauseWord::new(cause), mean_ns: *mean_ns };
        PointTwin {
            percentile: point.percentile,
            intervals: point.intervals,
            duration_ns: point.duration_ns,
            mean_ns: point.mean_ns,
            causes: point.causes.iter().map(part).collect(),
        }
    }
}

impl WithoutTwin {
    fn new(without: &Without) -> WithoutTwin {
        WithoutTwin {
            cause: CauseWord::new(&without.cause),
            what: (!without.what.is_empty()).then(|| bounded_for_json(&without.what)),
            percentiles_ns: without.percentiles_ns.clone(),
        }
    }
}
