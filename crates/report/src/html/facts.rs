//! What is true of the whole capture: its population, how it was recorded, what is wrong with it.

use crate::escape::{for_html, for_html_up_to};
use crate::html::view;
use crate::report::{CaptureFacts, PopulationSummary, Report};
use crate::timebase::TimeUnit;
use crate::units;

/// Diagnostics shown; the others are counted.
const MOST_DIAGNOSTICS: usize = 100;
/// Characters of the recording's command line.
const MOST_COMMAND: usize = 4096;

/// The population's table and histogram.
pub(super) fn population(report: &Report) -> String {
    let population = &report.population;
    if population.count == 0 {
        return String::new();
    }
    let (head, figures): (String, String) = figures(population, report.capture.time_unit)
        .into_iter()
        .map(|(name, figure)| {
            (format!("<th class=\"number\">{name}</th>"), format!("<td class=\"number\">{figure}</td>"))
        })
        .unzip();
    format!(
        "<section aria-labelledby=\"population\">\n<h2 id=\"population\">All {}</h2>\n<div class=\"wide\" tabindex=\"0\" \
         role=\"group\" aria-label=\"Statistics\"><table><thead><tr>{head}</tr></thead>\n<tbody><tr>{figures}</tr></tbody>\
         </table></div>\n{}{}</section>\n",
        units::counted(population.count, "interval"),
        modes(population, report.capture.time_unit),
        view::of_population(report),
    )
}

fn figures(population: &PopulationSummary, unit: TimeUnit) -> Vec<(&'static str, String)> {
    let inner = |figure| {
        if population.count > population.outliers { units::mean_length(figure, unit) } else { "-".to_owned() }
    };
    let length = |value| units::length(value, unit);
    let percentiles = &population.percentiles;
    vec![
        ("average", units::mean_length(population.mean_ns, unit)),
        ("without outliers", inner(population.mean_without_outliers_ns)),
        ("lowest", length(population.min_ns)),
        ("p50", length(percentiles.p50)),
        ("p90", length(percentiles.p90)),
        ("p99", length(percentiles.p99)),
        ("p99.9", length(percentiles.p99_9)),
        ("p99.99", length(percentiles.p99_99)),
        ("highest", length(population.max_ns)),
        ("outliers", population.outliers.to_string()),
        ("st. dev.", units::mean_length(population.stdev_ns, unit)),
        ("without outliers", inner(population.stdev_without_outliers_ns)),
    ]
}

fn modes(population: &PopulationSummary, unit: TimeUnit) -> String {
    population.modes.as_ref().map_or_else(String::new, |modes| {
        format!(
            "<p>Two modes: {} fast (mean {}), {} slow (mean {}); threshold {}.</p>\n",
            modes.fast.count,
            units::mean_length(modes.fast.mean_ns, unit),
            modes.slow.count,
            units::mean_length(modes.slow.mean_ns, unit),
            units::length(modes.threshold_ns, unit),
        )
    })
}

/// The circumstances of the recording, those that are known.
pub(super) fn capture(capture: &CaptureFacts) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let facts = [
        ("file", text(&capture.path)),
        ("host", text(&capture.hostname)),
        ("processor", joined([text(&capture.cpu_desc), text(&capture.cpuid)])),
        ("CPUs online", number(capture.cpus)),
        ("kernel", joined([text(&capture.os_release), text(&capture.arch)])),
        ("perf", text(&capture.perf_version)),
        ("recorded with", text(&capture.cmdline)),
        ("PT", capture.pt_config.join(", ")),
        ("TSC", capture.tsc_hz.map(units::hertz).unwrap_or_default()),
        (
            "length",
            capture.duration_ns.map(|time| units::length(time, capture.time_unit)).unwrap_or_default(),
        ),
        ("trace", capture.trace_bytes.map(units::bytes).unwrap_or_default()),
        ("records lost", number(capture.lost_records)),
        ("AUX losses", number(capture.truncated_aux)),
    ];
    let known = facts.iter().filter(|(_, text)| !text.is_empty());
    let items = known
        .map(|(what, text)| format!("<dt>{what}</dt><dd>{}</dd>\n", for_html_up_to(text, MOST_COMMAND)))
        .collect::<Vec<_>>()
        .concat();
    match items.as_str() {
        "" => items,
        _ => format!(
            "<section aria-labelledby=\"capture\">\n<h2 id=\"capture\">The capture</h2>\n<dl>\n{items}</dl>\n</section>\n"
        ),
    }
}

fn joined(texts: [String; 2]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Problems of the input, worst first.
pub(super) fn diagnostics(report: &Report) -> String {
    let mut found: Vec<_> = report.diagnostics.iter().collect();
    found.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    let items = found
        .iter()
        .take(MOST_DIAGNOSTICS)
        .map(|found| {
            let what = units::noted(&found.what, &found.place.to_string());
            format!("<li><b>{}</b> {}</li>\n", found.severity, for_html(&what))
        })
        .collect::<Vec<_>>()
        .concat();
    let rest = found.len().saturating_sub(MOST_DIAGNOSTICS);
    let more = if rest > 0 { format!("<li>{rest} more</li>\n") } else { String::new() };
    match items.as_str() {
        "" => items,
        _ => format!(
            "<section aria-labelledby=\"diagnostics\">\n<h2 id=\"diagnostics\">Problems of the input</h2>\n\
             <ul class=\"diagnostics\">\n{items}{more}</ul>\n</section>\n"
        ),
    }
}
