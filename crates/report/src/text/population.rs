//! The population: the table of the single-producer single-consumer exercise, percentiles, histogram.
//!
//! The table has the columns of Intel's "Tutorial: low latency, part 2": average with and without outliers, lowest,
//! highest, number of outliers, both standard deviations, all in microseconds.

use super::causes::bar;
use super::cells::{right, width};
use super::head::fact;
use super::style::{Ink, Style};
use crate::distribution::Bin;
use crate::headline;
use crate::report::{PopulationSummary, Report};
use crate::timebase::TimeUnit;
use crate::units::{self, counted};

/// Table, rule, the choice where there is one, percentiles and histogram.
pub(super) fn lines(report: &Report, style: Style) -> Vec<String> {
    let (population, unit) = (&report.population, report.capture.time_unit);
    let share = headline::share_in_recording(population);
    let share = if share.is_empty() { share } else { format!("{share}; the figures are of all") };
    let count = units::noted(&population.count.to_string(), &share);
    let mut lines = fact("intervals", &count, Ink::Dim, style);
    lines.extend(fact("losses", &population.losses(), Ink::Yellow, style));
    if population.count == 0 {
        return lines;
    }
    let outliers = units::noted(&population.outliers.to_string(), &population.rule);
    lines.extend(fact("outliers", &outliers, Ink::Dim, style));
    lines.extend(fact("selected", &headline::selected(report).unwrap_or_default(), Ink::Dim, style));
    let unit_line = match unit {
        TimeUnit::Nanoseconds => "microseconds",
        TimeUnit::Ticks => "ticks of the time-stamp counter: its frequency is unknown",
    };
    lines.extend(fact("unit", unit_line, Ink::Dim, style));
    lines.push(String::new());
    lines.extend(table(&averages(population, unit), style));
    lines.push(String::new());
    lines.extend(table(&percentiles(population, unit), style));
    lines.push(String::new());
    lines.extend(histogram(&population.histogram, "intervals", unit, style));
    lines.extend(modes(population, unit, style));
    lines
}

/// A figure, and what stands above it.
pub(crate) type Column = (&'static str, String);

/// The columns of the exercise.
pub(crate) fn averages(population: &PopulationSummary, unit: TimeUnit) -> [Column; 7] {
    let inner = |figure: f64| {
        if population.count > population.outliers { mean(figure, unit) } else { "-".to_owned() }
    };
    [
        ("average", mean(population.mean_ns, unit)),
        ("w/o outliers", inner(population.mean_without_outliers_ns)),
        ("lowest", units::microseconds(population.min_ns, unit)),
        ("highest", units::microseconds(population.max_ns, unit)),
        ("outliers", population.outliers.to_string()),
        ("stdev", mean(population.stdev_ns, unit)),
        ("w/o outliers", inner(population.stdev_without_outliers_ns)),
    ]
}

/// Percentiles by nearest rank.
pub(crate) fn percentiles(population: &PopulationSummary, unit: TimeUnit) -> [Column; 5] {
    let percentiles = population.percentiles;
    [
        ("p50", percentiles.p50),
        ("p90", percentiles.p90),
        ("p99", percentiles.p99),
        ("p99.9", percentiles.p99_9),
        ("p99.99", percentiles.p99_99),
    ]
    .map(|(name, value)| (name, units::microseconds(value, unit)))
}

/// A mean with the decimals of the lengths around it.
fn mean(figure: f64, unit: TimeUnit) -> String {
    match unit {
        _ if !figure.is_finite() => "-".to_owned(),
        TimeUnit::Nanoseconds => format!("{:.3}", figure / 1000.0),
        TimeUnit::Ticks => format!("{figure:.1}"),
    }
}

/// Names above figures, in as many columns as the style's width has room for.
fn table(columns: &[Column], style: Style) -> Vec<String> {
    let (mut head, mut figures, mut lines) = (String::new(), String::new(), Vec::new());
    for (name, figure) in columns {
        let wide = width(name).max(width(figure)) + 2;
        if width(&head) + wide > style.columns() {
            lines.extend([style.paint(Ink::Dim, &head), std::mem::take(&mut figures)]);
            head.clear();
        }
        head.push_str(&right(name, wide));
        figures.push_str(&right(figure, wide));
    }
    lines.extend([style.paint(Ink::Dim, &head), figures]);
    lines
}

/// One bar per bin, runs of empty bins as one line; a bin with anything in it shows at least a sliver. `counted` says
/// what the bins count, in the plural.
pub(super) fn histogram(bins: &[Bin], counted: &str, unit: TimeUnit, style: Style) -> Vec<String> {
    if bins.is_empty() {
        return Vec::new();
    }
    let fullest = bins.iter().map(|bin| bin.count).max().unwrap_or(0).max(1);
    let edge = bins.iter().map(|bin| width(&units::length(bin.from_ns, unit))).max().unwrap_or(0).max(9);
    let count = bins.iter().map(|bin| bin.count.to_string().len()).max().unwrap_or(0).max(9);
    let room = style.columns().saturating_sub(edge + count + 6);
    let header = format!("  {}  {}", right("from", edge), right(counted, count));
    let mut lines = vec![style.paint(Ink::Dim, &header)];
    for run in bins.chunk_by(|a, b| a.count == 0 && b.count == 0) {
        if run[0].count == 0 && run.len() > 1 {
            let mark = style.glyph("⋮", ":");
            lines.push(format!("  {}", right(mark, edge)));
            continue;
        }
        for bin in run {
            let thousandths = per_mille(bin, fullest);
            lines.push(format!(
                "  {}  {}  {}",
                right(&units::length(bin.from_ns, unit), edge),
                right(&bin.count.to_string(), count),
                bar(thousandths, room, style)
            ));
        }
    }
    lines
}

/// The bin's height against the fullest, rounded up so that one interval still shows.
fn per_mille(bin: &Bin, fullest: u64) -> u64 {
    u64::try_from((u128::from(bin.count) * 1000).div_ceil(u128::from(fullest))).unwrap_or(1000)
}

fn modes(population: &PopulationSummary, unit: TimeUnit, style: Style) -> Vec<String> {
    let Some(modes) = population.modes else {
        return Vec::new();
    };
    let text = format!(
        "two modes: {} around {}, {} around {}; threshold {}",
        counted(modes.fast.count, "fast one"),
        units::mean_length(modes.fast.mean_ns, unit),
        counted(modes.slow.count, "slow one"),
        units::mean_length(modes.slow.mean_ns, unit),
        units::length(modes.threshold_ns, unit)
    );
    let mut lines = vec![String::new()];
    lines.extend(fact("modes", &text, Ink::Dim, style));
    lines
}
