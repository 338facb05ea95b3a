//! What the time of all intervals is made of.

use schemars::JsonSchema;
use serde::Serialize;

use super::lengths::LengthsTwin;
use super::words::CauseWord;
use crate::composition::{Composition, CompositionPoint, PathClass, Period, Tail, TailCause, Without};
use crate::escape::bounded_for_json;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition")]
pub(super) struct CompositionTwin {
    explained: u64,
    intervals: u64,
    points: Vec<PointTwin>,
    curve: Vec<PointTwin>,
    tail: TailTwin,
    paths: Vec<PathTwin>,
    periods: Vec<PeriodTwin>,
    without: Vec<WithoutTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_tail")]
struct TailTwin {
    fast: u64,
    slow: u64,
    causes: Vec<TailCauseTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_tail_cause")]
struct TailCauseTwin {
    cause: CauseWord,
    fast_ns: f64,
    slow_ns: f64,
    share: f64,
    #[schemars(range(min = 0, max = 1))]
    more_often: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_path")]
struct PathTwin {
    id: String,
    functions: u64,
    also: Vec<String>,
    lacks: Vec<String>,
    differing: u64,
    lengths: LengthsTwin,
    excess_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "composition_period")]
struct PeriodTwin {
    from_ns: u64,
    to_ns: u64,
    lengths: LengthsTwin,
    mean_ns: f64,
    causes: Vec<PartTwin>,
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
            curve: composition.curve.iter().map(PointTwin::new).collect(),
            tail: TailTwin::new(&composition.tail),
            paths: composition.paths.iter().map(PathTwin::new).collect(),
            periods: composition.periods.iter().map(PeriodTwin::new).collect(),
            without: composition.without.iter().map(WithoutTwin::new).collect(),
        }
    }
}

impl PartTwin {
    fn all(causes: &[(String, f64)]) -> Vec<PartTwin> {
        let part =
            |(cause, mean_ns): &(String, f64)| PartTwin { cause: CauseWord::new(cause), mean_ns: *mean_ns };
        causes.iter().map(part).collect()
    }
}

impl TailTwin {
    fn new(tail: &Tail) -> TailTwin {
        let cause = |one: &TailCause| TailCauseTwin {
            cause: CauseWord::new(&one.cause),
            fast_ns: one.fast_ns,
            slow_ns: one.slow_ns,
            share: one.share,
            more_often: one.more_often,
        };
        TailTwin { fast: tail.fast, slow: tail.slow, causes: tail.causes.iter().map(cause).collect() }
    }
}

impl PathTwin {
    fn new(path: &PathClass) -> PathTwin {
        let names = |names: &[String]| names.iter().map(|name| bounded_for_json(name)).collect();
        PathTwin {
            id: path.id.clone(),
            functions: path.functions,
            also: names(&path.also),
            lacks: names(&path.lacks),
            differing: path.differing,
            lengths: LengthsTwin::new(&path.lengths),
            excess_ns: path.excess_ns,
        }
    }
}

impl PeriodTwin {
    fn new(period: &Period) -> PeriodTwin {
        PeriodTwin {
            from_ns: period.from_ns,
            to_ns: period.to_ns,
            lengths: LengthsTwin::new(&period.lengths),
            mean_ns: period.mean_ns,
            causes: PartTwin::all(&period.causes),
        }
    }
}

impl PointTwin {
    fn new(point: &CompositionPoint) -> PointTwin {
        PointTwin {
            percentile: point.percentile,
            intervals: point.intervals,
            duration_ns: point.duration_ns,
            mean_ns: point.mean_ns,
            causes: PartTwin::all(&point.causes),
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
