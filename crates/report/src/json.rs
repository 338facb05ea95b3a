//! JSON, schema `tailtrace-report/1`: `docs/report-schema.md` is the contract.
//!
//! The twins below own the spelling of every field, so that renaming a field of the report cannot change a format
//! that others parse. 64-bit times are decimal strings, lengths are numbers.

use model::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;

use crate::distribution::{Bin, Mode, Modes, Percentiles};
use crate::escape::{bounded_for_json, for_json_document};
use crate::report::{CaptureFacts, LostMarkers, PopulationSummary, Report, SelectionSummary};
use crate::snapshots::Snapshots;

mod composition;
mod lengths;
mod numa;
mod outlier;
mod pebs;
mod schema;
mod view;
mod words;

pub(crate) use outlier::CallTwin;
pub use schema::schema_of;
pub(crate) use words::{CauseWord, UnitWord};

/// The schema's name and major version, the first field of every document.
pub const SCHEMA: &str = "tailtrace-report/1";

/// The whole report, for `explain --format json`.
pub fn render_json(report: &Report) -> String {
    document(&ReportTwin {
        selection: Some(SelectionTwin::new(&report.selection)),
        outliers: Some(report.outliers.iter().map(outlier::OutlierTwin::new).collect()),
        view: Some(view::ViewTwin::new(&report.view)),
        ..ReportTwin::of_population(report)
    })
}

/// The JSON Schema of what [`render_json`] and [`render_stat_json`] write.
pub fn report_schema() -> String {
    schema_of::<ReportTwin>()
}

/// The population alone, for `stat --format json`: the same document without `outliers` and `view`, and without `selection` where it has
/// no rule.
pub fn render_stat_json(report: &Report) -> String {
    let chosen = Some(&report.selection).filter(|chosen| !chosen.rule.is_empty());
    document(&ReportTwin { selection: chosen.map(SelectionTwin::new), ..ReportTwin::of_population(report) })
}

/// One document and a newline. Writing to memory fails only for maps whose keys are no strings; there are none.
pub(crate) fn document(twin: &impl Serialize) -> String {
    let mut document = for_json_document(&serde_json::to_string_pretty(twin).unwrap_or_default());
    document.push('\n');
    document
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "report", extend(
    "$id" = "urn:tailtrace:report:1",
    "title" = SCHEMA,
    "description" = "What tailtrace says about one capture. docs/report-schema.md describes each field and what may change.",
    "dependentRequired" = { "outliers": ["selection", "view"], "view": ["selection", "outliers"] }
))]
struct ReportTwin {
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    capture: CaptureTwin,
    population: PopulationTwin,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SelectionTwin")]
    selection: Option<SelectionTwin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<outlier::OutlierTwin>")]
    outliers: Option<Vec<outlier::OutlierTwin>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "view::ViewTwin")]
    view: Option<view::ViewTwin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "composition::CompositionTwin")]
    composition: Option<composition::CompositionTwin>,
    diagnostics: Vec<DiagnosticTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "capture")]
pub(crate) struct CaptureTwin {
    path: Option<String>,
    hostname: Option<String>,
    os_release: Option<String>,
    perf_version: Option<String>,
    arch: Option<String>,
    cpu_desc: Option<String>,
    cpuid: Option<String>,
    cmdline: Option<String>,
    cpus: Option<u64>,
    tsc_hz: Option<u64>,
    pt_config: Vec<String>,
    duration_ns: Option<u64>,
    trace_bytes: Option<u64>,
    lost_records: Option<u64>,
    truncated_aux: Option<u64>,
    time_unit: UnitWord,
}

/// Figures are null where the population has none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "population")]
pub(crate) struct PopulationTwin {
    count: u64,
    in_recording: Option<u64>,
    rule: String,
    outliers: u64,
    min_ns: Option<u64>,
    #[schemars(range(min = 0))]
    mean_ns: Option<f64>,
    #[schemars(range(min = 0))]
    mean_without_outliers_ns: Option<f64>,
    max_ns: Option<u64>,
    #[schemars(range(min = 0))]
    stdev_ns: Option<f64>,
    #[schemars(range(min = 0))]
    stdev_without_outliers_ns: Option<f64>,
    percentiles: PercentilesTwin,
    histogram: Vec<BinTwin>,
    modes: Option<ModesTwin>,
    counters: Vec<view::CounterTwin>,
    lost_markers: Option<LostMarkersTwin>,
    snapshots: Option<Snapshots>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "lost_markers")]
struct LostMarkersTwin {
    lost: u64,
    made: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "percentiles")]
struct PercentilesTwin {
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    p99_99: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "bin")]
struct BinTwin {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "modes")]
struct ModesTwin {
    fast: ModeTwin,
    slow: ModeTwin,
    threshold_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "mode")]
struct ModeTwin {
    count: u64,
    #[schemars(range(min = 0))]
    mean_ns: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "selection")]
pub(crate) struct SelectionTwin {
    rule: String,
    selected: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "diagnostic")]
pub(crate) struct DiagnosticTwin {
    severity: words::SeverityWord,
    what: String,
    #[serde(rename = "where")]
    place: String,
}

impl ReportTwin {
    fn of_population(report: &Report) -> ReportTwin {
        ReportTwin {
            schema: SCHEMA,
            capture: CaptureTwin::new(&report.capture),
            population: PopulationTwin::new(&report.population),
            selection: None,
            outliers: None,
            view: None,
            composition: report.composition.as_ref().map(composition::CompositionTwin::new),
            diagnostics: report.diagnostics.iter().map(DiagnosticTwin::new).collect(),
        }
    }
}

impl SelectionTwin {
    pub(crate) fn new(selection: &SelectionSummary) -> SelectionTwin {
        SelectionTwin { rule: bounded_for_json(&selection.rule), selected: selection.selected }
    }
}

impl CaptureTwin {
    pub(crate) fn new(capture: &CaptureFacts) -> CaptureTwin {
        let bounded = |text: &Option<String>| text.as_deref().map(bounded_for_json);
        CaptureTwin {
            path: bounded(&capture.path),
            hostname: bounded(&capture.hostname),
            os_release: bounded(&capture.os_release),
            perf_version: bounded(&capture.perf_version),
            arch: bounded(&capture.arch),
            cpu_desc: bounded(&capture.cpu_desc),
            cpuid: bounded(&capture.cpuid),
            cmdline: bounded(&capture.cmdline),
            cpus: capture.cpus,
            tsc_hz: capture.tsc_hz,
            pt_config: capture.pt_config.iter().map(|term| bounded_for_json(term)).collect(),
            duration_ns: capture.duration_ns,
            trace_bytes: capture.trace_bytes,
            lost_records: capture.lost_records,
            truncated_aux: capture.truncated_aux,
            time_unit: capture.time_unit.into(),
        }
    }
}

impl PopulationTwin {
    pub(crate) fn new(population: &PopulationSummary) -> PopulationTwin {
        let known = |figure: u64| (population.count > 0).then_some(figure);
        let mean = |figure: f64| picoseconds(figure).filter(|_| population.count > 0);
        let inner = |figure: f64| picoseconds(figure).filter(|_| population.count > population.outliers);
        PopulationTwin {
            count: population.count,
            in_recording: population.in_recording,
            rule: bounded_for_json(&population.rule),
            outliers: population.outliers,
            min_ns: known(population.min_ns),
            mean_ns: mean(population.mean_ns),
            mean_without_outliers_ns: inner(population.mean_without_outliers_ns),
            max_ns: known(population.max_ns),
            stdev_ns: mean(population.stdev_ns),
            stdev_without_outliers_ns: inner(population.stdev_without_outliers_ns),
            percentiles: PercentilesTwin::new(&population.percentiles, population.count > 0),
            histogram: population.histogram.iter().map(BinTwin::new).collect(),
            modes: population.modes.as_ref().map(ModesTwin::new),
            counters: population.counters.iter().map(view::CounterTwin::new).collect(),
            lost_markers: population
                .lost_markers
                .map(|LostMarkers { lost, made }| LostMarkersTwin { lost, made }),
            snapshots: population.snapshots.as_ref().map(Snapshots::bounded),
        }
    }
}

impl PercentilesTwin {
    fn new(percentiles: &Percentiles, known: bool) -> PercentilesTwin {
        PercentilesTwin {
            p50: known.then_some(percentiles.p50),
            p90: known.then_some(percentiles.p90),
            p99: known.then_some(percentiles.p99),
            p99_9: known.then_some(percentiles.p99_9),
            p99_99: known.then_some(percentiles.p99_99),
        }
    }
}

impl BinTwin {
    fn new(bin: &Bin) -> BinTwin {
        BinTwin { from_ns: bin.from_ns, to_ns: bin.to_ns, count: bin.count }
    }
}

impl ModesTwin {
    fn new(modes: &Modes) -> ModesTwin {
        let mode = |mode: Mode| ModeTwin { count: mode.count, mean_ns: picoseconds(mode.mean_ns) };
        ModesTwin { fast: mode(modes.fast), slow: mode(modes.slow), threshold_ns: modes.threshold_ns }
    }
}

/// A mean, rounded to a thousandth: more digits would only show how floating point was summed.
fn picoseconds(figure: f64) -> Option<f64> {
    figure.is_finite().then(|| (figure * 1000.0).round() / 1000.0).filter(|figure| figure.is_finite())
}

impl DiagnosticTwin {
    pub(crate) fn new(diagnostic: &Diagnostic) -> DiagnosticTwin {
        DiagnosticTwin {
            severity: diagnostic.severity.into(),
            what: bounded_for_json(&diagnostic.what),
            place: bounded_for_json(&diagnostic.place.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
