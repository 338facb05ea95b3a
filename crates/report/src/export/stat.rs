//! The population as one row of a table (RFC 4180): the rows of several captures below one another are a history.

use super::csv::quoted;
use crate::report::Report;
use crate::timebase::TimeUnit;

/// The header and one row, lengths in the unit of the column `unit`. Cells without a figure are empty: those of a population without
/// intervals, and `selected` where nothing was to be selected.
pub fn export_stat_csv(report: &Report) -> String {
    let population = &report.population;
    let unit = match report.capture.time_unit {
        TimeUnit::Nanoseconds => "ns",
        TimeUnit::Ticks => "ticks",
    };
    let known = |is_known: bool, figure: String| if is_known { figure } else { String::new() };
    let length = |figure: u64| known(population.count > 0, figure.to_string());
    let mean = |figure: f64| known(population.count > 0 && figure.is_finite(), format!("{figure:.3}"));
    let inner = |figure: f64| known(population.count > population.outliers, mean(figure));
    let percentiles = &population.percentiles;
    let columns = [
        ("capture", quoted(report.capture.path.as_deref().unwrap_or_default())),
        ("unit", unit.to_owned()),
        ("intervals", population.count.to_string()),
        ("outliers", population.outliers.to_string()),
        ("selected", known(!report.selection.rule.is_empty(), report.selection.selected.to_string())),
        ("mean", mean(population.mean_ns)),
        ("mean_without_outliers", inner(population.mean_without_outliers_ns)),
        ("stdev", mean(population.stdev_ns)),
        ("stdev_without_outliers", inner(population.stdev_without_outliers_ns)),
        ("lowest", length(population.min_ns)),
        ("p50", length(percentiles.p50)),
        ("p90", length(percentiles.p90)),
        ("p99", length(percentiles.p99)),
        ("p99_9", length(percentiles.p99_9)),
        ("p99_99", length(percentiles.p99_99)),
        ("highest", length(population.max_ns)),
    ];
    let (names, figures): (Vec<&str>, Vec<String>) = columns.into_iter().unzip();
    format!("{}\r\n{}\r\n", names.join(","), figures.join(","))
}
