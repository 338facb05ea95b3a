//! The one sentence that stands above everything else.

use std::collections::{BTreeMap, BTreeSet};

use crate::causes::CauseTotal;
use crate::outlier::OutlierReport;
use crate::report::{PopulationSummary, Report};
use crate::timebase::TimeUnit;
use crate::{escape, units};

/// `412.3 us, typical 16.3 us; +389.1 us kernel.softirq.net_rx on CPU 3, interrupting …`, safe for a terminal.
///
/// Names the cause with the largest excess; where that is less than half of all excess, the next one too.
pub fn headline(outlier: &OutlierReport) -> String {
    escape::for_terminal(&sentence(outlier))
}

/// The same, not yet escaped for any format.
pub(crate) fn sentence(outlier: &OutlierReport) -> String {
    let unit = outlier.time_unit;
    let duration = units::length(outlier.duration_ns, unit);
    let typical = match outlier.baseline_mean_ns {
        Some(mean) => format!("typical {}", units::length(mean, unit)),
        None => "nothing to compare with".to_owned(),
    };
    let mut sentence = format!("{duration}, {typical}");
    let mut exceeding = outlier.causes.iter().filter(|cause| cause.excess_ns > 0);
    let Some(first) = exceeding.next() else {
        sentence.push_str("; no cause took longer than typical");
        return sentence;
    };
    sentence.push_str(&clause(outlier, first));
    let total: u64 =
        outlier.causes.iter().fold(0, |sum, cause| sum.saturating_add(positive(cause.excess_ns)));
    if positive(first.excess_ns) < total / 2
        && let Some(second) = exceeding.next()
    {
        sentence.push_str(&clause(outlier, second));
    }
    sentence
}

/// `; +389.1 us kernel.softirq.net_rx on CPU 3, interrupting …`; without baselines the time has no sign.
fn clause(outlier: &OutlierReport, cause: &CauseTotal) -> String {
    let time = match outlier.baseline_mean_ns {
        Some(_) => units::signed_length(cause.excess_ns, outlier.time_unit),
        None => units::length(cause.duration_ns, outlier.time_unit),
    };
    let times = if cause.count > 1 { format!(" ({} times)", cause.count) } else { String::new() };
    format!("; {time} {}{times}{}", cause.cause, place_and_detail(outlier, cause))
}

/// ` on CPU 3, interrupting …`: the CPU where all of the cause passed on one, and the particulars where most of it
/// shares them. The address of one page fault among a hundred would only mislead.
fn place_and_detail(outlier: &OutlierReport, cause: &CauseTotal) -> String {
    let mut cpus = BTreeSet::new();
    let mut details: BTreeMap<&str, u64> = BTreeMap::new();
    for segment in outlier.segments.iter().filter(|segment| segment.cause == cause.cause) {
        cpus.insert(segment.cpu);
        let time = details.entry(&segment.detail).or_default();
        *time = time.saturating_add(segment.duration_ns);
    }
    let mut words = match cpus.first() {
        Some(Some(cpu)) if cpus.len() == 1 => format!(" on CPU {cpu}"),
        _ => String::new(),
    };
    let shared = details.iter().find(|&(_, &time)| time > cause.duration_ns / 2);
    if let Some((detail, _)) = shared.filter(|(detail, _)| !detail.is_empty()) {
        words.push_str(", ");
        words.push_str(detail);
    }
    words
}

fn positive(excess: i64) -> u64 {
    u64::try_from(excess).unwrap_or(0)
}

/// The report's population in one line, not escaped; `None` where it is empty.
pub fn population(report: &Report) -> Option<String> {
    figures(&report.population, report.capture.time_unit)
}

/// A population in one line, not escaped; `None` where it is empty.
pub(crate) fn figures(population: &PopulationSummary, unit: TimeUnit) -> Option<String> {
    let length = |ns| units::length(ns, unit);
    let losses = population.losses();
    let separator = if losses.is_empty() { "" } else { "; " };
    (population.count > 0).then(|| {
        format!(
            "{}, p50 {}, p99 {}, longest {}; {}{separator}{losses}",
            intervals(population),
            length(population.percentiles.p50),
            length(population.percentiles.p99),
            length(population.max_ns),
            units::noted(&units::counted(population.outliers, "outlier"), &population.rule),
        )
    })
}

/// `640 intervals`; `640 intervals (612 of 640 lie in the recording)` where not all do.
pub(crate) fn intervals(population: &PopulationSummary) -> String {
    units::noted(&units::counted(population.count, "interval"), &share_in_recording(population))
}

/// `612 of 640 lie in the recording`; empty where all do, and where that is not known.
pub(crate) fn share_in_recording(population: &PopulationSummary) -> String {
    let part = population.in_recording.filter(|&part| part < population.count);
    part.map_or_else(String::new, |part| format!("{part} of {} lie in the recording", population.count))
}

#[cfg(test)]
mod tests;
