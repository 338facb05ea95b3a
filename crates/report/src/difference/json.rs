//! The difference as JSON, schema `tailtrace-diff/1`: `docs/report-schema.md`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CauseChange, Contrast, Difference, DurationChange, QuantileShift, Side, Spread, verdict};
use crate::escape::bounded_for_json;
use crate::json::{
    CallTwin, CaptureTwin, CauseWord, DiagnosticTwin, PopulationTwin, SelectionTwin, UnitWord, document,
    schema_of,
};

/// The schema's name and major version, the first field of every document.
pub const DIFFERENCE_SCHEMA: &str = "tailtrace-diff/1";

/// The only test there is.
const MANN_WHITNEY: &str = "mann-whitney-u";

/// The whole difference.
pub fn render_difference_json(difference: &Difference) -> String {
    document(&DifferenceTwin {
        schema: DIFFERENCE_SCHEMA,
        verdict: bounded_for_json(&verdict(difference)),
        time_unit: difference.time_unit.into(),
        a: SideTwin::new(&difference.a),
        b: SideTwin::new(&difference.b),
        change: difference.change.as_ref().map(ChangeTwin::new),
        typical: ContrastTwin::new(&difference.typical),
        outliers: ContrastTwin::new(&difference.outliers),
        diagnostics: difference.diagnostics.iter().map(DiagnosticTwin::new).collect(),
    })
}

/// The JSON Schema of what [`render_difference_json`] writes.
pub fn difference_schema() -> String {
    schema_of::<DifferenceTwin>()
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "difference", extend(
    "$id" = "urn:tailtrace:diff:1",
    "title" = DIFFERENCE_SCHEMA,
    "description" = "What tailtrace says about two captures. docs/report-schema.md describes each field and what may change."
))]
struct DifferenceTwin {
    #[schemars(extend("const" = DIFFERENCE_SCHEMA))]
    schema: &'static str,
    verdict: String,
    time_unit: UnitWord,
    a: SideTwin,
    b: SideTwin,
    change: Option<ChangeTwin>,
    typical: ContrastTwin,
    outliers: ContrastTwin,
    diagnostics: Vec<DiagnosticTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "side")]
struct SideTwin {
    capture: CaptureTwin,
    population: PopulationTwin,
    selection: SelectionTwin,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "duration_change")]
struct ChangeTwin {
    #[schemars(extend("const" = MANN_WHITNEY))]
    test: &'static str,
    #[schemars(range(min = 0))]
    u: f64,
    #[schemars(range(min = 0))]
    b_longer: f64,
    z: f64,
    #[schemars(range(min = 0))]
    p: f64,
    quantiles: Vec<QuantileTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "quantile_shift")]
struct QuantileTwin {
    #[schemars(range(min = 0))]
    percent: f64,
    a_ns: u64,
    b_ns: u64,
    confidence_ns: Option<[i64; 2]>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "contrast")]
struct ContrastTwin {
    a_count: u64,
    b_count: u64,
    causes: Vec<CauseTwin>,
    calls: Vec<CallTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "cause_change")]
struct CauseTwin {
    cause: CauseWord,
    a: SpreadTwin,
    b: SpreadTwin,
    change_ns: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "spread")]
struct SpreadTwin {
    mean_ns: u64,
    stdev_ns: u64,
    intervals: u64,
}

impl SideTwin {
    fn new(side: &Side) -> SideTwin {
        SideTwin {
            capture: CaptureTwin::new(&side.capture),
            population: PopulationTwin::new(&side.population),
            selection: SelectionTwin::new(&side.selection),
        }
    }
}

impl ChangeTwin {
    fn new(change: &DurationChange) -> ChangeTwin {
        ChangeTwin {
            test: MANN_WHITNEY,
            u: change.u,
            b_longer: change.b_longer,
            z: change.z,
            p: change.p,
            quantiles: change.quantiles.iter().map(QuantileTwin::new).collect(),
        }
    }
}

impl QuantileTwin {
    fn new(shift: &QuantileShift) -> QuantileTwin {
        let &QuantileShift { percent, a_ns, b_ns, confidence_ns } = shift;
        QuantileTwin { percent, a_ns, b_ns, confidence_ns: confidence_ns.map(|(low, high)| [low, high]) }
    }
}

impl ContrastTwin {
    fn new(contrast: &Contrast) -> ContrastTwin {
        ContrastTwin {
            a_count: contrast.a_count,
            b_count: contrast.b_count,
            causes: contrast.causes.iter().map(CauseTwin::new).collect(),
            calls: contrast.calls.nodes.iter().map(CallTwin::new).collect(),
        }
    }
}

impl CauseTwin {
    fn new(change: &CauseChange) -> CauseTwin {
        CauseTwin {
            cause: CauseWord::new(&change.cause),
            a: SpreadTwin::new(change.a),
            b: SpreadTwin::new(change.b),
            change_ns: change.change_ns,
        }
    }
}

impl SpreadTwin {
    fn new(spread: Spread) -> SpreadTwin {
        let Spread { mean_ns, stdev_ns, intervals } = spread;
        SpreadTwin { mean_ns, stdev_ns, intervals }
    }
}
